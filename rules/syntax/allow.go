package syntax

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/source"
)

var (
	allowShape = source.Shape{Keys: []source.Key{
		{Name: "clusterScoped", Doc: "Cluster-scoped kinds that children may have.",
			Value: &source.Schema{Type: source.Types{"array", "null"}, Items: groupKindShape.Schema(), Unique: true}},
		{Name: "namespaces", Value: namespacePatterns,
			Doc: "Namespaces of children besides the namespace of the primary: names or patterns with `*` and `?`."},
		{Name: "read", Value: allowReadShape.Schema(), Doc: "What lookups may read outside the namespace of the primary."},
	}}
	allowReadShape = source.Shape{Keys: []source.Key{
		{Name: "namespaces", Value: namespacePatterns,
			Doc: "Namespaces that lookups may read: names or patterns with `*` and `?`. `\"*\"` also allows a lookup in all " +
				"namespaces."},
	}}
	groupKindShape = source.Shape{
		Doc: "A cluster-scoped kind.",
		Keys: []source.Key{
			{Name: "group", Required: true, Value: groupName,
				Doc: "The API group without a version, like `rbac.authorization.k8s.io`, or `\"\"` for the core group."},
			{Name: "kind", Required: true, Value: kindName, Doc: "The kind, like `ClusterRole`."},
		},
		Wrong: map[string]source.WrongKey{"apiVersion": {Hint: "write group, which has no version", Means: "group"}},
	}
)

// readAllow reads the access of a rule beyond the namespace of its primary.
func readAllow(v source.Value) Allow {
	var a Allow
	if v.Missing() {
		return a
	}
	t := v.Table(&allowShape)
	first := make(map[schema.GroupKind]bool)
	for _, item := range t.Key("clusterScoped").Items() {
		gk, ok := readGroupKind(item)
		if !ok {
			continue
		}
		if first[gk.GroupKind] {
			item.Errorf("%s is listed twice", gk.Kind)
			continue
		}
		first[gk.GroupKind] = true
		a.ClusterScoped = append(a.ClusterScoped, gk)
	}
	a.Namespaces = readPatterns(t.Key("namespaces"))
	if read := t.Key("read"); !read.Missing() {
		a.ReadNamespaces = readPatterns(read.Table(&allowReadShape).Key("namespaces"))
	}
	return a
}

// readGroupKind reads a kind without a version, and reports whether it is valid.
func readGroupKind(v source.Value) (GroupKind, bool) {
	gk := GroupKind{Pos: v.Pos()}
	if v.IsText() {
		kind, group, _ := strings.Cut(v.Scalar(), ".")
		v.Errorf("expected a map, got a string").Hint = `write {group: "` + group + `", kind: ` + kind + "}"
		return gk, false
	}
	t := v.Table(&groupKindShape)
	group, grouped := readGroup(t.Key("group"))
	gk.Group = group
	gk.Kind = readKind(t.Key("kind")).Value
	return gk, grouped && gk.Kind != ""
}

// readGroup reads the name of an API group, and reports whether it is valid.
func readGroup(v source.Value) (string, bool) {
	const core = `write "" for the core group`
	switch {
	case v.Missing() || v.Broken():
		return "", false
	case v.IsNull():
		v.Errorf("expected a string, got %s", v.Describe()).Hint = core
		return "", false
	case v.IsText() && v.Scalar() == "":
		return "", true
	}
	group, ok := v.Literal()
	if !ok {
		return "", false
	}
	name, _, versioned := strings.Cut(group.Value, "/")
	switch {
	case group.Value == "core" || coreVersion.MatchString(group.Value):
		v.Errorf("%q is not a group", group.Value).Hint = core
	case versioned:
		v.Errorf("%q is not a group", group.Value).Hint = "write " + name + ", without a version"
	case len(validation.IsDNS1123Subdomain(group.Value)) > 0:
		v.Errorf("%q is not a group", group.Value).Hint = `write it like apps, or "" for the core group`
	default:
		return group.Value, true
	}
	return "", false
}

// readAccount reads the ServiceAccount that a rule impersonates. It is a literal,
// because the author of an object must never choose the account that writes.
func readAccount(v source.Value) Account {
	const forms = "write namespace/name, or name alone for the account of that name in the namespace of each primary"
	before := v.Reader.Count()
	given, ok := v.Literal()
	for _, e := range v.Reader.Since(before) {
		e.Hint = cmp.Or(e.Hint, forms)
	}
	if !ok {
		return Account{}
	}
	namespace, name, fixed := strings.Cut(given.Value, "/")
	if !fixed {
		namespace, name = "", namespace
	}
	switch {
	case fixed && namespace == "":
		v.Errorf("%q has no namespace before the /", given.Value).Hint = forms
	case name == "":
		v.Errorf("%q has no name after the /", given.Value).Hint = forms
	case strings.Contains(name, "/"):
		v.Errorf("%q has more than one /", given.Value).Hint = forms
	case strings.HasPrefix(given.Value, accountPrefix):
		v.Errorf("%q is the name of a user", given.Value).Hint =
			"write " + strings.Replace(strings.TrimPrefix(given.Value, accountPrefix), ":", "/", 1)
	case fixed && len(validation.IsDNS1123Label(namespace)) > 0:
		v.Errorf("%q cannot be the name of a namespace", namespace).Hint = forms
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		v.Errorf("%q cannot be the name of a ServiceAccount", name).Hint = forms
	default:
		return Account{Pos: given.Pos, Namespace: namespace, Name: name}
	}
	return Account{}
}

// accountPrefix is the prefix of the user names of ServiceAccounts.
const accountPrefix = "system:serviceaccount:"

package syntax

import (
	"iter"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/source"
)

var forShape = source.Shape{
	Keys: []source.Key{
		{Name: "apiVersion", Required: true, Value: apiVersionName,
			Doc: "Group and version, like `apps/v1`, or `v1` for the core group."},
		{Name: "kind", Required: true, Value: kindName, Doc: "The kind, custom or built-in, like `Deployment`."},
		{Name: "namespaces", Value: namespacePatterns,
			Doc: "Namespaces of the objects: names or patterns with `*` and `?`. All by default."},
		{Name: "selector", Value: orNothing(selectorShape.Schema()),
			Doc: "Labels of the objects, evaluated by the API server. Literal. All objects by default."},
		{Name: "when", Value: boolExpr, Default: "true",
			Doc: "An expression that decides whether the rule applies to an object. It may read `self`, and lets that read " +
				"nothing else."},
	},
}

// readFor reads the selection of a rule's primaries.
func readFor(v source.Value) For {
	f := For{Pos: v.Pos(), Digest: v.Digest()}
	t := v.Table(&forShape)
	f.APIVersion = readAPIVersion(t.Key("apiVersion"))
	f.Kind = readKind(t.Key("kind"))
	f.Namespaces = readPatterns(t.Key("namespaces"))
	if selector := t.Key("selector"); !selector.IsNull() {
		f.Selector = readLiteralSelector(selector,
			"the API server evaluates it: put a condition on the object into for.when")
	}
	f.When = t.Key("when").Expr()
	return f
}

// coreVersion matches versions such as v1, but not a group without a version.
var coreVersion = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// readAPIVersion reads group/version, or the version of the core group.
func readAPIVersion(v source.Value) source.String {
	s, ok := v.Literal()
	if !ok {
		return s
	}
	group, version, grouped := strings.Cut(s.Value, "/")
	if !grouped {
		version, group = group, "core"
	}
	if !grouped && len(validation.IsDNS1123Subdomain(version)) == 0 && !coreVersion.MatchString(version) {
		v.Errorf("%q has no version", s.Value).Hint = "write it like " + s.Value + "/v1, or v1 for the core group"
		return source.String{}
	}
	if len(validation.IsDNS1123Subdomain(group)) > 0 || len(validation.IsDNS1035Label(version)) > 0 {
		v.Errorf("%q is not a version", s.Value).Hint = "write it like apps/v1, or v1 for the core group"
		return source.String{}
	}
	return s
}

func readKind(v source.Value) source.String {
	s, ok := v.Literal()
	if ok && len(validation.IsDNS1035Label(strings.ToLower(s.Value))) > 0 {
		v.Errorf("%q is not a kind", s.Value).Hint = "write it like Deployment"
		return source.String{}
	}
	return s
}

// readPatterns reads a list of namespaces, given by name or by pattern.
func readPatterns(v source.Value) []source.String {
	var patterns []source.String
	for _, item := range v.Items() {
		name, ok := item.Literal()
		if !ok {
			continue
		}
		example := strings.NewReplacer("*", "a", "?", "a").Replace(name.Value)
		if len(validation.IsDNS1123Label(example)) > 0 {
			item.Errorf("%q is not the name of a namespace, nor a pattern with * and ?", name.Value)
			continue
		}
		patterns = append(patterns, name)
	}
	return patterns
}

// ForCluster is the value of for in a rule without primaries.
const ForCluster = "cluster"

// forCluster is for of a rule whose objects belong to the installation.
var forCluster = source.Choices{
	{Text: ForCluster, Doc: "The rule has no primary and is rendered once. Its objects belong to the installation, and " +
		"its expressions have no `self`."},
}

// forData is for: a map that selects the primaries, a list of such maps, or the text cluster.
var forData = orCluster(selectionSchema())

func orCluster(selection *source.Schema) *source.Schema {
	s := orType("string", selection)
	s.AnyOf = []*source.Schema{forCluster.Schema(), {Type: selection.Type}}
	return s
}

// The kind that stands for the primary of a rule for the cluster: a bundle. The API server
// does not serve it; the engine keeps a ConfigMap for each bundle.
const (
	BundleAPIVersion = "reconcel.dev/v1alpha1"
	BundleKind       = "Bundle"
)

// readForCluster reads the for of a rule without primaries.
func readForCluster(v source.Value) For {
	f := For{Pos: v.Pos(), Entry: "for", Digest: v.Digest()}
	if text := v.OneOf(forCluster); text.Value != "" {
		f.Cluster = true
		f.APIVersion = source.String{Value: BundleAPIVersion, Pos: text.Pos}
		f.Kind = source.String{Value: BundleKind, Pos: text.Pos}
	}
	return f
}

// withoutPrimary are the keys of a rule that act on its primaries, and why a rule for the
// cluster does not have them.
var withoutPrimary = []struct{ key, why string }{
	{"patch", "there is no primary to patch"},
	{"status", "there is no primary with a status"},
	{"conditions", "there is no primary with conditions: the annotation reconcel.dev/status of the bundle's ConfigMap " +
		"reports whether it is ready"},
	{"finalize", "there is no primary that is deleted. When the rule is removed, its finalize is gone with it"},
	{"teardown", "there is no primary that is deleted; onRuleRemoval says what happens when the rule is removed"},
	{"report", "the annotation reconcel.dev/status of the bundle's ConfigMap always reports whether it is ready"},
}

// rejectPrimaryKeys records an error for each key that needs a primary.
func rejectPrimaryKeys(rule source.Value) {
	for _, k := range withoutPrimary {
		if v := rule.Peek(k.key); !v.Missing() {
			v.Errorf("is not possible with for: cluster: %s", k.why).Hint = "remove it"
		}
	}
	for _, key := range []string{"maxUnavailable", "first"} {
		if v := rule.Peek("rollout").Peek(key); !v.Missing() {
			v.Errorf("is not possible with for: cluster: there are no primaries to reach one after another").Hint = "remove it"
		}
	}
}

// readClusterAccount reads the ServiceAccount of a rule for the cluster, which has no
// primary whose namespace could be that of the account.
func readClusterAccount(v source.Value) Account {
	a := readAccount(v)
	if a.Name != "" && a.Namespace == "" {
		v.Errorf("%q needs a namespace: a rule with for: cluster has no primary",
			a.Name).Hint = "write it with its namespace, like team-a/" + a.Name
	}
	return a
}

// rejectSharing records an error for each child of a rule for the cluster that is shared.
func rejectSharing(rule source.Value, children []*Child) {
	for _, c := range children {
		if c.Shares() {
			rule.ErrorAt(c.IfExists.Pos, "ifExists: %s is not possible with for: cluster: the rule has no primaries that "+
				"could share an object", c.IfExists.Value).Hint = "remove it"
		}
	}
}

// maxKinds is the maximum number of kinds of one rule, which is compiled for each.
const maxKinds = 50

// selectionSchema describes for: a map for one kind, or a list of such maps for several.
func selectionSchema() *source.Schema {
	s := *forShape.Schema()
	s.Type = source.Types{"object", "array"}
	s.Items, s.MinItems, s.MaxItems = forShape.Schema(), 1, new(maxKinds)
	return &s
}

// readSelections reads for.
func readSelections(v source.Value) []For {
	if v.IsText() {
		return []For{readForCluster(v)}
	}
	if !v.IsList() {
		f := readFor(v)
		f.Entry = "for"
		return []For{f}
	}
	if v.Len() == 0 {
		v.Errorf("is empty").Hint = "write it like {apiVersion: apps/v1, kind: Deployment}"
		return []For{{Pos: v.Pos(), Entry: "for"}}
	}
	var all []For
	for _, item := range v.PeekItems() {
		if len(all) == maxKinds {
			item.Errorf("more than %d kinds", maxKinds)
			break
		}
		f := readFor(item)
		f.Entry = item.Path()
		f.differsFrom(all, item)
		all = append(all, f)
	}
	return all
}

// differsFrom records an error if the kind is among the others, in the same or another
// version: it is watched once.
func (f *For) differsFrom(others []For, v source.Value) {
	if f.APIVersion.Value == "" || f.Kind.Value == "" {
		return
	}
	for i := range others {
		other := &others[i]
		switch {
		case f.groupKind() != other.groupKind():
		case f.APIVersion.Value == other.APIVersion.Value:
			v.Peek("kind").Errorf("%s is already in the list, at %s", f.Kind.Value, other.Kind.Pos)
			return
		default:
			v.Peek("apiVersion").Errorf("%s is %s at %s: a kind can be watched in only one version",
				f.Kind.Value, other.APIVersion.Value, other.APIVersion.Pos)
			return
		}
	}
}

func (f *For) groupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(f.APIVersion.Value, f.Kind.Value).GroupKind()
}

// Written returns the rules as they are written: each once for each of its kinds.
func (f *File) Written() iter.Seq[[]*Rule] {
	return func(yield func([]*Rule) bool) {
		for begin := 0; begin < len(f.Rules); {
			end := begin + 1 + len(f.Rules[begin].Others)
			if !yield(f.Rules[begin:end]) {
				return
			}
			begin = end
		}
	}
}

package syntax

import (
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

var (
	allowShape = shape{keys: []key{
		{name: "clusterScoped", doc: "Cluster-scoped kinds that children may be of.",
			value: &schema{Type: types{"array", "null"}, Items: mapOf(&groupKindShape), Unique: true}},
		{name: "namespaces", value: namespacePatterns,
			doc: "Where children may be besides the primary's own namespace: names or patterns with `*` and `?`."},
		{name: "read", value: mapOf(&allowReadShape), doc: "What lookups may read beyond the primary's own namespace."},
	}}
	allowReadShape = shape{keys: []key{
		{name: "namespaces", value: namespacePatterns,
			doc: "Where lookups may look: names or patterns with `*` and `?`. `\"*\"` is also for all namespaces at once."},
	}}
	groupKindShape = shape{
		doc: "A cluster-scoped kind.",
		keys: []key{
			{name: "group", required: true, value: groupName, doc: "The API group without a version, like `rbac.authorization.k8s.io`, or `\"\"` for the core group."},
			{name: "kind", required: true, value: kindName, doc: "The kind, like `ClusterRole`."},
		},
		wrong: map[string]wrongKey{"apiVersion": {hint: "write group, which has no version", means: "group"}},
	}
)

// readAllow reads what a rule may do beyond the namespace of its primary.
func (s scope) readAllow(n *yaml.Node) Allow {
	var a Allow
	if n == nil {
		return a
	}
	t := s.table(n, &allowShape)
	first := make(map[GroupKind]bool)
	for i, item := range s.key("clusterScoped").list(t["clusterScoped"]) {
		s := s.key("clusterScoped").index(i)
		gk, ok := s.groupKind(item)
		if !ok {
			continue
		}
		name := GroupKind{Group: gk.Group, Kind: gk.Kind}
		if first[name] {
			s.errorf(gk.Pos, "%s is named twice", gk.Kind)
			continue
		}
		first[name] = true
		a.ClusterScoped = append(a.ClusterScoped, gk)
	}
	a.Namespaces = s.key("namespaces").patterns(t["namespaces"])
	if read := t["read"]; read != nil {
		s := s.key("read")
		a.ReadNamespaces = s.key("namespaces").patterns(s.table(read, &allowReadShape)["namespaces"])
	}
	return a
}

// groupKind reads a kind without its version, and whether it is one.
func (s scope) groupKind(n *yaml.Node) (GroupKind, bool) {
	gk := GroupKind{Pos: s.text.pos(n)}
	if n.Kind == yaml.ScalarNode && isText(n) {
		kind, group, _ := strings.Cut(n.Value, ".")
		s.errorf(gk.Pos, "expected a map, got a string").Hint = `write {group: "` + group + `", kind: ` + kind + "}"
		return gk, false
	}
	t := s.table(n, &groupKindShape)
	group, grouped := s.key("group").group(t["group"])
	gk.Group = group
	gk.Kind = s.key("kind").kind(t["kind"]).Value
	return gk, grouped && gk.Kind != ""
}

// group reads the name of an API group, and whether it is one.
func (s scope) group(n *yaml.Node) (string, bool) {
	const core = `write "" for the core group`
	switch {
	case n == nil || broken(n):
		return "", false
	case isNull(n):
		s.errorf(s.text.pos(n), "expected a string, got %s", describe(n)).Hint = core
		return "", false
	case n.Kind == yaml.ScalarNode && isText(n) && n.Value == "":
		return "", true
	}
	group, ok := s.literal(n)
	if !ok {
		return "", false
	}
	name, _, versioned := strings.Cut(group.Value, "/")
	switch {
	case group.Value == "core" || coreVersion.MatchString(group.Value):
		s.errorf(group.Pos, "%q is not a group", group.Value).Hint = core
	case versioned:
		s.errorf(group.Pos, "%q is not a group", group.Value).Hint = "write " + name + ", without a version"
	case len(validation.IsDNS1123Subdomain(group.Value)) > 0:
		s.errorf(group.Pos, "%q is not a group", group.Value).Hint = `write it like apps, or "" for the core group`
	default:
		return group.Value, true
	}
	return "", false
}

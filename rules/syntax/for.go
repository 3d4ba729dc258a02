package syntax

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

var forShape = shape{
	keys: []key{
		{name: "apiVersion", required: true, value: apiVersionName, doc: "Group and version, like `apps/v1`, or `v1` for the core group."},
		{name: "kind", required: true, value: kindName, doc: "The kind, custom or built-in, like `Deployment`."},
		{name: "namespaces", value: namespacePatterns, doc: "In which namespaces: names or patterns with `*` and `?`. All by default."},
		{name: "selector", value: orNothing(mapOf(&selectorShape)),
			doc: "Which labels the objects have, evaluated by the API server. Literal. All objects by default."},
		{name: "when", value: boolExpr, fallback: "true", doc: "An expression over `self` alone that says whether the rule is for an object."},
	},
}

// readFor reads which objects a rule is for.
func (s scope) readFor(n *yaml.Node) For {
	f := For{Pos: s.text.pos(n)}
	t := s.table(n, &forShape)
	f.APIVersion = s.key("apiVersion").apiVersion(t["apiVersion"])
	f.Kind = s.key("kind").kind(t["kind"])
	f.Namespaces = s.key("namespaces").patterns(t["namespaces"])
	if selector := t["selector"]; !isNull(selector) {
		f.Selector = s.key("selector").literalSelector(selector)
	}
	f.When = s.key("when").expr(t["when"])
	return f
}

// coreVersion tells v1 from a group whose version was forgotten.
var coreVersion = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// apiVersion reads group/version, or the version of the core group.
func (s scope) apiVersion(n *yaml.Node) String {
	v, ok := s.literal(n)
	if !ok {
		return v
	}
	group, version, grouped := strings.Cut(v.Value, "/")
	if !grouped {
		version, group = group, "core"
	}
	if !grouped && len(validation.IsDNS1123Subdomain(version)) == 0 && !coreVersion.MatchString(version) {
		s.errorf(v.Pos, "%q has no version", v.Value).Hint = "write it like " + v.Value + "/v1, or v1 for the core group"
		return String{}
	}
	if len(validation.IsDNS1123Subdomain(group)) > 0 || len(validation.IsDNS1035Label(version)) > 0 {
		s.errorf(v.Pos, "%q is not a version", v.Value).Hint = "write it like apps/v1, or v1 for the core group"
		return String{}
	}
	return v
}

func (s scope) kind(n *yaml.Node) String {
	k, ok := s.literal(n)
	if !ok {
		return k
	}
	if len(validation.IsDNS1035Label(strings.ToLower(k.Value))) > 0 {
		s.errorf(k.Pos, "%q is not a kind", k.Value).Hint = "write it like Deployment"
		return String{}
	}
	return k
}

// patterns reads a list of namespaces, given by name or by pattern.
func (s scope) patterns(n *yaml.Node) []String {
	var patterns []String
	for i, item := range s.list(n) {
		s := s.index(i)
		if name, ok := s.literal(item); ok && s.isNamespaces(name) {
			patterns = append(patterns, name)
		}
	}
	return patterns
}

// isNamespaces tells whether name is a namespace's, or a pattern of * and ?
// that can match one.
func (s scope) isNamespaces(name String) bool {
	example := strings.NewReplacer("*", "a", "?", "a").Replace(name.Value)
	if len(validation.IsDNS1123Label(example)) == 0 {
		return true
	}
	s.errorf(name.Pos, "%q is not the name of a namespace, nor a pattern with * and ?", name.Value)
	return false
}

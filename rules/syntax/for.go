package syntax

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

var forShape = shape{
	keys:     []string{"apiVersion", "kind", "namespaces", "selector", "when"},
	required: []string{"apiVersion", "kind"},
}

// readFor reads which objects a rule is for.
func (s scope) readFor(n *yaml.Node) For {
	f := For{Pos: s.text.pos(n)}
	t := s.table(n, &forShape)
	f.APIVersion = s.key("apiVersion").apiVersion(t["apiVersion"])
	f.Kind = s.key("kind").kind(t["kind"])
	for i, item := range s.key("namespaces").list(t["namespaces"]) {
		s := s.key("namespaces").index(i)
		if name, ok := s.literal(item); ok && s.isNamespaces(name) {
			f.Namespaces = append(f.Namespaces, name)
		}
	}
	if selector := t["selector"]; !isNull(selector) {
		f.Selector = s.key("selector").readSelector(selector)
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

var (
	selectorShape    = shape{keys: []string{"matchLabels", "matchExpressions"}}
	requirementShape = shape{keys: []string{"key", "operator", "values"}, required: []string{"key", "operator"}}
)

// readSelector reads a label selector. It goes to the API server before there
// is an object to evaluate anything on, so it is literal.
func (s scope) readSelector(n *yaml.Node) *Node {
	t := s.table(n, &selectorShape)
	if t == nil {
		return nil
	}
	before := len(s.errs)
	if labels := t["matchLabels"]; !isNull(labels) && labels.Kind == yaml.MappingNode {
		for _, e := range s.key("matchLabels").entries(labels) {
			s := s.key("matchLabels")
			s.labelKey(e.key)
			s.key(e.key.Value).labelValue(e.value)
		}
	} else if labels != nil && !isNull(labels) {
		s.key("matchLabels").wrongShape(labels, "a map")
	}
	for i, item := range s.key("matchExpressions").list(t["matchExpressions"]) {
		s.key("matchExpressions").index(i).requirement(item)
	}
	if len(s.errs) > before {
		return nil
	}
	return s.data(n)
}

func (s scope) requirement(n *yaml.Node) {
	t := s.table(n, &requirementShape)
	if key, ok := s.key("key").literal(t["key"]); ok {
		s.labelKey(key)
	}
	operator := s.key("operator").oneOf(t["operator"], "In", "NotIn", "Exists", "DoesNotExist")
	values := s.key("values").list(t["values"])
	for i, item := range values {
		s.key("values").index(i).labelValue(item)
	}
	if t == nil || operator.Value == "" {
		return
	}
	switch takes := slices.Contains([]string{"In", "NotIn"}, operator.Value); {
	case takes && len(values) == 0:
		s.errorf(operator.Pos, "operator %s needs values", operator.Value)
	case !takes && len(values) > 0:
		s.errorf(operator.Pos, "operator %s takes no values", operator.Value)
	}
}

func (s scope) labelKey(key String) {
	if len(validation.IsQualifiedName(key.Value)) > 0 {
		s.errorf(key.Pos, "%q is not the name of a label", key.Value)
	}
}

func (s scope) labelValue(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && isText(n) && n.Value == "" {
		return // A label may be empty.
	}
	value, ok := s.literal(n)
	if ok && len(validation.IsValidLabelValue(value.Value)) > 0 {
		s.errorf(value.Pos, "%q is not the value of a label", value.Value)
	}
}

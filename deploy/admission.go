package deploy

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"reconcel/rules"
	"reconcel/rules/schema"
)

// mostChecks limits the number of authorization checks in one policy. Each check
// costs 350,000 units of a policy's CEL budget of 10,000,000 units.
const mostChecks = 24

// Policies returns admission policies that require the author of a primary to hold
// the permissions for all actions of its rules. It returns nil if no rule needs
// any. All kinds of the rules must be known: Needs reports unknown kinds.
func (o Options) Policies(program *rules.Program, kinds *schema.Set) []Manifest {
	all := Manifest{Name: "admission.yaml"}
	kindsOf := map[string]int{} // of each rule
	for _, p := range program.Primaries() {
		for _, r := range p.Rules {
			kindsOf[r.Name]++
		}
	}
	for _, p := range program.Primaries() {
		if p.ForCluster() {
			continue // Nobody creates a bundle but the author of the rules.
		}
		k := kinds.Kind(p.GVK)
		fields := authored(k, kinds)
		for _, r := range p.Rules {
			d := &demands{program: program, kinds: kinds, seen: map[home]bool{}}
			d.of(r, homeOf(k))
			for _, g := range o.guards(r, k) {
				g.fields = fields
				if kindsOf[r.Name] > 1 {
					g.name += "." + k.Resource + "." + cmp.Or(k.GVK.Group, "core")
				}
				all.docs = append(all.docs, o.policies(g, d.all)...)
			}
		}
	}
	if all.docs == nil {
		return nil
	}
	return []Manifest{all}
}

// A guard selects the requests that a policy checks: those for the primaries of a
// rule.
type guard struct {
	name      string // of the policy
	rule      *rules.Rule
	kind      *schema.Kind
	fields    []string // the fields whose changes are checked, besides labels and annotations
	resources []string
	selector  labels.Selector
}

// guards returns the guards of a rule. A request for the subresource scale has no
// labels, so a selector never matches it. The subresource needs its own guard.
func (o Options) guards(r *rules.Rule, k *schema.Kind) []guard {
	g := guard{name: o.Name + "." + r.Name, rule: r, kind: k, resources: []string{k.Resource}, selector: r.Selector}
	if !k.Scale {
		return []guard{g}
	}
	scale := k.Resource + "/scale"
	if r.Selector.Empty() {
		g.resources = append(g.resources, scale)
		return []guard{g}
	}
	other := g
	other.name, other.resources, other.selector = g.name+".scale", []string{scale}, labels.Everything()
	return []guard{g, other}
}

// policies returns one policy for each mostChecks demands.
func (o Options) policies(g guard, all []demand) (docs []*yaml.Node) {
	n := 0
	for some := range slices.Chunk(all, mostChecks) {
		name := g.name
		if n++; n > 1 {
			name += fmt.Sprintf(".%d", n)
		}
		docs = append(docs, fillTemplate("admission.yaml", o.values(values{
			"policy": name, "constraints": g.constraints(), "conditions": o.conditions(g), "validations": validations(some),
		})).docs...)
	}
	return docs
}

func (g guard) constraints() *yaml.Node {
	block := mapNode(textNode("resourceRules"), &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{mapNode(
		textNode("apiGroups"), flowList([]string{g.kind.GVK.Group}),
		textNode("apiVersions"), flowList([]string{g.kind.GVK.Version}),
		textNode("operations"), flowList([]string{"CREATE", "UPDATE"}),
		textNode("resources"), flowList(g.resources),
	)}})
	if !g.selector.Empty() {
		block.Content = append([]*yaml.Node{textNode("objectSelector"), selectorNode(g.selector)}, block.Content...)
	}
	return block
}

var operators = map[selection.Operator]string{
	selection.Equals: "In", selection.DoubleEquals: "In", selection.In: "In", selection.NotIn: "NotIn",
	selection.Exists: "Exists", selection.DoesNotExist: "DoesNotExist",
}

// selectorNode returns a selector in the form of a manifest.
func selectorNode(s labels.Selector) *yaml.Node {
	all := &yaml.Node{Kind: yaml.SequenceNode}
	requirements, _ := s.Requirements()
	for _, r := range requirements {
		entry := mapNode(textNode("key"), textNode(r.Key()), textNode("operator"), textNode(operators[r.Operator()]))
		if values := r.ValuesUnsorted(); len(values) > 0 {
			entry.Content = append(entry.Content, textNode("values"), flowList(slices.Sorted(slices.Values(values))))
		}
		all.Content = append(all.Content, entry)
	}
	return mapNode(textNode("matchExpressions"), all)
}

// conditions returns the match conditions of a policy.
func (o Options) conditions(g guard) *yaml.Node {
	account := "system:serviceaccount:" + o.Namespace + ":" + o.Name
	own := matchCondition("not-by-reconcel", "request.userInfo.username != "+celString(account))
	if !g.kind.Custom {
		own.HeadComment = "# Controllers of Kubernetes that make or change " + g.kind.Resource +
			" need these permissions too, or an exception here."
	}
	all := &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{own}}
	if len(o.Namespaced) > 0 {
		all.Content = append(all.Content, matchCondition("is-watched", "request.namespace in "+celStrings(o.Namespaced)))
	}
	if g.kind.Namespaced && len(g.rule.Namespaces) > 0 {
		all.Content = append(all.Content, matchCondition("in-namespaces",
			"request.namespace.matches("+celString(namespacePattern(g.rule.Namespaces))+")"))
	}
	all.Content = append(all.Content, matchCondition("changes-something", g.changes()))
	// finalize renders from the primary's fields while it is deleted, so those
	// requests are checked too.
	if !slices.ContainsFunc(g.rule.Children, func(c *rules.Child) bool { return c.Timeout > 0 }) {
		all.Content = append(all.Content, matchCondition("is-not-being-deleted", "!has(object.metadata.deletionTimestamp)"))
	}
	return all
}

// namespacePattern returns a regular expression for namespace names and patterns.
func namespacePattern(globs []string) string {
	var all []string
	for _, g := range globs {
		all = append(all, strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(g)))
	}
	return "^(" + strings.Join(all, "|") + ")$"
}

// changes returns the CEL expression for requests that change fields that rules
// read. It excludes requests that change only finalizers or owner references.
func (g guard) changes() string {
	some := []string{"request.operation == 'CREATE'"}
	if g.kind.Scale {
		some = append(some, "has(request.subResource)")
	}
	for _, field := range append([]string{"metadata.?labels", "metadata.?annotations"}, g.fields...) {
		some = append(some, "object."+field+" != oldObject."+field)
	}
	return strings.Join(some, " ||\n")
}

// authored returns the fields of a kind that its authors write. For custom
// resources the generation covers all of them. Not every built-in kind maintains
// it.
func authored(k *schema.Kind, kinds *schema.Set) (fields []string) {
	if k.Custom {
		return []string{"metadata.?generation"}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds.Schema(k.GVK).Properties)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name) {
			fields = append(fields, "?"+name)
		}
	}
	return fields
}

func matchCondition(name, expression string) *yaml.Node {
	return mapNode(textNode("name"), textNode(name), textNode("expression"), celNode(expression))
}

func validations(all []demand) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for _, d := range all {
		n.Content = append(n.Content, mapNode(
			textNode("expression"), celNode(d.check()),
			textNode("messageExpression"), celNode(d.message()),
			textNode("reason"), textNode("Forbidden"),
		))
	}
	return n
}

// celNode returns a text node without YAML quotes, because CEL has many quotes.
func celNode(s string) *yaml.Node {
	n := textNode(s)
	n.Style = yaml.LiteralStyle
	return n
}

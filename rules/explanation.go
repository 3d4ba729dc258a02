package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// An Explanation says where the fields of the objects of one rendering come from.
type Explanation struct {
	file   *syntax.File
	out    *Rendering
	self   Identity
	object map[string]any // the primary
	exists func(Identity) map[string]any
	read   *Trace
}

// Explain explains a rendering of an input with a trace.
func Explain(file *syntax.File, p *Primary, in Input, out *Rendering) *Explanation {
	metadata := mapAt(in.Self, "metadata")
	in.Self = visible(in.Self, metadata, mapAt(metadata, "annotations"))
	id := identityFrom(metadata)
	return &Explanation{file, out, Identity{GVK: p.GVK, Namespace: id.namespace, Name: id.name}, in.Self, in.Exists,
		in.Trace}
}

// Self returns the identity of the primary.
func (x *Explanation) Self() Identity { return x.self }

// A Role says what an expression decides about an object.
type Role string

// The roles of expressions.
const (
	RoleValue     Role = "value"        // of the field
	RolePosition  Role = "position"     // an earlier element of the list may be left out
	RoleDefault   Role = "default"      // a field around it: the API server may derive the field from it
	RoleSelection Role = "for"          // whether the rule selects the resource
	RoleValidate  Role = "validate"     // whether the rule accepts the resource
	RoleWhen      Role = "when"         // whether the child exists
	RoleExcluded  Role = "excluded"     // by the when of another child that the object reads
	RoleChild     Role = "child"        // another child that the object reads, and that its when may exclude
	RoleForEach   Role = "forEach"      // which objects the child has
	RoleReplicas  Role = "replicas"     // likewise
	RoleName      Role = "name"         // of the object
	RoleNamespace Role = "namespace"    // of the object
	RoleIgnored   Role = "ignoreFields" // whether the field is ignored
	RoleLet       Role = "let"
	RoleLookup    Role = "lookup" // which objects a lookup finds
	RoleReady     Role = "readyWhen"
	RoleFailed    Role = "failWhen"
	RoleReason    Role = "reason"
	RoleMessage   Role = "message"
)

// An Origin is an expression or a constant of a rule, and what it gave.
type Origin struct {
	Role  Role       `json:"role"`
	Rule  string     `json:"rule"`
	Field string     `json:"field,omitempty"` // of the rule: template.spec.replicas
	Pos   source.Pos `json:"position"`
	Text  string     `json:"expression,omitempty"` // as it is written; empty: a constant
	// Value is what it gave, or the part of it that is explained.
	Value    any       `json:"value,omitempty"`
	Withheld bool      `json:"withheld,omitempty"` // the value is, or is computed from, data of a Secret
	Error    string    `json:"error,omitempty"`
	Reads    []Reading `json:"reads,omitempty"`
}

// A Reading is a part of a variable that an expression has read.
type Reading struct {
	Path     string   `json:"path"` // as the expression reads it
	Use      expr.Use `json:"use"`
	Value    any      `json:"value,omitempty"`
	Withheld bool     `json:"withheld,omitempty"`
	// Object and Field are what was read of an object. An object of a child is explained
	// by its own rule.
	Object *Identity `json:"-"`
	Field  []any     `json:"-"`
	From   []Origin  `json:"from,omitempty"`
	Again  bool      `json:"again,omitempty"` // it is explained above
}

// asking is one question.
type asking struct {
	of      *Explanation
	res     *RuleResult
	src     *syntax.Rule
	done    map[string]bool // what is explained, and whether its values are withheld
	careful bool            // the rule is for, reads or renders Secrets
	secret  bool            // the field is data of a Secret
}

func (x *Explanation) ask(rule *Rule) *asking {
	a := &asking{of: x, done: map[string]bool{}}
	for i := range x.out.Rules {
		if x.out.Rules[i].Rule == rule {
			a.res = &x.out.Rules[i]
		}
	}
	for _, r := range x.file.Rules {
		if r.Name.Value == rule.Name && r.For.Kind.Value == rule.GVK.Kind &&
			r.For.APIVersion.Value == rule.GVK.GroupVersion().String() {
			a.src = r
		} else if r.Name.Value == rule.Name && a.src == nil {
			a.src = r
		}
	}
	a.careful = isSecret(rule.GVK)
	for _, c := range rule.Children {
		a.careful = a.careful || isSecret(c.GVK)
	}
	for _, l := range rule.Lookups {
		a.careful = a.careful || isSecret(l.GVK)
	}
	return a
}

func isSecret(gvk schema.GroupVersionKind) bool {
	return gvk.GroupKind() == schema.GroupKind{Kind: "Secret"}
}

// IsSecretData reports whether a part of an object may show the data of a Secret. The
// annotations of one may repeat them.
func IsSecretData(gvk schema.GroupVersionKind, path []any) bool {
	if !isSecret(gvk) {
		return false
	}
	if len(path) == 0 {
		return true
	}
	switch path[0] {
	case "apiVersion", "kind", "type", "immutable":
		return false
	case "metadata":
		return len(path) == 1 || path[1] == "annotations" || path[1] == "managedFields"
	}
	return true
}

// Field explains the value of a field of an object: what the template has there, or if it
// has nothing there, around it. It returns nil for a field that the rule does not touch.
func (x *Explanation) Field(d *Desired, path []any) []Origin {
	a := x.ask(d.Child.Rule)
	a.secret = IsSecretData(d.Child.GVK, path)
	return a.field(d, path)
}

// Existence explains why an object exists, or why it does not.
func (x *Explanation) Existence(d *Desired) []Origin {
	return x.ask(d.Child.Rule).existence(d)
}

// Selection explains why a rule selects the primary and accepts it, or why it does not.
func (x *Explanation) Selection(rule *Rule) []Origin { return x.ask(rule).selection() }

// Child explains why the objects of a child exist, or why there are none.
func (x *Explanation) Child(c *ChildResult) []Origin {
	return x.ask(c.Child.Rule).child(c)
}

// Readiness explains readyWhen and failWhen for an object.
func (x *Explanation) Readiness(d *Desired) (all []Origin) {
	a := x.ask(d.Child.Rule)
	of := evaluated{child: d.Child, index: d.Index}
	if p := d.Child.failWhen; p != nil {
		all = append(all, a.program(RoleFailed, "failWhen", p, of, nil, expr.UsedValue))
	}
	if p := d.Child.readyWhen; p != nil {
		all = append(all, a.program(RoleReady, "readyWhen", p, of, nil, expr.UsedValue))
	}
	return all
}

// Own explains a field that a rule writes into the primary itself: of the status, or of its
// patch. It returns nil if the rule does not write it.
func (x *Explanation) Own(rule *Rule, path []any) []Origin {
	a := x.ask(rule)
	a.secret = IsSecretData(rule.GVK, path)
	if len(path) > 1 && path[0] == "status" && rule.status != nil {
		return a.walk(area{node: a.src.Status.At(path[1].(string)), where: expr.Join("status", path[1].(string)),
			ops: rule.status.ops}, path[2:])
	}
	if rule.patch != nil && len(path) > 0 && path[0] != "status" {
		return a.walk(area{node: a.src.Patch, where: "patch", ops: rule.patch.ops}, path)
	}
	return nil
}

// Condition explains a condition that a rule computes.
func (x *Explanation) Condition(rule *Rule, c *Condition) []Origin {
	a := x.ask(rule)
	of := evaluated{index: c.index}
	all := []Origin{a.program(RoleWhen, c.from.subject+": when", c.from.when, of, nil, expr.UsedValue)}
	if c.from.reason != nil {
		all = append(all, a.text(RoleReason, c.from.reason, of))
	}
	if c.from.message != nil {
		all = append(all, a.text(RoleMessage, c.from.message, of))
	}
	return all
}

func withheld(all []Origin) bool {
	return slices.ContainsFunc(all, func(o Origin) bool { return o.Withheld })
}

package deploy

import (
	"slices"
	"strings"

	"reconcel/rules"
	"reconcel/rules/schema"
)

// A demand is a permission that the author of a primary must hold.
type demand struct {
	verb   string
	target Target
	space  space
	rule   string // the rule that needs the permission
	does   string
	later  bool // only for an existing primary, not at its creation
}

// A space is where a permission must be held: the CEL expression of a namespace's name,
// or one of the constants.
type space string

const (
	clusterScoped space = ""
	allNamespaces space = "*"
)

// homeOf returns the default namespace of a primary's children: the namespace of
// the request, or the primary itself if it is a Namespace.
func homeOf(k *schema.Kind) space {
	switch {
	case isNamespace(k):
		return "object.metadata.name"
	case k.Namespaced:
		return "request.namespace"
	}
	return clusterScoped
}

func isNamespace(k *schema.Kind) bool { return k.GVK.Group == "" && k.GVK.Kind == "Namespace" }

// demands collects the permissions for all actions of rules for a primary.
type demands struct {
	program *rules.Program
	kinds   *schema.Set
	all     []demand
	seen    map[home]bool
}

// A home is a rule with the default namespace of its children.
type home struct {
	rule  string
	space space
}

// of adds the demands of a rule. It includes the rules for its children, because
// the engine creates those and its own requests are not checked.
func (d *demands) of(r *rules.Rule, at space) {
	if h := (home{r.Name, at}); !d.seen[h] {
		d.seen[h] = true
		d.children(r, at)
		d.lookups(r, at)
	}
}

func (d *demands) children(r *rules.Rule, home space) {
	for _, c := range r.Children {
		k := d.kinds.Kind(c.GVK)
		at := spaceOf(r.ChildNamespace(c), k, home)
		need := func(verb, does string) demand {
			return demand{verb: verb, target: targetOf(k), space: at, rule: r.Name, does: does}
		}
		d.need(need("create", "makes"))
		change, remove := need("patch", "changes"), need("delete", "deletes")
		change.later, remove.later = !c.Adopt && !c.Shared, true // A new primary may adopt or share what exists.
		d.need(change)
		d.need(remove)
		d.grandchildren(c, k, at)
	}
}

// grandchildren adds the demands of the rules for a child.
func (d *demands) grandchildren(c *rules.Child, k *schema.Kind, home space) {
	if isNamespace(k) {
		home = allNamespaces
		if name := c.LiteralName(); name != "" {
			home = space(celString(name))
		}
	}
	for _, p := range d.program.Primaries() {
		if p.GVK.GroupKind() != c.GVK.GroupKind() {
			continue
		}
		for _, r := range p.Rules {
			d.of(r, home)
		}
	}
}

func (d *demands) lookups(r *rules.Rule, home space) {
	for _, l := range r.Lookups {
		k := d.kinds.Kind(l.GVK)
		need := demand{verb: "list", target: targetOf(k), space: spaceOf(r.LookupNamespace(l), k, home), rule: r.Name,
			does: "reads"}
		if l.One() {
			need.verb, need.target.Name = "get", l.LiteralName()
		}
		d.need(need)
	}
}

// need adds a demand unless an equal one exists. If the two differ in later, the
// demand applies at creation too.
func (d *demands) need(n demand) {
	i := slices.IndexFunc(d.all, func(other demand) bool {
		other.later = n.later
		return other == n
	})
	if i < 0 {
		d.all = append(d.all, n)
		return
	}
	d.all[i].later = d.all[i].later && n.later
}

func spaceOf(n rules.Namespace, k *schema.Kind, home space) space {
	switch {
	case !k.Namespaced:
		return clusterScoped
	case n.Name != "":
		return space(celString(n.Name))
	case n.OfPrimary:
		return home
	}
	return allNamespaces
}

// check returns the CEL expression that checks the author's permission.
func (d demand) check() string {
	check := "authorizer.group(" + celString(d.target.Group) + ").resource(" + celString(d.target.path()) + ")"
	if d.space != clusterScoped && d.space != allNamespaces {
		check += ".namespace(" + string(d.space) + ")"
	}
	if d.target.Name != "" {
		check += ".name(" + celString(d.target.Name) + ")"
	}
	check += ".check(" + celString(d.verb) + ").allowed()"
	if d.later {
		check = "request.operation == 'CREATE' || " + check
	}
	return check
}

// message returns the CEL expression of the message: the missing permission, and
// the rule that needs it.
func (d demand) message() string {
	what := strings.TrimSuffix(d.target.path()+"."+d.target.Group, ".")
	them := "them"
	if d.target.Name != "" {
		them = d.target.Name
	}
	message := celString(`rule "`+d.rule+`" `+d.does+" "+what+": ") + " + request.userInfo.username + "
	denied := " may not " + d.verb + " " + them
	switch d.space {
	case clusterScoped:
		return message + celString(denied)
	case allNamespaces:
		return message + celString(denied+" in all namespaces")
	}
	return message + celString(denied+" in namespace ") + " + " + string(d.space)
}

var escapes = strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`)

// celStrings returns a CEL list of strings.
func celStrings(all []string) string {
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = celString(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// celString returns a CEL string literal.
func celString(s string) string { return "'" + escapes.Replace(s) + "'" }

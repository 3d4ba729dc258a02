package deploy

import (
	"slices"
	"strings"

	"reconcel/rules"
	"reconcel/rules/schema"
)

// A demand is a right that the author of a primary must hold.
type demand struct {
	verb     string
	resource resource
	space    space
	rule     string // which does, with the right:
	does     string
	later    bool // once the primary exists: a new one does not do it
}

// A space is where a right must be held.
type space struct {
	namespace string // CEL that gives its name; "": there is none, or it may be any
	said      string // how it is called, before the namespace if it has one
}

// Where there is no namespace, and where it may be any.
var (
	nowhere    = space{}
	everywhere = space{said: " in all namespaces"}
)

func within(expression string) space { return space{namespace: expression, said: " in namespace "} }

// homeOf is where the children of a primary are by default: where the request
// for it is, or in itself.
func homeOf(k *schema.Kind) space {
	switch {
	case isNamespace(k):
		return within("object.metadata.name")
	case k.Namespaced:
		return within("request.namespace")
	}
	return nowhere
}

func isNamespace(k *schema.Kind) bool { return k.GVK.Group == "" && k.GVK.Kind == "Namespace" }

// demands collects the rights that stand behind what rules do for a primary.
type demands struct {
	program *rules.Program
	kinds   *schema.Set
	all     []demand
	seen    map[home]bool
}

// A home is where a rule makes objects by default.
type home struct {
	rule  string
	space space
}

// of adds what a rule does, and what other rules make of its children: nobody
// else is asked about those.
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
			return demand{verb: verb, resource: resourceOf(k), space: at, rule: r.Name, does: does}
		}
		d.need(need("create", "makes"))
		change, remove := need("patch", "changes"), need("delete", "deletes")
		change.later, remove.later = !c.Adopt, true
		d.need(change)
		d.need(remove)
		d.grandchildren(c, k, at)
	}
}

// grandchildren adds what rules make of a child.
func (d *demands) grandchildren(c *rules.Child, k *schema.Kind, home space) {
	if isNamespace(k) {
		home = everywhere
		if name := c.LiteralName(); name != "" {
			home = within(literal(name))
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
		need := demand{verb: "list", resource: resourceOf(k), space: spaceOf(r.LookupNamespace(l), k, home), rule: r.Name, does: "reads"}
		if l.One() {
			need.verb, need.resource.name = "get", l.LiteralName()
		}
		d.need(need)
	}
}

// need adds a demand, once.
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
		return nowhere
	case n.Name != "":
		return within(literal(n.Name))
	case n.OfPrimary:
		return home
	}
	return everywhere
}

// check is the CEL that asks whether the author holds the right.
func (d demand) check() string {
	check := "authorizer.group(" + literal(d.resource.group) + ").resource(" + literal(d.resource.path) + ")"
	if d.space.namespace != "" {
		check += ".namespace(" + d.space.namespace + ")"
	}
	if d.resource.name != "" {
		check += ".name(" + literal(d.resource.name) + ")"
	}
	check += ".check(" + literal(d.verb) + ").allowed()"
	if d.later {
		check = "request.operation == 'CREATE' || " + check
	}
	return check
}

// message is the CEL that says what the author lacks, and why it is asked for.
func (d demand) message() string {
	what := strings.TrimSuffix(d.resource.path+"."+d.resource.group, ".")
	them := "them"
	if d.resource.name != "" {
		them = d.resource.name
	}
	message := literal(`rule "`+d.rule+`" `+d.does+" "+what+": ") + " + request.userInfo.username + " +
		literal(" may not "+d.verb+" "+them+d.space.said)
	if d.space.namespace != "" {
		message += " + " + d.space.namespace
	}
	return message
}

var escapes = strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`)

// literals returns a list of strings as CEL.
func literals(all []string) string {
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = literal(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// literal returns a string as CEL.
func literal(s string) string { return "'" + escapes.Replace(s) + "'" }

package check

import (
	"github.com/google/cel-go/common/types"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/lint"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// labelSelector is the definition of a lookup's selector.
const labelSelector = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"

// body checks everything in a rule except the names that it declares.
func (r *rule) body() {
	r.findExcludable()
	g := &guard{rule: r, sc: r.scope(nil), work: &work{}}
	known := g.decision(r.src.For.When, types.BoolKind, r.selected(), r.src.For.Entry+".when").truly().and(r.selected())
	r.allowed()
	r.account()
	for _, c := range r.src.Validate {
		r.prefix = c.Entry + ": "
		out := g.decision(c.Expression, types.BoolKind, known, "expression")
		g.message(c.Message, known.and(out.falsely()), "message")
		known = known.and(out.truly())
	}
	for _, l := range r.src.Lookups {
		r.prefix = l.Entry + ": "
		g.lookup(l, known)
	}
	for _, ch := range r.src.Children {
		g.child(ch, known)
	}
	for _, ch := range r.src.Finalize {
		g.child(ch, nil) // During deletion, for.when and validate are not evaluated.
	}
	r.prefix = ""
	r.patch(g.sc)
	g.at("patch").node(r.src.Patch, known)
	r.status(g.sc)
	status := g.at("status")
	status.ofStatus = true
	status.node(r.src.Status, known)
	for _, c := range r.src.Conditions {
		g.condition(c, known)
	}
	r.prefix = ""
	r.conditions()
	r.reported()
}

// decision checks an expression that must be of one kind.
func (g *guard) decision(src *source.Expr, kind types.Kind, f facts, where string) outcome {
	g.rule.want(src, g.sc, kind, where)
	return g.at(where).expression(src, f)
}

// message checks a text, in which nothing may be absent.
func (g *guard) message(n *source.Node, f facts, where string) {
	g.rule.text(n, g.sc, where)
	g.at(where).text(n, f)
}

func (g *guard) lookup(l *syntax.Lookup, f facts) {
	if k := g.rule.set.Kind(runtimeschema.FromAPIVersionAndKind(l.APIVersion.Value, l.Kind.Value)); k != nil && !k.Namespaced && l.Namespace != nil {
		g.rule.warnf(lint.LookupNamespace, l.Namespace.Pos, "namespace: %s is cluster-scoped, its objects have no namespace", k.GVK.Kind).Hint = "remove it"
	}
	g.rule.lookupNamespace(l)
	g.message(l.Namespace, f, "namespace")
	g.message(l.Name, f, "name")
	if l.Names != nil {
		g.texts(l.Names, f, "names")
	}
	if l.Selector != nil {
		w := walker{rule: g.rule, sc: g.sc}
		s := &fieldSchema{Schema: g.rule.set.Named(labelSelector), is: fielded, own: true, name: labelSelector}
		w.value(l.Selector, s, "selector")
		g.at("selector").node(l.Selector, f)
	}
}

// lookupNamespace checks that a lookup of a rule for the cluster has a namespace.
func (r *rule) lookupNamespace(l *syntax.Lookup) {
	k := r.set.Kind(runtimeschema.FromAPIVersionAndKind(l.APIVersion.Value, l.Kind.Value))
	if r.src.For.Cluster && l.Namespace == nil && k != nil && k.Namespaced {
		r.errorf(l.Pos, "missing key \"namespace\": %s is namespaced, and a rule with for: cluster has no primary whose namespace it could get", k.GVK.Kind).Hint =
			`write the namespace, or namespace: "" for all`
	}
}

// texts checks a list of texts, in which nothing may be absent.
func (g *guard) texts(n *source.Node, f facts, where string) {
	if n.Kind == source.Interp {
		g.decision(n.Parts[0].Expr, types.ListKind, f, where)
		return
	}
	for _, item := range n.Items {
		g.message(item, f, where)
	}
}

func (g *guard) child(ch *syntax.Child, f facts) {
	r := g.rule
	r.prefix = ch.Entry + ": "
	g = g.at("")
	g.quiet = !r.isIntact(ch.When)
	f = f.and(g.decision(ch.When, types.BoolKind, f, "when").truly())
	g.reader = ch
	g.decision(ch.Replicas, types.IntKind, f, "replicas")
	g.decision(ch.MaxUnavailable, types.IntKind, f, "maxUnavailable")
	names, f := g.forEach(ch.ForEach, f)
	k := r.set.Kind(gvkOf(ch.Template))
	g.sc = r.scope(names)
	for _, p := range ch.IgnoreFields {
		g.decision(p.When, types.BoolKind, f, p.Entry+".when")
	}
	for _, made := range ch.Generate {
		g.generated(made, f)
	}
	r.template(ch, k, g.sc)
	r.replicas(ch)
	g.template(ch.Template, f)
	g.reader = nil
	names["child"] = r.all.kindType(k)
	g.sc = r.scope(names)
	g.decision(ch.ReadyWhen, types.BoolKind, f, "readyWhen")
	g.decision(ch.FailWhen, types.BoolKind, f, "failWhen")
}

// forEach checks the lists of forEach. It returns the types of their names, and what is
// known in their scope.
func (g *guard) forEach(iterators []*syntax.Iterator, f facts) (names map[string]*types.Type, known facts) {
	names = map[string]*types.Type{}
	for _, it := range iterators {
		g.sc = g.rule.scope(names)
		list := g.decision(it.In, types.ListKind, f, it.Entry)
		item, known := g.bind(list.value, it.Name.Value, f)
		g.vars = append(g.vars, named{it.Name.Value, item}, named{it.Index.Value, nil})
		f = f.and(known)
		names[it.Name.Value] = types.DynType
		if t := g.rule.typed[it.In]; t != nil && t.t.Kind() == types.ListKind {
			names[it.Name.Value] = t.t.Parameters()[0]
		}
		if it.Index.Value != "" {
			names[it.Index.Value] = types.IntType
		}
	}
	return names, f
}

func (g *guard) condition(c *syntax.Condition, f facts) {
	g.rule.prefix = c.Entry + ": "
	g = g.at("")
	names, f := g.forEach(c.ForEach, f)
	g.sc = g.rule.scope(names)
	g.message(c.Type, f, "type")
	g.decision(c.When, types.BoolKind, f, "when")
	g.message(c.Reason, f, "reason")
	g.message(c.Message, f, "message")
}

// generated checks the description of a generated value, in which nothing may be absent.
func (g *guard) generated(made *syntax.Generated, f facts) {
	for _, field := range made.Node.Fields {
		where := "generate." + made.Key.Value + "." + field.Key.Value
		if field.Key.Value == "dnsNames" {
			g.texts(field.Value, f, where)
		} else {
			g.message(field.Value, f, where)
		}
	}
}

// template follows the guards in a template. The names in it must not be absent.
func (g *guard) template(n *source.Node, f facts) {
	for _, field := range []string{"name", "generateName", "namespace"} {
		g.at("template.metadata."+field).text(n.At("metadata", field), f)
	}
	g.at("template").node(n, f)
}

func gvkOf(template *source.Node) runtimeschema.GroupVersionKind {
	return runtimeschema.FromAPIVersionAndKind(template.At("apiVersion").Literal().Value, template.At("kind").Literal().Value)
}

func (r *rule) template(ch *syntax.Child, k *schema.Kind, sc *expr.TypedScope) {
	if ch.Template == nil {
		return
	}
	var p *fieldSchema
	if k != nil {
		p = r.all.root(k)
	}
	w := walker{rule: r, sc: sc}
	outer := r.prefix
	r.prefix += "template"
	w.fields(ch.Template, p, "")
	r.prefix += "."
	metadata := ch.Template.At("metadata")
	r.marks(metadata, "metadata.")
	r.scoped(ch, k, metadata)
	r.prefix = outer
}

// patch checks what is merged into the primary, which has its required fields already.
func (r *rule) patch(sc *expr.TypedScope) {
	if r.src.Patch == nil {
		return
	}
	w := walker{rule: r, sc: sc, partial: partOfObject}
	w.value(r.src.Patch, r.primary, "patch")
	r.marks(r.src.Patch.At("metadata"), "patch.metadata.")
}

func (r *rule) status(sc *expr.TypedScope) {
	n := r.src.Status
	if n == nil {
		return
	}
	w := walker{rule: r, sc: sc, partial: statusFields}
	var p *fieldSchema
	if r.primary != nil {
		p = r.all.field(r.primary, "status")
	}
	switch {
	case r.primary == nil:
	case !r.kind.Status:
		r.errorf(n.Pos, "status: %s has no status subresource, so its status cannot be written", r.kind.GVK.Kind).Hint =
			"add subresources: {status: {}} to its CRD"
	case p == nil && r.primary.open:
	case p == nil:
		r.errorf(n.Pos, "status: the schema of %s has no status, so the API server drops it", r.kind.GVK.Kind)
	}
	w.value(n, p, "status")
	r.statusLoop(n, []string{"self", "status"})
}

// conditions checks that the status of the primary has conditions.
func (r *rule) conditions() {
	if len(r.src.Conditions) == 0 || r.primary == nil {
		return
	}
	pos := r.src.Conditions[0].Pos
	status := r.all.field(r.primary, "status")
	switch {
	case !r.kind.Status:
		r.errorf(pos, "conditions: %s has no status subresource, so conditions cannot be written", r.kind.GVK.Kind)
		return
	case status == nil && r.primary.open, status != nil && (status.open || status.is != fielded):
		return
	case status == nil || r.all.field(status, "conditions") == nil:
		r.errorf(pos, "conditions: the schema of %s has no status.conditions, so the API server drops them", r.kind.GVK.Kind)
		return
	}
	item := r.all.items(r.all.field(status, "conditions"))
	keyed := schema.HasOwners(r.set.Conditions(r.kind.GVK))
	for _, c := range r.src.Conditions {
		r.prefix = c.Entry + ": "
		w := walker{rule: r}
		if len(c.ForEach) > 0 && !keyed {
			r.errorf(c.ForEach[0].Pos, "forEach: the API server records no owner for each condition of %s, so that of a removed element would stay", r.kind.GVK.Kind).Hint =
				"add x-kubernetes-list-type: map and x-kubernetes-list-map-keys: [type] to status.conditions in the CRD"
		}
		if t := c.Type.Literal(); t.Value != "" { // Without one, the parser has complained.
			if p := r.all.field(item, "type"); p != nil {
				w.text(t.Value, t.Pos, p, "type")
			}
		}
		if p := r.all.field(item, "reason"); p != nil && c.Reason != nil && c.Reason.Kind == source.Text {
			w.text(c.Reason.Literal().Value, c.Reason.Pos, p, "reason")
		}
	}
	r.prefix = ""
}

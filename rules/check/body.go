package check

import (
	"fmt"

	"github.com/google/cel-go/common/types"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// labelSelector is the definition of a lookup's selector.
const labelSelector = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"

// body checks everything in a rule except the names that it declares.
func (r *rule) body() {
	if w := r.src.For.When; w != nil {
		r.want(w, r.alone("self"), types.BoolKind, "for.when")
	}
	r.allowed()
	r.account()
	sc := r.scope(nil)
	for _, l := range r.src.Lookups {
		r.prefix = l.Entry + ": "
		r.lookup(l, sc)
	}
	for _, c := range r.src.Validate {
		r.prefix = c.Entry + ": "
		r.want(c.Expression, sc, types.BoolKind, "expression")
		r.text(c.Message, sc, "message")
	}
	for _, ch := range r.entries() {
		r.prefix = ch.Entry + ": "
		r.child(ch, sc)
	}
	r.prefix = ""
	r.patch(sc)
	r.status(sc)
	for _, c := range r.src.Conditions {
		r.prefix = c.Entry + ": "
		r.want(c.When, sc, types.BoolKind, "when")
		r.text(c.Reason, sc, "reason")
		r.text(c.Message, sc, "message")
	}
	r.prefix = ""
	r.conditions()
	r.reported()
}

func (r *rule) lookup(l *syntax.Lookup, sc *scope) {
	r.text(l.Namespace, sc, "namespace")
	r.text(l.Name, sc, "name")
	if l.Selector != nil {
		w := walker{rule: r, sc: sc}
		s := &fieldSchema{Schema: r.set.Named(labelSelector), is: fielded, own: true, name: labelSelector}
		w.value(l.Selector, s, "selector")
	}
}

func (r *rule) child(ch *syntax.Child, sc *scope) {
	if ch.When != nil {
		r.want(ch.When, sc, types.BoolKind, "when")
	}
	if ch.Replicas != nil {
		r.want(ch.Replicas, sc, types.IntKind, "replicas")
	}
	if ch.MaxUnavailable != nil {
		r.want(ch.MaxUnavailable, sc, types.IntKind, "maxUnavailable")
	}
	names := map[string]*types.Type{}
	for i, it := range ch.ForEach {
		t := r.want(it.In, r.scope(names), types.ListKind, fmt.Sprintf("forEach[%d].in", i))
		names[it.Name.Value] = types.DynType
		if t != nil && t.t.Kind() == types.ListKind {
			names[it.Name.Value] = t.t.Parameters()[0]
		}
		if it.Index.Value != "" {
			names[it.Index.Value] = types.IntType
		}
	}
	k := r.set.Kind(gvkOf(ch.Template))
	rendering := r.scope(names)
	for _, p := range ch.IgnoreFields {
		if p.When != nil {
			r.want(p.When, rendering, types.BoolKind, p.Entry+".when")
		}
	}
	r.template(ch, k, rendering)
	r.replicas(ch)
	names["child"] = r.all.kindType(k)
	judging := r.scope(names)
	if ch.ReadyWhen != nil {
		r.want(ch.ReadyWhen, judging, types.BoolKind, "readyWhen")
	}
	if ch.FailWhen != nil {
		r.want(ch.FailWhen, judging, types.BoolKind, "failWhen")
	}
}

func gvkOf(template *source.Node) runtimeschema.GroupVersionKind {
	return runtimeschema.FromAPIVersionAndKind(template.At("apiVersion").Literal().Value, template.At("kind").Literal().Value)
}

func (r *rule) template(ch *syntax.Child, k *schema.Kind, sc *scope) {
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
	w.object(ch.Template, p)
	r.prefix += "."
	metadata := ch.Template.At("metadata")
	r.marks(metadata, "metadata.")
	r.scoped(ch, k, metadata)
	r.prefix = outer
}

// patch checks what is merged into the primary, which has its required fields already.
func (r *rule) patch(sc *scope) {
	if r.src.Patch == nil {
		return
	}
	w := walker{rule: r, sc: sc, partial: partOfObject}
	w.value(r.src.Patch, r.primary, "patch")
	r.marks(r.src.Patch.At("metadata"), "patch.metadata.")
}

func (r *rule) status(sc *scope) {
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
	for _, c := range r.src.Conditions {
		r.prefix = c.Entry + ": "
		w := walker{rule: r}
		if p := r.all.field(item, "type"); p != nil {
			w.text(c.Type.Value, c.Type.Pos, p, "type")
		}
		if p := r.all.field(item, "reason"); p != nil && c.Reason != nil && c.Reason.Kind == source.Text {
			w.text(c.Reason.Literal().Value, c.Reason.Pos, p, "reason")
		}
	}
	r.prefix = ""
}

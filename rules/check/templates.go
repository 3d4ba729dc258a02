package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/expr"
	"reconcel/rules/lint"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Templates checks what a rule writes into objects: the templates of children and the patch.
type templates struct {
	*subject
	reporter    *reporter
	expressions *expressions
	follower    *follower
	omissions   *omissions
	walking     *walking
	namespaces  *namespaces

	marked map[*source.Node]bool // labels and annotations that were checked
}

func (r *templates) template(ch *syntax.Child, k *schema.Kind, sc *expr.TypedScope) {
	if ch.Template == nil {
		return
	}
	var p *fieldSchema
	if k != nil {
		p = r.all.root(k)
	}
	w := walker{walking: r.walking, sc: sc}
	if ch.Extends() {
		w.partial = partOfObject
	}
	outer := r.prefix
	r.prefix += "template"
	w.fields(ch.Template, p, "")
	r.prefix += "."
	metadata := ch.Template.At("metadata")
	r.marks(metadata, "metadata.")
	r.namespaces.scoped(ch, k, metadata)
	r.prefix = outer
}

func gvkOf(template *source.Node) runtimeschema.GroupVersionKind {
	return runtimeschema.FromAPIVersionAndKind(template.At("apiVersion").Literal().Value,
		template.At("kind").Literal().Value)
}

// patch checks what is merged into the primary, which has its required fields already.
func (r *templates) patch(sc *expr.TypedScope) {
	if r.src.Patch == nil {
		return
	}
	w := walker{walking: r.walking, sc: sc, partial: partOfObject}
	w.value(r.src.Patch, r.primary, "patch")
	r.marks(r.src.Patch.At("metadata"), "patch.metadata.")
}

// common checks the labels and annotations of all objects.
func (r *templates) common(sc *expr.TypedScope) {
	if r.src.CommonMetadata == nil {
		return
	}
	w := walker{walking: r.walking, sc: sc, partial: partOfObject}
	w.value(r.src.CommonMetadata, r.all.objectMeta(), "commonMetadata")
	r.marks(r.src.CommonMetadata, "commonMetadata.")
}

// marks checks the keys of labels and annotations, and literal values of labels.
func (r *templates) marks(metadata *source.Node, prefix string) {
	for _, which := range []string{"labels", "annotations"} {
		n := metadata.At(which)
		if n != nil && n.Kind == source.Interp && len(n.Parts) == 1 {
			n = cmp.Or(r.follower.copiedData(n.Parts[0].Expr), n)
		}
		if n == nil || r.marked[n] {
			continue // The data of a let is checked where it is used first.
		}
		r.marked[n] = true
		for _, f := range n.Fields {
			where := joinPath(prefix+which, f.Key.Value)
			if len(validation.IsQualifiedName(strings.ToLower(f.Key.Value))) > 0 {
				r.reporter.errorf(f.Key.Pos, "%s: %q cannot be a key: write a name of at most 63 letters, digits, -, _ and ., or "+
					"domain/name",
					where, f.Key.Value)
			}
			if v := f.Value; which == "labels" && v.Kind == source.Text &&
				len(validation.IsValidLabelValue(v.Literal().Value)) > 0 {
				r.reporter.errorf(v.Pos, "%s: %q cannot be the value of a label: it has at most 63 letters, digits, -, _ and .",
					where, v.Literal().Value)
			}
		}
	}
}

// scaled are the kinds whose spec.replicas the API server sets to 1 when it is
// removed.
var scaled = []runtimeschema.GroupKind{{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "ReplicaSet"},
	{Group: "apps", Kind: "StatefulSet"}}

// replicas warns about spec.replicas that may be absent. A rule that leaves it out
// for an autoscaler scales the workload down to one Pod.
func (r *templates) replicas(ch *syntax.Child) {
	n := ch.Template.At("spec", "replicas")
	if n == nil || n.Kind != source.Interp || len(n.Parts) > 1 ||
		!slices.Contains(scaled, gvkOf(ch.Template).GroupKind()) {
		return
	}
	for _, p := range ch.IgnoreFields {
		if p.Keys[0] == "spec" && (len(p.Keys) == 1 || p.Keys[1] == "replicas") {
			return
		}
	}
	src := n.Parts[0].Expr
	if t := r.expressions.checked(src); t != nil && r.omissions.mayBeAbsent(t, t.ast.Expr(), 0) {
		r.reporter.warnf(lint.AbsentField, src.Pos,
			"template.spec.replicas may be absent: the API server then sets it to 1").Hint =
			"to leave it to an autoscaler, add it to ignoreFields with a when"
	}
}

// Namespaces checks whether the objects of a rule can have the namespaces that it gives them.
type namespaces struct {
	*subject
	reporter    *reporter
	expressions *expressions
}

// allowed checks that allow.clusterScoped names cluster-scoped kinds.
func (r *namespaces) allowed() {
	for i, gk := range r.src.Allow.ClusterScoped {
		versions := r.set.Versions(gk.GroupKind)
		if len(versions) > 0 && versions[0].Namespaced {
			r.reporter.errorf(gk.Pos, "allow.clusterScoped[%d]: %s is namespaced", i, gk.Kind).Hint =
				"remove it; allow.namespaces lists the namespaces of children"
		}
	}
}

// account checks that a ServiceAccount without a namespace can get the primary's.
func (r *namespaces) account() {
	a := r.src.Account
	if a.Name != "" && a.Namespace == "" && r.kind != nil && !r.kind.Namespaced {
		r.reporter.errorf(a.Pos, "serviceAccountName: %q needs the namespace of the primary, and %s is cluster-scoped",
			a.Name, r.kind.GVK.Kind).Hint =
			"write it with its namespace, like team-a/" + a.Name
	}
}

// lookup checks that a lookup of a rule for the cluster has a namespace, and that one of a
// cluster-scoped kind has none.
func (r *namespaces) lookup(l *syntax.Lookup) {
	k := r.set.Kind(runtimeschema.FromAPIVersionAndKind(l.APIVersion.Value, l.Kind.Value))
	switch {
	case k == nil:
	case !k.Namespaced && l.Namespace != nil:
		r.reporter.warnf(lint.LookupNamespace, l.Namespace.Pos,
			"namespace: %s is cluster-scoped, its objects have no namespace", k.GVK.Kind).Hint = "remove it"
	case k.Namespaced && l.Namespace == nil && r.src.For.Cluster:
		r.reporter.errorf(l.Pos, "missing key \"namespace\": %s is namespaced, and a rule with for: cluster has no primary "+
			"whose namespace it could get", k.GVK.Kind).Hint =
			`write the namespace, or namespace: "" for all`
	}
}

// scoped checks the namespace of a child by the scope of its kind.
func (r *namespaces) scoped(ch *syntax.Child, k *schema.Kind, metadata *source.Node) {
	if k == nil {
		return
	}
	gk := k.GVK.GroupKind()
	allowed := slices.ContainsFunc(r.src.Allow.ClusterScoped, func(a syntax.GroupKind) bool { return a.GroupKind == gk })
	namespace, given := r.namespaceIn(metadata)
	switch {
	case k.Namespaced && !given && metadata != nil && !metadata.Lacking && r.lacksNamespace():
		why := "the primary has no namespace of its own"
		if r.src.For.Cluster {
			why = "a rule with for: cluster has no primary whose namespace it could get"
		}
		r.reporter.errorf(metadata.Pos, "metadata: missing namespace: %s is namespaced, and %s", gk.Kind, why)
	case k.Namespaced:
	case given:
		r.reporter.errorf(namespace, "metadata.namespace: %s is cluster-scoped, its objects have no namespace",
			gk.Kind).Hint = "remove it"
	case !allowed:
		r.reporter.errorf(ch.Template.At("kind").Pos,
			"kind: %s is cluster-scoped, and allow.clusterScoped does not include it", gk.Kind).Hint =
			fmt.Sprintf(`add {group: %q, kind: %s}`, gk.Group, gk.Kind)
	}
}

// namespaceIn returns the position of the namespace in metadata, and whether there is one.
func (r *namespaces) namespaceIn(metadata *source.Node) (source.Pos, bool) {
	if metadata != nil && len(metadata.Parts) == 1 {
		t := r.expressions.checked(metadata.Parts[0].Expr)
		if t == nil {
			return source.Pos{}, true // Nothing is known of it.
		}
		e := expr.EntryOf(t.ast.Expr(), "namespace")
		if e == nil {
			return source.Pos{}, false
		}
		return t.pos(e), true
	}
	n := metadata.At("namespace")
	if n == nil {
		return source.Pos{}, false
	}
	return n.Pos, true
}

// lacksNamespace reports whether the primary is cluster-scoped and is not a Namespace, or
// there is no primary.
func (r *namespaces) lacksNamespace() bool {
	return r.src.For.Cluster || r.kind != nil && !r.kind.Namespaced &&
		r.kind.GVK.GroupKind() != runtimeschema.GroupKind{Kind: "Namespace"}
}

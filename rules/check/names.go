package check

import (
	"cmp"
	"fmt"
	"regexp"
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

// known returns a kind that has a schema. For any other, it complains about a
// misspelt kind, or notes once that the kind is not checked.
func (r *rule) known(apiVersion, kind source.String, where string) *schema.Kind {
	gvk := runtimeschema.FromAPIVersionAndKind(apiVersion.Value, kind.Value)
	k := r.set.Kind(gvk)
	if k != nil && r.set.Schema(gvk) != nil {
		return k
	}
	if kind.Value == "" || apiVersion.Value == "" || r.noted[gvk] {
		return nil
	}
	r.noted[gvk] = true
	if k != nil || !r.mistaken(gvk, apiVersion, kind, where) {
		r.say(&r.found.Notes, r.complaint(kind.Pos, "%skind: there is no schema of %s %s, so its fields are not checked",
			where, apiVersion.Value, kind.Value))
	}
	return nil
}

// A kinship is the set of known kinds that resemble an unknown one.
type kinship struct {
	sameGroup, sameVersion []string // the kinds in them
	versions               []string // of the kind in its group
	elsewhere              []string // the versions of all groups with a kind of that name
	custom                 bool     // its group has custom kinds
}

func (r *rule) kinship(gvk runtimeschema.GroupVersionKind) kinship {
	var out kinship
	for _, k := range r.set.Kinds() {
		if k.GVK.Group == gvk.Group {
			out.sameGroup = append(out.sameGroup, k.GVK.Kind)
			out.custom = out.custom || k.Custom
		}
		if k.GVK.GroupVersion() == gvk.GroupVersion() {
			out.sameVersion = append(out.sameVersion, k.GVK.Kind)
		}
		if k.GVK.Kind != gvk.Kind {
			continue
		}
		out.elsewhere = append(out.elsewhere, k.GVK.GroupVersion().String())
		// Of Kubernetes' own kinds only stable versions are known.
		if k.GVK.Group == gvk.Group && (k.Custom || stable.MatchString(gvk.Version)) {
			out.versions = append(out.versions, k.GVK.GroupVersion().String())
		}
	}
	return out
}

var stable = regexp.MustCompile(`^v[0-9]+$`)

// mistaken complains about an unknown kind if it looks like a misspelt one.
func (r *rule) mistaken(gvk runtimeschema.GroupVersionKind, apiVersion, kind source.String, where string) bool {
	kin := r.kinship(gvk)
	if r.gone(gvk, apiVersion, kin, where) {
		return true
	}
	switch {
	case source.Suggest(gvk.Kind, kin.sameVersion) != "" && !slices.Contains(kin.sameGroup, gvk.Kind):
		complain := r.errorf
		if kin.custom {
			complain = r.unknownKind // Its CRD may not be given, or be created later.
		}
		complain(kind.Pos, "%skind: %s has no kind %s", where, apiVersion.Value, kind.Value).Hint = source.Suggest(kind.Value, kin.sameVersion)
	case len(kin.versions) > 0:
		r.unknownKind(apiVersion.Pos, "%sapiVersion: no such version of %s is known, only %s", where, kind.Value, strings.Join(kin.versions, ", "))
	case slices.Contains(kin.sameGroup, gvk.Kind):
		return false
	case source.Suggest(apiVersion.Value, kin.elsewhere) != "":
		r.unknownKind(apiVersion.Pos, "%sapiVersion: %s has no kind %s", where, apiVersion.Value, kind.Value).Hint = source.Suggest(apiVersion.Value, kin.elsewhere)
	case len(kin.sameVersion) > 0 && len(kin.elsewhere) > 0:
		r.unknownKind(apiVersion.Pos, "%sapiVersion: %s has no kind %s", where, apiVersion.Value, kind.Value).Hint =
			"there is one in " + strings.Join(kin.elsewhere, ", ")
	default:
		return false
	}
	return true
}

func (r *rule) unknownKind(pos source.Pos, format string, args ...any) *source.Error {
	return r.warnf(lint.UnknownKind, pos, format, args...)
}

// allowed checks that allow.clusterScoped names cluster-scoped kinds.
func (r *rule) allowed() {
	for i, gk := range r.src.Allow.ClusterScoped {
		versions := r.set.Versions(gk.GroupKind)
		if len(versions) > 0 && versions[0].Namespaced {
			r.errorf(gk.Pos, "allow.clusterScoped[%d]: %s is namespaced", i, gk.Kind).Hint =
				"remove it; allow.namespaces lists the namespaces of children"
		}
	}
}

// account checks that a ServiceAccount without a namespace can get the primary's.
func (r *rule) account() {
	a := r.src.Account
	if a.Name != "" && a.Namespace == "" && r.kind != nil && !r.kind.Namespaced {
		r.errorf(a.Pos, "serviceAccountName: %q needs the namespace of the primary, and %s is cluster-scoped", a.Name, r.kind.GVK.Kind).Hint =
			"write it with its namespace, like team-a/" + a.Name
	}
}

// scoped checks the namespace of a child by the scope of its kind.
func (r *rule) scoped(ch *syntax.Child, k *schema.Kind, metadata *source.Node) {
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
		r.errorf(metadata.Pos, "metadata: missing namespace: %s is namespaced, and %s", gk.Kind, why)
	case k.Namespaced:
	case given:
		r.errorf(namespace, "metadata.namespace: %s is cluster-scoped, its objects have no namespace", gk.Kind).Hint = "remove it"
	case !allowed:
		r.errorf(ch.Template.At("kind").Pos, "kind: %s is cluster-scoped, and allow.clusterScoped does not include it", gk.Kind).Hint =
			fmt.Sprintf(`add {group: %q, kind: %s}`, gk.Group, gk.Kind)
	}
}

// namespaceIn returns the position of the namespace in metadata, and whether there is one.
func (r *rule) namespaceIn(metadata *source.Node) (source.Pos, bool) {
	if metadata != nil && len(metadata.Parts) == 1 {
		t := r.checked(metadata.Parts[0].Expr)
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
func (r *rule) lacksNamespace() bool {
	return r.src.For.Cluster || r.kind != nil && !r.kind.Namespaced && r.kind.GVK.GroupKind() != runtimeschema.GroupKind{Kind: "Namespace"}
}

// marks checks the keys of labels and annotations, and literal values of labels.
func (r *rule) marks(metadata *source.Node, prefix string) {
	for _, which := range []string{"labels", "annotations"} {
		n := metadata.At(which)
		if n != nil && n.Kind == source.Interp && len(n.Parts) == 1 {
			n = cmp.Or(r.copiedData(n.Parts[0].Expr), n)
		}
		if n == nil || r.marked[n] {
			continue // The data of a let is checked where it is used first.
		}
		r.marked[n] = true
		for _, f := range n.Fields {
			where := joinPath(prefix+which, f.Key.Value)
			if len(validation.IsQualifiedName(strings.ToLower(f.Key.Value))) > 0 {
				r.errorf(f.Key.Pos, "%s: %q cannot be a key: write a name of at most 63 letters, digits, -, _ and ., or domain/name",
					where, f.Key.Value)
			}
			if v := f.Value; which == "labels" && v.Kind == source.Text && len(validation.IsValidLabelValue(v.Literal().Value)) > 0 {
				r.errorf(v.Pos, "%s: %q cannot be the value of a label: it has at most 63 letters, digits, -, _ and .", where, v.Literal().Value)
			}
		}
	}
}

package check

import (
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/lint"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// gone complains about an apiVersion that no cluster serves, and reports whether it is
// one. Without a schema, nothing else would be checked.
func (r *kinds) gone(gvk runtimeschema.GroupVersionKind, apiVersion source.String, kin kinship, where string) bool {
	complain := func(format string, args ...any) *source.Error {
		e := r.reporter.errorf(apiVersion.Pos, where+"apiVersion: "+format, args...)
		e.Check = lint.APIVersion
		return e
	}
	removed, isRemoved := schema.Removed(gvk)
	switch {
	case isRemoved:
		complain("Kubernetes %s no longer serves %s %s", removed.In, apiVersion.Value,
			gvk.Kind).Hint = writeVersion(removed.Instead)
	case gvk.Group == "" && gvk.Version != "v1":
		complain("there is no version %q of the core group",
			gvk.Version).Hint = writeVersion(strings.Join(kin.elsewhere, " or "))
	case !strings.Contains(gvk.Group, ".") && !schema.BuiltInGroup(gvk.Group):
		// The API server rejects a CRD whose group has no dot.
		complain("there is no API group %q", gvk.Group).Hint = writeVersion(groupMeant(gvk, kin.elsewhere))
	default:
		return false
	}
	return true
}

func writeVersion(apiVersion string) string {
	if apiVersion == "" {
		return ""
	}
	return "write " + apiVersion
}

// groupMeant returns the apiVersion of the kind that a group without a dot means: the
// only one, or one with that group as its beginning.
func groupMeant(gvk runtimeschema.GroupVersionKind, elsewhere []string) string {
	i := slices.IndexFunc(elsewhere, func(v string) bool {
		return strings.HasPrefix(v, gvk.Group+".") || v == "v1" && gvk.Group == "core"
	})
	switch {
	case i >= 0:
		return elsewhere[i]
	case len(elsewhere) == 1:
		return elsewhere[0]
	}
	return source.Nearest(gvk.GroupVersion().String(), elsewhere)
}

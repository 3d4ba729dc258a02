package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/lint"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Kinds finds the kinds that a rule mentions, and complains about those that it cannot know.
type kinds struct {
	*subject
	reporter *reporter
}

func (r *kinds) childKind(ch *syntax.Child) *schema.Kind {
	return r.known(ch.Template.At("apiVersion").Literal(), ch.Template.At("kind").Literal(), "template.")
}

// known returns a kind that has a schema. For any other, it complains about a
// misspelt kind, or notes once that the kind is not checked.
func (r *kinds) known(apiVersion, kind source.String, where string) *schema.Kind {
	gvk := runtimeschema.FromAPIVersionAndKind(apiVersion.Value, kind.Value)
	k := r.set.Kind(gvk)
	if k != nil && r.set.Schema(gvk) != nil {
		return k
	}
	if kind.Value == "" || apiVersion.Value == "" || r.ledger.noted[gvk] {
		return nil
	}
	r.ledger.noted[gvk] = true
	if k != nil || !r.mistaken(gvk, apiVersion, kind, where) {
		r.ledger.say(&r.ledger.found.Notes, r.reporter.complaint(kind.Pos,
			"%skind: there is no schema of %s %s, so its fields are not checked",
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

func (r *kinds) kinship(gvk runtimeschema.GroupVersionKind) kinship {
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
func (r *kinds) mistaken(gvk runtimeschema.GroupVersionKind, apiVersion, kind source.String, where string) bool {
	kin := r.kinship(gvk)
	if r.gone(gvk, apiVersion, kin, where) {
		return true
	}
	switch {
	case source.Suggest(gvk.Kind, kin.sameVersion) != "" && !slices.Contains(kin.sameGroup, gvk.Kind):
		complain := r.reporter.errorf
		if kin.custom {
			complain = r.unknownKind // Its CRD may not be given, or be created later.
		}
		complain(kind.Pos, "%skind: %s has no kind %s", where, apiVersion.Value, kind.Value).Hint = source.Suggest(kind.Value,
			kin.sameVersion)
	case len(kin.versions) > 0:
		r.unknownKind(apiVersion.Pos, "%sapiVersion: no such version of %s is known, only %s", where, kind.Value,
			strings.Join(kin.versions, ", "))
	case slices.Contains(kin.sameGroup, gvk.Kind):
		return false
	case source.Suggest(apiVersion.Value, kin.elsewhere) != "":
		r.unknownKind(apiVersion.Pos, "%sapiVersion: %s has no kind %s", where, apiVersion.Value,
			kind.Value).Hint = source.Suggest(apiVersion.Value, kin.elsewhere)
	case len(kin.sameVersion) > 0 && len(kin.elsewhere) > 0:
		r.unknownKind(apiVersion.Pos, "%sapiVersion: %s has no kind %s", where, apiVersion.Value, kind.Value).Hint =
			"there is one in " + strings.Join(kin.elsewhere, ", ")
	default:
		return false
	}
	return true
}

func (r *kinds) unknownKind(pos source.Pos, format string, args ...any) *source.Error {
	return r.reporter.warnf(lint.UnknownKind, pos, format, args...)
}

// orNew adds to a hint what to do if a field is missing because the CRD is older than the rules.
func (r *kinds) orNew(hint string, p *fieldSchema) string {
	if p == nil || p.own || p.kind == nil || p.kind.File == "" { // Metadata is Kubernetes' own, in any CRD.
		return hint
	}
	add := "add it to " + p.kind.File
	if rules := r.src.For.Kind.Pos.File; rules != "" && r.kind != nil && p.kind.GVK.GroupKind() == r.kind.GVK.GroupKind() {
		add = fmt.Sprintf("`reconcel crd -f %s --merge %s -o %[2]s` adds it to the CRD", rules, p.kind.File)
	}
	switch {
	case hint == "":
		return add
	case strings.HasSuffix(hint, "?"):
		return hint + " If it is new, " + add
	}
	return hint // It says where the field is.
}

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

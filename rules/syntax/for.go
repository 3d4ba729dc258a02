package syntax

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/source"
)

var forShape = source.Shape{
	Keys: []source.Key{
		{Name: "apiVersion", Required: true, Value: apiVersionName,
			Doc: "Group and version, like `apps/v1`, or `v1` for the core group."},
		{Name: "kind", Required: true, Value: kindName, Doc: "The kind, custom or built-in, like `Deployment`."},
		{Name: "namespaces", Value: namespacePatterns,
			Doc: "Namespaces of the objects: names or patterns with `*` and `?`. All by default."},
		{Name: "selector", Value: orNothing(selectorShape.Schema()),
			Doc: "Labels of the objects, evaluated by the API server. Literal. All objects by default."},
		{Name: "when", Value: boolExpr, Default: "true",
			Doc: "An expression that decides whether the rule applies to an object. It may read `self`, and lets that read " +
				"nothing else."},
	},
}

// readFor reads the selection of a rule's primaries.
func readFor(v source.Value) For {
	f := For{Pos: v.Pos(), Digest: v.Digest()}
	t := v.Table(&forShape)
	f.APIVersion = readAPIVersion(t.Key("apiVersion"))
	f.Kind = readKind(t.Key("kind"))
	f.Namespaces = readPatterns(t.Key("namespaces"))
	if selector := t.Key("selector"); !selector.IsNull() {
		f.Selector = readLiteralSelector(selector)
	}
	f.When = t.Key("when").Expr()
	return f
}

// coreVersion matches versions such as v1, but not a group without a version.
var coreVersion = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// readAPIVersion reads group/version, or the version of the core group.
func readAPIVersion(v source.Value) source.String {
	s, ok := v.Literal()
	if !ok {
		return s
	}
	group, version, grouped := strings.Cut(s.Value, "/")
	if !grouped {
		version, group = group, "core"
	}
	if !grouped && len(validation.IsDNS1123Subdomain(version)) == 0 && !coreVersion.MatchString(version) {
		v.Errorf("%q has no version", s.Value).Hint = "write it like " + s.Value + "/v1, or v1 for the core group"
		return source.String{}
	}
	if len(validation.IsDNS1123Subdomain(group)) > 0 || len(validation.IsDNS1035Label(version)) > 0 {
		v.Errorf("%q is not a version", s.Value).Hint = "write it like apps/v1, or v1 for the core group"
		return source.String{}
	}
	return s
}

func readKind(v source.Value) source.String {
	s, ok := v.Literal()
	if ok && len(validation.IsDNS1035Label(strings.ToLower(s.Value))) > 0 {
		v.Errorf("%q is not a kind", s.Value).Hint = "write it like Deployment"
		return source.String{}
	}
	return s
}

// readPatterns reads a list of namespaces, given by name or by pattern.
func readPatterns(v source.Value) []source.String {
	var patterns []source.String
	for _, item := range v.Items() {
		name, ok := item.Literal()
		if !ok {
			continue
		}
		example := strings.NewReplacer("*", "a", "?", "a").Replace(name.Value)
		if len(validation.IsDNS1123Label(example)) > 0 {
			item.Errorf("%q is not the name of a namespace, nor a pattern with * and ?", name.Value)
			continue
		}
		patterns = append(patterns, name)
	}
	return patterns
}

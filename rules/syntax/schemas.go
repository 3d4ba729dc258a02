package syntax

import (
	"maps"
	"slices"
	"strings"

	"reconcel/rules/source"
)

// Patterns of literals must have the same meaning in Go and in JavaScript, which
// editors use. They may accept values that the parser rejects, but must not reject
// values that it accepts.
const (
	label     = `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`
	subdomain = `[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`
	qualified = `[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?`
	interp    = `\$\{`
	param     = `[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?[ \t]+(string|int|double|bool|list|map|dyn)`
	whole     = `^\$\{(.|\n)*\}$`
)

// Expressions. YAML reads some of them as booleans and numbers.
var (
	boolExpr = &source.Schema{Type: source.Types{"string", "boolean"}, Pattern: bareCEL, Expected: expectedCEL}
	listExpr = &source.Schema{Type: source.Types{"string"}, Pattern: bareCEL, Expected: expectedCEL}
)

const (
	bareCEL     = `^[ \t\r\n]*[^$ \t\r\n]`
	expectedCEL = "Expected an expression without ${...}."
)

// intExpr is an expression for a whole number with a minimum.
func intExpr(least int) *source.Schema {
	return &source.Schema{Type: source.Types{"string", "integer"}, Pattern: bareCEL, Expected: expectedCEL,
		Minimum: &least}
}

// upTo is a number with a maximum.
func upTo(most int, number *source.Schema) *source.Schema {
	limited := *number
	limited.Maximum = &most
	return &limited
}

// Data that may contain ${...}.
var (
	anything   = &source.Schema{}
	textData   = &source.Schema{Type: source.Types{"string"}}
	filledData = &source.Schema{Type: source.Types{"string"}, MinLength: 1}
	listData   = &source.Schema{Type: source.Types{"array", "string", "null"}, Pattern: whole}
	reasonData = &source.Schema{
		Type:     source.Types{"string"},
		Pattern:  `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$|` + interp,
		Expected: "Expected one word of letters, digits and _.",
	}
	eventData = &source.Schema{
		Type:     source.Types{"string"},
		Pattern:  `^(Normal|Warning)?$|` + interp,
		Expected: `Expected Normal, Warning, or "" for no Event.`,
	}
	// checkReason is a reason without expressions.
	checkReason = &source.Schema{
		Type:     source.Types{"string"},
		Pattern:  `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`,
		Expected: "Expected one word of letters, digits and _.",
		Not:      &source.Schema{Enum: OwnReasons},
	}
	namespaceData = &source.Schema{
		Type:     source.Types{"string"},
		Pattern:  `^(` + label + `)?$|` + interp,
		Expected: `Expected the name of a namespace, or "" for all.`,
	}
	// marksData are labels or annotations.
	marksData = &source.Schema{
		Type:    source.Types{"object", "string", "null"},
		Pattern: whole,
		Names:   &source.Schema{Not: &source.Schema{Pattern: `^([^/]*\.)?` + strings.ReplaceAll(ownPrefix, ".", `\.`)}},
		Others:  &source.Schema{Type: source.Types{"string", "null"}},
	}
	letData = &source.Schema{
		Type:  source.Types{"object", "null"},
		Names: identifierName,
		Others: &source.Schema{Type: source.Types{"string", "boolean", "number", "object", "array"}, Pattern: bareCEL,
			Expected: expectedCEL},
	}
	defineData = &source.Schema{Type: source.Types{"object", "null"}, Names: definitionName,
		Others: letData.Others.(*source.Schema)}
	statusData = &source.Schema{
		Type:       source.Types{"object", "null"},
		Properties: source.Properties{{Name: "conditions"}},
	}
)

// Literals.
var (
	ruleName = &source.Schema{
		Type:     source.Types{"string"},
		Pattern:  `^` + label + `$`,
		Expected: "Expected at most 63 lower-case letters, digits and -, with a letter or digit at both ends.",
	}
	identifierName = &source.Schema{
		Type:      source.Types{"string"},
		Pattern:   `^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?$`,
		Expected:  "Expected letters, digits and _, with a letter first and no _ last.",
		MaxLength: maxName,
		Not:       &source.Schema{Enum: slices.Sorted(maps.Keys(reserved))},
	}
	definitionName = &source.Schema{
		Type: source.Types{"string"},
		Pattern: `^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?[ \t]*(\([ \t]*` + param + `([ \t]*,[ \t]*` + param +
			`)*[ \t]*\)[ \t]*)?$`,
		Expected: "Expected a name, or a function like labels(app string, tier string).",
		Not:      &source.Schema{Enum: slices.Sorted(maps.Keys(reserved))},
	}
	apiVersionName = &source.Schema{
		Type:     source.Types{"string"},
		Pattern:  `^(v[0-9]+((alpha|beta)[0-9]+)?|` + subdomain + `/[a-z]([-a-z0-9]*[a-z0-9])?)$`,
		Expected: "Expected a group and version like apps/v1, or v1 for the core group.",
	}
	kindName = &source.Schema{
		Type:     source.Types{"string"},
		Pattern:  `^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$`,
		Expected: "Expected a kind like Deployment.",
	}
	groupName = &source.Schema{
		Type:     source.Types{"string"},
		Pattern:  `^(` + subdomain + `)?$`,
		Expected: `Expected a group like apps, or "" for the core group.`,
	}
	conditionName = &source.Schema{
		Type:     source.Types{"string"},
		Pattern:  `^(` + subdomain + `/)?` + qualified + `$`,
		Expected: "Expected letters, digits, -, _ and ., with a letter or digit at both ends.",
		Not:      &source.Schema{Enum: ownConditions},
	}
	renderedType = &source.Schema{
		Type:     source.Types{"string"},
		Pattern:  interp,
		Expected: "Expected the names of forEach in it, like Zone-${zone}.",
	}
	accountName = &source.Schema{
		Type:     source.Types{"string"},
		Pattern:  `^(` + label + `/)?` + subdomain + `$`,
		Expected: "Expected namespace/name, or name alone.",
	}
	namespacePatterns = listOf(&source.Schema{
		Type:     source.Types{"string"},
		Pattern:  `^[a-z0-9*?]([-a-z0-9*?]{0,61}[a-z0-9*?])?$`,
		Expected: "Expected the name of a namespace, or a pattern with * and ?.",
	})
	idList = &source.Schema{Type: source.Types{"array", "null"},
		Items: &source.Schema{Type: source.Types{"string"}, MinLength: 1}, Unique: true}
	fieldPath = &source.Schema{
		Type:     source.Types{"string"},
		Pattern:  `^[-A-Za-z0-9_]+(\.[-A-Za-z0-9_]+|\["([^"\\]|\\.)+"\])*$`,
		Expected: `Expected a path like spec.replicas or metadata.annotations["example.com/x"].`,
	}
)

// constantText is a literal with one allowed value.
func constantText(text string) *source.Schema {
	return &source.Schema{Type: source.Types{"string"}, Const: text, Default: text}
}

// listOf is a list or null.
func listOf(item *source.Schema) *source.Schema {
	return &source.Schema{Type: source.Types{"array", "null"}, Items: item}
}

// orNothing is a value or null.
func orNothing(s *source.Schema) *source.Schema { return orType("null", s) }

// orType is a value with one more allowed type.
func orType(name string, s *source.Schema) *source.Schema {
	more := *s
	more.Type = slices.Concat(s.Type, source.Types{name})
	return &more
}

// literalOnly is a value without ${...}.
func literalOnly(s *source.Schema) *source.Schema { return s }

// orSelectorText is a selector, or one as text.
func orSelectorText(s *source.Schema) *source.Schema {
	s.Pattern += `|^[^$]+$`
	return s
}

// orComputed is a value or a ${...} instead.
func orComputed(s *source.Schema) *source.Schema {
	switch {
	case !slices.Contains(s.Type, "string"):
		s = orType("string", s)
		s.Pattern = whole
		return s
	case s.Pattern != "":
		more := *s
		more.Pattern += "|" + interp
		return &more
	}
	return &source.Schema{AnyOf: []*source.Schema{s, {Type: source.Types{"string"}, Pattern: interp}}}
}

// requiresKeys is a map with required keys.
func requiresKeys(keys ...string) *source.Schema { return &source.Schema{Required: keys} }

// withKey is a map with a schema for one key; nil forbids the key.
func withKey(key string, s *source.Schema) *source.Schema {
	return &source.Schema{Properties: source.Properties{{Name: key, Value: s}}}
}

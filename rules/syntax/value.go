package syntax

import (
	"maps"
	"slices"
	"strings"
)

// The patterns of literals mean the same in Go and in JavaScript, which
// editors are made of. They may let pass what the parser refuses, but never the
// other way round.
const (
	label     = `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`
	subdomain = `[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`
	qualified = `[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?`
	interp    = `\$\{`
	whole     = `^\$\{(.|\n)*\}$`
)

// Expressions. YAML reads some of them as booleans and numbers.
var (
	boolExpr = &schema{Type: types{"string", "boolean"}, Pattern: bareCEL, Expected: expectedCEL}
	listExpr = &schema{Type: types{"string"}, Pattern: bareCEL, Expected: expectedCEL}
)

const (
	bareCEL     = `^[ \t\r\n]*[^$ \t\r\n]`
	expectedCEL = "Expected an expression as it stands, without ${...}."
)

// intExpr is an expression that gives a whole number.
func intExpr(least int) *schema {
	return &schema{Type: types{"string", "integer"}, Pattern: bareCEL, Expected: expectedCEL, Minimum: &least}
}

// upTo is a number that has a limit.
func upTo(most int, number *schema) *schema {
	limited := *number
	limited.Maximum = &most
	return &limited
}

// Data, in which ${...} may stand for values.
var (
	anything   = &schema{}
	textData   = &schema{Type: types{"string"}}
	filledData = &schema{Type: types{"string"}, MinLength: 1}
	listData   = &schema{Type: types{"array", "string", "null"}, Pattern: whole}
	reasonData = &schema{
		Type:     types{"string"},
		Pattern:  `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$|` + interp,
		Expected: "Expected one word of letters, digits and _.",
	}
	namespaceData = &schema{
		Type:     types{"string"},
		Pattern:  `^(` + label + `)?$|` + interp,
		Expected: `Expected the name of a namespace, or "" for all.`,
	}
	// marksData are labels or annotations.
	marksData = &schema{
		Type:    types{"object", "string", "null"},
		Pattern: whole,
		Names:   &schema{Not: &schema{Pattern: `^([^/]*\.)?` + strings.ReplaceAll(ownPrefix, ".", `\.`)}},
		Others:  &schema{Type: types{"string", "null"}},
	}
	letData = &schema{
		Type:   types{"object", "null"},
		Names:  identifierName,
		Others: &schema{Type: types{"string", "boolean", "number", "object", "array"}, Pattern: bareCEL, Expected: expectedCEL},
	}
	statusData = &schema{
		Type:       types{"object", "null"},
		Properties: properties{{name: "conditions"}},
	}
)

// Literals.
var (
	ruleName = &schema{
		Type:     types{"string"},
		Pattern:  `^` + label + `$`,
		Expected: "Expected at most 63 lower-case letters, digits and -, with a letter or digit at both ends.",
	}
	identifierName = &schema{
		Type:      types{"string"},
		Pattern:   `^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?$`,
		Expected:  "Expected letters, digits and _, with a letter first and no _ last.",
		MaxLength: maxName,
		Not:       &schema{Enum: slices.Sorted(maps.Keys(reserved))},
	}
	apiVersionName = &schema{
		Type:     types{"string"},
		Pattern:  `^(v[0-9]+((alpha|beta)[0-9]+)?|` + subdomain + `/[a-z]([-a-z0-9]*[a-z0-9])?)$`,
		Expected: "Expected a group and version like apps/v1, or v1 for the core group.",
	}
	kindName = &schema{
		Type:     types{"string"},
		Pattern:  `^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$`,
		Expected: "Expected a kind like Deployment.",
	}
	groupName = &schema{
		Type:     types{"string"},
		Pattern:  `^(` + subdomain + `)?$`,
		Expected: `Expected a group like apps, or "" for the core group.`,
	}
	conditionName = &schema{
		Type:     types{"string"},
		Pattern:  `^(` + subdomain + `/)?` + qualified + `$`,
		Expected: "Expected letters, digits, -, _ and ., with a letter or digit at both ends.",
		Not:      &schema{Enum: ownConditions},
	}
	accountName = &schema{
		Type:     types{"string"},
		Pattern:  `^(` + label + `/)?` + subdomain + `$`,
		Expected: "Expected namespace/name, or name alone.",
	}
	namespacePatterns = listOf(&schema{
		Type:     types{"string"},
		Pattern:  `^[a-z0-9*?]([-a-z0-9*?]{0,61}[a-z0-9*?])?$`,
		Expected: "Expected the name of a namespace, or a pattern with * and ?.",
	})
	idList    = &schema{Type: types{"array", "null"}, Items: &schema{Type: types{"string"}, MinLength: 1}, Unique: true}
	fieldPath = &schema{
		Type:     types{"string"},
		Pattern:  `^[-A-Za-z0-9_]+(\.[-A-Za-z0-9_]+|\["([^"\\]|\\.)+"\])*$`,
		Expected: `Expected a path like spec.replicas or metadata.annotations["example.com/x"].`,
	}
	durationText = &schema{
		Type:     types{"string"},
		Pattern:  `^\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`,
		Expected: "Expected a duration like 90s, 10m or 1h30m.",
	}
)

// constant is a literal that is always the same.
func constant(text string) *schema { return &schema{Type: types{"string"}, Const: text, Default: text} }

// A choice is one of the literals that a key may have.
type choice struct {
	text string
	doc  string
}

// choices are all of them.
type choices []choice

// texts returns the literals.
func (cs choices) texts() []string {
	var texts []string
	for _, c := range cs {
		texts = append(texts, c.text)
	}
	return texts
}

// choiceOf is one of a few literals.
func choiceOf(cs choices) *schema {
	s := &schema{Type: types{"string"}, Enum: cs.texts()}
	for _, c := range cs {
		s.EnumDocs = append(s.EnumDocs, plainDoc(c.doc))
	}
	return s
}

// mapOf is a map of a shape.
func mapOf(sh *shape) *schema { return sh.schema() }

// listOf is a list, or nothing.
func listOf(item *schema) *schema { return &schema{Type: types{"array", "null"}, Items: item} }

// orNothing is a value after whose key there may be nothing.
func orNothing(s *schema) *schema { return orType("null", s) }

// orType is a value that may have one more type.
func orType(name string, s *schema) *schema {
	more := *s
	more.Type = slices.Concat(s.Type, types{name})
	return &more
}

// literally is a value that stands there as it is.
func literally(s *schema) *schema { return s }

// orComputed is a value that may be a ${...} instead.
func orComputed(s *schema) *schema {
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
	return &schema{AnyOf: []*schema{s, {Type: types{"string"}, Pattern: interp}}}
}

// requires is a map that has keys.
func requires(keys ...string) *schema { return &schema{Required: keys} }

// holds is a map that may hold something under a key; nil is nothing at all.
func holds(key string, s *schema) *schema { return &schema{Properties: properties{{key, s}}} }

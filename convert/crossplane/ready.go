package crossplane

import (
	"fmt"
	"strings"

	"reconcel/rules/source"
)

// readyWhen returns the readiness checks of a resource as one expression, or "" without any.
func (c *converter) readyWhen(list *source.Node, path string) string {
	if list == nil {
		return ""
	}
	var all []string
	for i, check := range list.Items {
		text, err := ready(check)
		if err != nil {
			c.lose(err, check.Pos, fmt.Sprintf("%s[%d]", path, i))
			continue
		}
		all = append(all, text)
	}
	return strings.Join(all, " && ")
}

// ready returns one readiness check.
func ready(check *source.Node) (string, error) {
	of := check.At("type").Literal().Value
	switch of {
	case "None":
		return "true", nil
	case "MatchCondition":
		condition, status := check.At("matchCondition", "type").Literal().Value,
			check.At("matchCondition", "status").Literal().Value
		if status == "True" {
			return "isTrue(child, " + quoted(condition) + ")", nil
		}
		return "condition(child, " + quoted(condition) + ").?status.orValue(\"\") == " + quoted(status), nil
	}
	steps, err := path(check.At("fieldPath"), check)
	if err != nil {
		return "", err
	}
	field, _ := selected("child", steps, always)
	compared := func(with string) (string, error) { return field + ".optMap(v, " + with + ").orValue(false)", nil }
	switch of {
	case "NonEmpty":
		return field + ".hasValue()", nil
	case "MatchString":
		return compared("v == " + quoted(check.At("matchString").Literal().Value))
	case "MatchInteger":
		if n := check.At("matchInteger"); n != nil {
			return compared("v == " + literal(n))
		}
	case "MatchTrue":
		return compared("v == true")
	case "MatchFalse":
		return compared("v == false")
	}
	return "", lost(check, "write it in readyWhen", "a readiness check of the type %q has no counterpart", of)
}

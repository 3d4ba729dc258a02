package crd

import (
	"math"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// In returns a check at the deepest of its places that every object of a schema has: the API server
// evaluates no rule of a field that is absent or null. It also evaluates the rules of a field with each
// default of it, without the defaults of the fields in it, and rejects a CRD if one fails: the check is at
// none of these.
func (v Validation) In(schema *spec.Schema) Validation {
	placed := Validation{Rules: v.Rules[:1], Needs: v.neededIn(schema), Message: v.Message}
	var given []any // the defaults of the field, and what those of the fields around it have for it
	for i, name := range v.Path {
		field := schema.Properties[name]
		if field.Nullable || field.Default == nil && !slices.Contains(schema.Required, name) {
			break
		}
		var inner []any
		for _, around := range given {
			if fields, _ := around.(map[string]any); fields[name] != nil {
				inner = append(inner, fields[name])
			}
		}
		if field.Default != nil {
			inner = append(inner, field.Default)
		}
		schema, given = &field, inner
		if !slices.ContainsFunc(given, func(value any) bool { return !holds(v.Rules[i+1], value) }) {
			placed.Path, placed.Rules = v.Path[:i+1], v.Rules[:i+2]
		}
	}
	return placed
}

// neededIn returns those of the needed fields without which an object of a schema may be stored: the API server fills
// in defaults when it reads an object.
func (v Validation) neededIn(schema *spec.Schema) [][]string {
	return slices.DeleteFunc(slices.Clone(v.Needs), func(names []string) bool {
		field := *schema
		for _, name := range names {
			field = field.Properties[name]
		}
		return field.Default != nil
	})
}

var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(cel.Variable("self", cel.DynType), cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true))
})

// holds reports whether a rule is true for a value of its field.
func holds(rule string, self any) bool {
	if number, ok := self.(float64); ok && number == math.Trunc(number) {
		self = int64(number) // JSON does not tell integers.
	}
	env, err := environment()
	if err != nil {
		return false
	}
	compiled, issues := env.Compile(rule)
	if issues.Err() != nil {
		return false
	}
	program, err := env.Program(compiled)
	if err != nil {
		return false
	}
	result, _, err := program.Eval(map[string]any{"self": self})
	return err == nil && result == types.True
}

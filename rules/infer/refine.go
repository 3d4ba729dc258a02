package infer

import (
	"maps"
	"regexp"
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/check"
	"reconcel/rules/crd"
	"reconcel/rules/expr"
	"reconcel/rules/lint"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// refine returns a schema with what a rule says about it, which takes precedence.
func (e *emitter) refine(path string, inferred, said *spec.Schema) *spec.Schema {
	if said == nil {
		return inferred
	}
	delete(e.comments, path)
	if inferred == nil {
		return said
	}
	out := *said
	if out.Description == "" {
		out.Description = inferred.Description
	}
	if !slices.Equal(out.Type, inferred.Type) {
		return &out
	}
	if out.Format == "" && out.Pattern == "" {
		out.Format = inferred.Format
	}
	switch {
	case len(said.Properties) > 0 && len(inferred.Properties) > 0:
		e.refineFields(path, &out, inferred)
	case said.Items != nil && inferred.Items != nil:
		out.Items = &spec.SchemaOrArray{Schema: e.refine(path+"[]", inferred.Items.Schema, said.Items.Schema)}
	case said.AdditionalProperties != nil && inferred.AdditionalProperties != nil:
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: true,
			Schema: e.refine(path+"[]", inferred.AdditionalProperties.Schema, said.AdditionalProperties.Schema)}
	}
	return &out
}

// refineFields refines the fields of an object. An object is a default only if rules read it
// without a guard: otherwise they may ask whether it is there.
func (e *emitter) refineFields(path string, out, inferred *spec.Schema) {
	said := out.Properties
	out.Default, out.Properties = inferred.Default, map[string]spec.Schema{}
	required := append(slices.Clone(out.Required), inferred.Required...)
	required = slices.DeleteFunc(required, func(name string) bool {
		return slices.Contains(e.optional,
			below(path, name))
	})
	var kept []string
	maps.Copy(out.Properties, inferred.Properties)
	for name, p := range said {
		refined := &p
		if before, known := inferred.Properties[name]; known {
			refined = e.refine(below(path, name), &before, &p)
		}
		out.Properties[name] = *refined
	}
	slices.Sort(required)
	for _, name := range slices.Compact(required) {
		p := out.Properties[name]
		if !slices.Contains(out.Required, name) {
			fill(&p)
			out.Properties[name] = p
		}
		if p.Default == nil {
			kept = append(kept, name)
		}
	}
	out.Required = kept
}

// fill makes {} the default of an object that has to be there, if all that is required in it
// has a default.
func fill(s *spec.Schema) {
	if s.Default != nil || len(s.Required) > 0 {
		return
	}
	for _, p := range s.Properties {
		if p.Default != nil {
			s.Default = map[string]any{}
		}
	}
}

// maxRounds is how often the checker is asked which fields may be absent. It warns about the
// first field of a path, so each round answers for one more step.
const maxRounds = 8

// definitions returns what kinds are like. A field that the checker warns about, because it
// may be absent where it is read, becomes required.
func (in *inference) definitions(file *syntax.File,
	kinds []*primary) (all []*crd.Definition, mistakes []*source.Error, err error) {
	readAt := map[source.Pos]*field{}
	for _, p := range kinds {
		collect(p.slot, readAt, map[*slot]bool{})
	}
	for round := 0; ; round++ {
		all = nil
		var objects []map[string]any
		for _, p := range kinds {
			d := in.definition(p)
			object, err := d.Object()
			if err != nil {
				return nil, nil, err
			}
			all, objects = append(all, d), append(objects, object)
		}
		set, err := in.set.With(objects)
		if err != nil {
			return nil, nil, err
		}
		found, more := check.Check(file, set, nil), false
		for _, w := range found.Warnings {
			if f := readAt[w.Pos]; w.Check == lint.AbsentField && f != nil && !f.required {
				f.required, more = true, true
			}
		}
		if !more || round == maxRounds {
			return all, found.Errors, nil
		}
	}
}

// collect finds the fields that are read at each position.
func collect(s *slot, readAt map[source.Pos]*field, seen map[*slot]bool) {
	if s == nil {
		return
	}
	if s = s.find(); seen[s] {
		return
	}
	seen[s] = true
	collect(s.inner, readAt, seen)
	for _, name := range slices.Sorted(maps.Keys(s.fields)) {
		f := s.fields[name].find()
		if s.schema == nil {
			for _, pos := range f.reads {
				readAt[pos] = f
			}
		}
		collect(f.slot, readAt, seen)
	}
}

// validations returns the checks of the rules that the API server can make: those that read
// nothing but fields whose types it knows, outside metadata and status, and that are cheap for
// values of any size.
func (p *primary) validations(d *crd.Definition) (out []crd.Validation) {
	whole := &spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"},
		Properties: map[string]spec.Schema{}}}
	if d.Spec != nil {
		whole.Properties["spec"] = *d.Spec
	}
	if d.Fields != nil {
		maps.Copy(whole.Properties, d.Fields.Properties)
	}
	for _, r := range p.rules {
		for _, c := range r.Validate {
			if c.Expression == nil {
				continue
			}
			parsed := expr.Parse(c.Expression)
			if parsed == nil || !evaluable(parsed.Expr(), whole) {
				continue
			}
			v := crd.Validation{Rule: c.Expression.Text}
			if c.Message != nil && c.Message.Kind == source.Text {
				v.Message = c.Message.Literal().Value
			}
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// cheap are the functions that the API server has, too, and whose cost it bounds.
var cheap = map[string]bool{
	operators.LogicalAnd: true, operators.LogicalOr: true, operators.LogicalNot: true, operators.Conditional: true,
	operators.Equals: true, operators.NotEquals: true, operators.Less: true, operators.LessEquals: true,
	operators.Greater: true, operators.GreaterEquals: true,
	operators.Add: true, operators.Subtract: true, operators.Multiply: true, operators.Modulo: true,
	operators.Negate: true, operators.In: true, operators.OptSelect: true,
	"size": true, "startsWith": true, "endsWith": true, "orValue": true, "hasValue": true,
}

// evaluable reports whether the API server can evaluate an expression.
func evaluable(e ast.Expr, self *spec.Schema) bool {
	switch e.Kind() {
	case ast.LiteralKind:
		return true
	case ast.SelectKind:
		return schemaAt(e, self) != nil
	case ast.CallKind:
		name := e.AsCall().FunctionName()
		if name == operators.OptSelect {
			return schemaAt(e, self) != nil
		}
		if !cheap[name] {
			return false
		}
	case ast.ListKind:
	default:
		return false
	}
	return !slices.ContainsFunc(expr.Parts(e), func(part ast.Expr) bool { return !evaluable(part, self) })
}

// plainName are the names that the API server does not escape.
var plainName = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)

// reserved are words that the API server escapes.
var reserved = []string{"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function",
	"if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while"}

// schemaAt returns the schema of a field of self, or nil if its type is not known.
func schemaAt(e ast.Expr, self *spec.Schema) *spec.Schema {
	var of ast.Expr
	var name string
	switch {
	case e.Kind() == ast.IdentKind && e.AsIdent() == "self":
		return self
	case e.Kind() == ast.SelectKind:
		of, name = e.AsSelect().Operand(), e.AsSelect().FieldName()
	case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.OptSelect:
		key, _ := e.AsCall().Args()[1].AsLiteral().(types.String)
		of, name = e.AsCall().Args()[0], string(key)
	default:
		return nil
	}
	parent := schemaAt(of, self)
	if parent == nil || !plainName.MatchString(name) || slices.Contains(reserved, name) {
		return nil
	}
	if p, known := parent.Properties[name]; known && len(p.Type) == 1 {
		return &p
	}
	return nil
}

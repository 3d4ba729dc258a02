package sim

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"reconcel/rules/schema"
)

// A custom is what a CRD says about one version of its kind.
type custom struct {
	schema.Structure
	whole, status *validate.SchemaValidator // nil: everything is valid
}

// custom returns what a CRD says about a kind.
func (ks *Kinds) custom(k *schema.Kind) *custom {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return ks.customLocked(k)
}

func (ks *Kinds) customLocked(k *schema.Kind) *custom {
	c := ks.customs[k.GVK]
	if c == nil {
		c = &custom{Structure: ks.set.Structure(k)}
		c.validators(ks.set.Schema(k.GVK))
		ks.customs[k.GVK] = c
	}
	return c
}

func (c *custom) validators(root *spec.Schema) {
	if root == nil {
		return
	}
	whole := intsOrStrings(*root)
	// A CRD can restrict names. The rest of metadata has rules of its own.
	metadata := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"},
		Properties: map[string]spec.Schema{}}}
	for _, name := range []string{"name", "generateName"} {
		if p, ok := root.Properties["metadata"].Properties[name]; ok {
			metadata.Properties[name] = p
		}
	}
	whole.Properties["metadata"] = metadata
	c.whole = validate.NewSchemaValidator(&whole, nil, "", strfmt.Default)
	if status, ok := whole.Properties["status"]; ok {
		c.status = validate.NewSchemaValidator(&status, nil, "", strfmt.Default)
	}
}

// intsOrStrings returns a copy of a schema of a CRD in which a number or a text has these types, which is what the
// extension means.
func intsOrStrings(s spec.Schema) spec.Schema {
	if either, _ := s.Extensions.GetBool("x-kubernetes-int-or-string"); either {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	s.Properties = maps.Clone(s.Properties)
	for name, p := range s.Properties {
		s.Properties[name] = intsOrStrings(p)
	}
	if s.Items != nil && s.Items.Schema != nil {
		items := intsOrStrings(*s.Items.Schema)
		s.Items = &spec.SchemaOrArray{Schema: &items}
	}
	if more := s.AdditionalProperties; more != nil && more.Schema != nil {
		values := intsOrStrings(*more.Schema)
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: more.Allows, Schema: &values}
	}
	return s
}

// Default implements runtime.ObjectDefaulter.
func (c *custom) Default(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		c.Structure.Default(u.Object)
	}
}

func (c *custom) validate(u *unstructured.Unstructured) field.ErrorList {
	if c.whole == nil {
		return nil
	}
	return fieldErrors(nil, c.whole.Validate(u.Object))
}

func (c *custom) validateStatus(u *unstructured.Unstructured) field.ErrorList {
	status, has := u.Object["status"]
	if c.status == nil || !has {
		return nil
	}
	return fieldErrors(field.NewPath("status"), c.status.Validate(status))
}

// fieldErrors converts validation errors as the API server does.
func fieldErrors(at *field.Path, result *validate.Result) (all field.ErrorList) {
	for _, err := range result.Errors {
		var v *openapierrors.Validation
		if !errors.As(err, &v) {
			all = append(all, field.Invalid(at, "", err.Error()))
			continue
		}
		path := at
		if v.Name != "" && v.Name != "." {
			path = path.Child(strings.TrimPrefix(v.Name, "."))
		}
		all = append(all, fieldError(path, v))
	}
	return all
}

func fieldError(path *field.Path, v *openapierrors.Validation) *field.Error {
	value := v.Value
	if value == nil {
		value = ""
	}
	limit, ok := v.Valid.(int64)
	if !ok {
		limit = -1
	}
	switch v.Code() {
	case openapierrors.RequiredFailCode:
		return field.Required(path, "")
	case openapierrors.EnumFailCode:
		var allowed []string
		for _, option := range v.Values {
			text, isText := option.(string)
			if !isText {
				data, _ := json.Marshal(option) // It was decoded from JSON.
				text = string(data)
			}
			allowed = append(allowed, text)
		}
		return field.NotSupported(path, v.Value, allowed)
	case openapierrors.TooLongFailCode:
		return field.TooLong(path, "", int(limit))
	case openapierrors.MaxItemsFailCode, openapierrors.TooManyPropertiesCode:
		actual, ok := v.Value.(int64)
		if !ok {
			actual = -1
		}
		return field.TooMany(path, int(actual), int(limit))
	case openapierrors.InvalidTypeCode:
		return field.TypeInvalid(path, value, v.Error())
	}
	return field.Invalid(path, value, v.Error())
}

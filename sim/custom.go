package sim

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"reconcel/rules/schema"
)

// A custom is what a CRD says of the objects of one version of its kind.
type custom struct {
	body *spec.Schema // without what every object has; nil: nothing is known, everything is kept

	whole, status *validate.SchemaValidator
}

// common are the fields that every object has.
var common = []string{"apiVersion", "kind", "metadata"}

// custom returns what a CRD says of a kind.
func (ks *Kinds) custom(k *schema.Kind) *custom {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return ks.customLocked(k)
}

func (ks *Kinds) customLocked(k *schema.Kind) *custom {
	c := ks.customs[k.GVK]
	if c == nil {
		c = newCustom(ks.set.Schema(k.GVK))
		ks.customs[k.GVK] = c
	}
	return c
}

func newCustom(root *spec.Schema) *custom {
	c := &custom{}
	if root == nil {
		return c
	}
	c.body = &spec.Schema{}
	*c.body = *root
	c.body.Properties = maps.Clone(root.Properties)
	all := *root
	all.Properties = maps.Clone(root.Properties)
	if all.Properties == nil {
		all.Properties = map[string]spec.Schema{}
	}
	for _, name := range common {
		delete(c.body.Properties, name)
	}
	all.Properties["metadata"] = metadataOf(root.Properties["metadata"])
	c.whole = validate.NewSchemaValidator(&all, nil, "", strfmt.Default)
	if status, ok := root.Properties["status"]; ok {
		c.status = validate.NewSchemaValidator(&status, nil, "", strfmt.Default)
	}
	return c
}

// metadataOf returns what a CRD may restrict of metadata. The rest has rules of
// its own.
func metadataOf(full spec.Schema) spec.Schema {
	out := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{}}}
	for _, name := range []string{"name", "generateName"} {
		if p, ok := full.Properties[name]; ok {
			out.Properties[name] = p
		}
	}
	return out
}

// Default implements runtime.ObjectDefaulter.
func (c *custom) Default(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok && c.body != nil {
		c.change(u, fill)
	}
}

// decode does to an object what the API server does when it reads one: unknown
// fields go, and so do nulls that may not be, and defaults come.
func (c *custom) decode(u *unstructured.Unstructured) {
	if c.body != nil {
		c.change(u, prune)
		c.change(u, fill)
	}
}

// change does something by the schema to all but what every object has.
func (c *custom) change(u *unstructured.Unstructured, do func(*spec.Schema, any)) {
	body := maps.Clone(u.Object)
	for _, name := range common {
		delete(body, name)
	}
	do(c.body, body)
	for _, name := range common {
		if value, has := u.Object[name]; has {
			body[name] = value
		}
	}
	u.Object = body
}

// keeps reports whether an object keeps fields that its schema does not know.
func keeps(s *spec.Schema) bool {
	yes, _ := s.Extensions["x-kubernetes-preserve-unknown-fields"].(bool)
	return yes
}

// fieldSchema returns the schema of a field and whether the schema knows it. The
// schema is nil where anything goes.
func fieldSchema(s *spec.Schema, name string) (*spec.Schema, bool) {
	if p, ok := s.Properties[name]; ok {
		return &p, true
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Schema, s.AdditionalProperties.Schema != nil || s.AdditionalProperties.Allows
	}
	embedded, _ := s.Extensions["x-kubernetes-embedded-resource"].(bool)
	return nil, embedded && (name == "apiVersion" || name == "kind" || name == "metadata")
}

// prune drops the fields that the schema does not know, and nulls where null
// is neither allowed nor replaced by a default.
func prune(s *spec.Schema, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			f, known := fieldSchema(s, name)
			switch {
			case !known && !keeps(s), f != nil && v == nil && !f.Nullable && f.Default == nil:
				delete(value, name)
			case f != nil:
				prune(f, v)
			}
		}
	case []any:
		if s.Items != nil && s.Items.Schema != nil {
			for i := range value {
				prune(s.Items.Schema, value[i])
			}
		}
	}
}

// fill sets the defaults of absent fields, and of null ones that may not be
// null.
func fill(s *spec.Schema, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, p := range s.Properties {
			v, found := value[name]
			if p.Default != nil && (!found || v == nil && !p.Nullable) {
				value[name] = whole(p.Default)
			}
		}
		for name, v := range value {
			if f, _ := fieldSchema(s, name); f != nil {
				fill(f, v)
			}
		}
	case []any:
		if s.Items != nil && s.Items.Schema != nil {
			for i := range value {
				fill(s.Items.Schema, value[i])
			}
		}
	}
}

// whole returns a copy of a default with whole numbers as such: the schema has
// been decoded with floating-point numbers.
func whole(value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		return value
	}
	var out any
	if utiljson.Unmarshal(data, &out) != nil {
		return value
	}
	return out
}

// validate returns what is wrong with an object.
func (c *custom) validate(u *unstructured.Unstructured) field.ErrorList {
	if c.whole == nil {
		return nil
	}
	return fieldErrors(nil, c.whole.Validate(u.Object))
}

// validateStatus returns what is wrong with the status of an object.
func (c *custom) validateStatus(u *unstructured.Unstructured) field.ErrorList {
	status, has := u.Object["status"]
	if c.status == nil || !has {
		return nil
	}
	return fieldErrors(field.NewPath("status"), c.status.Validate(status))
}

// fieldErrors says it as the API server does.
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
				data, _ := json.Marshal(option) // It has been decoded from JSON.
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

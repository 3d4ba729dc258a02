package sim

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	crvalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/schema"
)

// A customValidation is what the API server validates of the objects of a custom kind, by its own code. The order of
// the checks is that of its package registry/customresource.
type customValidation struct {
	scale         *schema.ScalePaths
	structural    *structuralschema.Structural // nil: everything is valid
	whole, status crvalidation.SchemaValidator // status is nil if the schema has none
	rules         *cel.Validator               // nil: there are no rules
}

// newCustomValidation returns the validation of a kind by its schema, which may be nil. A schema that the API server
// does not accept validates nothing.
func newCustomValidation(k *schema.Kind, root *spec.Schema) *customValidation {
	v := &customValidation{}
	if k.Scale {
		paths := k.ScalePaths()
		v.scale = &paths
	}
	if root == nil {
		return v
	}
	props, err := propertiesOf(root)
	if err != nil {
		return v
	}
	structural, err := structuralschema.NewStructural(props)
	if err != nil {
		return v
	}
	whole, _, err := crvalidation.NewSchemaValidator(props)
	if err != nil {
		return v
	}
	v.structural, v.whole = structural, whole
	v.rules = cel.NewValidator(structural, true, celconfig.PerCallLimit)
	if status, ok := props.Properties["status"]; ok {
		if of, _, err := crvalidation.NewSchemaValidator(&status); err == nil {
			v.status = of
		}
	}
	return v
}

// propertiesOf returns the schema of a custom kind as its CRD has it: it can restrict the names in metadata, and
// nothing else of it.
func propertiesOf(root *spec.Schema) (*apiextensions.JSONSchemaProps, error) {
	own := *root
	own.Properties = maps.Clone(root.Properties)
	metadata := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"},
		Properties: map[string]spec.Schema{}}}
	for _, name := range []string{"name", "generateName"} {
		if p, ok := root.Properties["metadata"].Properties[name]; ok {
			metadata.Properties[name] = p
		}
	}
	own.Properties["metadata"] = metadata
	data, err := json.Marshal(&own)
	if err != nil {
		return nil, err
	}
	given, props := &apiextensionsv1.JSONSchemaProps{}, &apiextensions.JSONSchemaProps{}
	if err := json.Unmarshal(data, given); err != nil {
		return nil, err
	}
	return props, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(given, props, nil)
}

// validate validates a new object, or the change of an old one by a write of the object or of its status. A change
// may keep what was invalid before.
func (v *customValidation) validate(subresource string, u, old *unstructured.Unstructured) (errs field.ErrorList) {
	if v.structural == nil {
		return v.validateScale(subresource, u)
	}
	var before any
	var unchanged *common.CorrelatedObject
	var ratcheting []cel.Option
	if old != nil {
		before = old.Object
		unchanged = common.NewCorrelatedObject(u.Object, old.Object, &model.Structural{Structural: v.structural})
		ratcheting = append(ratcheting, cel.WithRatcheting(unchanged))
	}
	ctx := context.Background()
	errs = v.validateSchema(subresource, u, old, unchanged)
	errs = append(errs, v.validateScale(subresource, u)...)
	if subresource != "status" {
		errs = append(errs, objectmeta.Validate(ctx, nil, u.Object, v.structural, false)...)
	}
	if old == nil || len(listtype.ValidateListSetsAndMaps(nil, v.structural, old.Object)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, u.Object)...)
	}
	switch {
	case v.rules == nil:
	case slices.ContainsFunc(errs, preventsRules):
		errs = append(errs, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; "+
			"correct the existing errors to complete validation"))
	default:
		broken, _ := v.rules.Validate(ctx, nil, v.structural, u.Object, before, celconfig.RuntimeCELCostBudget, ratcheting...)
		errs = append(errs, broken...)
	}
	return errs
}

// validateSchema validates types and values. unchanged tells which values of a change are those of before.
func (v *customValidation) validateSchema(subresource string, u, old *unstructured.Unstructured,
	unchanged *common.CorrelatedObject) field.ErrorList {
	switch {
	case old == nil:
		return crvalidation.ValidateCustomResource(nil, u.Object, v.whole)
	case subresource != "status":
		return crvalidation.ValidateCustomResourceUpdate(nil, u.Object, old.Object, v.whole,
			crvalidation.WithRatcheting(unchanged))
	}
	status, has := u.Object["status"]
	if !has {
		return nil
	}
	return crvalidation.ValidateCustomResourceUpdate(field.NewPath("status"), status, old.Object["status"], v.status,
		crvalidation.WithRatcheting(unchanged.Key("status")))
}

// preventsRules reports whether an error is of a type with which rules are not evaluated.
func preventsRules(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
		field.ErrorTypeTypeInvalid:
		return true
	}
	return false
}

// validateScale validates the fields that the scale subresource shows.
func (v *customValidation) validateScale(subresource string, u *unstructured.Unstructured) (errs field.ErrorList) {
	if v.scale == nil {
		return nil
	}
	if subresource != "status" {
		errs = append(errs, invalidReplicas(u, v.scale.Replicas)...)
	}
	errs = append(errs, invalidReplicas(u, v.scale.StatusReplicas)...)
	if path := v.scale.Selector; path != "" {
		if selector, _, err := unstructured.NestedString(u.Object, fieldsOf(path)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(path), selector, err.Error()))
		}
	}
	return errs
}

func invalidReplicas(u *unstructured.Unstructured, path string) field.ErrorList {
	n, _, err := unstructured.NestedInt64(u.Object, fieldsOf(path)...)
	message := ""
	switch {
	case err != nil:
		message = err.Error()
	case n < 0:
		message = "should be a non-negative integer"
	case n > math.MaxInt32:
		message = "should be less than or equal to 2147483647"
	default:
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath(path), n, message)}
}

package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	crvalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The API server validates CustomResourceDefinitions in a package that brings gRPC and 20 MB along. What its other
// packages validate, schemas and rules above all, is validated here in its words, and the rest in those of Flaws.

// InvalidDefinition returns why the API server rejects a CustomResourceDefinition, or the change of an old one.
func InvalidDefinition(u, old *unstructured.Unstructured) field.ErrorList {
	crd, err := definitionOf(u.Object)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec"), nil, err.Error())}
	}
	d := &definitionCheck{crd: crd}
	if old == nil {
		d.name()
	} else {
		was, err := definitionOf(old.Object)
		switch {
		case err != nil: // Its names cannot be compared.
		case equality.Semantic.DeepEqual(crd.Spec, was.Spec):
			return nil // What is stored may stay.
		default:
			d.changed(was)
		}
	}
	d.spec(field.NewPath("spec"))
	d.stored(field.NewPath("status", "storedVersions"))
	d.approval()
	d.keeping()
	for _, f := range flawsOfSchemas(u.Object) {
		if !f.Accepted {
			d.errs = append(d.errs, field.Forbidden(field.NewPath(f.Path), f.Message))
		}
	}
	return d.errs
}

// definitionOf returns a CRD as the API server validates it: what all versions have in common is there once.
func definitionOf(object map[string]any) (*apiextensions.CustomResourceDefinition, error) {
	given, crd := &apiextensionsv1.CustomResourceDefinition{}, &apiextensions.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, given); err != nil {
		return nil, err
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&given.Spec)
	return crd, apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(given, crd,
		nil)
}

// A definitionCheck is a CustomResourceDefinition while it is validated.
type definitionCheck struct {
	crd  *apiextensions.CustomResourceDefinition
	errs field.ErrorList
}

func (d *definitionCheck) invalid(at *field.Path, value any, why string) {
	d.errs = append(d.errs, field.Invalid(at, value, why))
}

func (d *definitionCheck) required(at *field.Path, why string) {
	d.errs = append(d.errs, field.Required(at, why))
}

func (d *definitionCheck) name() {
	if want := d.crd.Spec.Names.Plural + "." + d.crd.Spec.Group; d.crd.Name != want {
		d.invalid(field.NewPath("metadata", "name"), d.crd.Name, `must be spec.names.plural+"."+spec.group`)
	}
}

// label requires a DNS label, if there is a name.
func (d *definitionCheck) label(at *field.Path, name, shown, hint string) {
	if errs := utilvalidation.IsDNS1035Label(name); name != "" && len(errs) > 0 {
		d.invalid(at, shown, hint+strings.Join(errs, ","))
	}
}

// changed rejects the change of a name by which objects are stored.
func (d *definitionCheck) changed(was *apiextensions.CustomResourceDefinition) {
	at, now, before := field.NewPath("spec"), &d.crd.Spec, &was.Spec
	if apiextensions.IsCRDConditionTrue(was, apiextensions.Established) {
		d.errs = append(d.errs, validation.ValidateImmutableField(now.Scope, before.Scope, at.Child("scope"))...)
		d.errs = append(d.errs, validation.ValidateImmutableField(now.Names.Kind, before.Names.Kind,
			at.Child("names", "kind"))...)
	}
	d.errs = append(d.errs, validation.ValidateImmutableField(now.Group, before.Group, at.Child("group"))...)
	d.errs = append(d.errs, validation.ValidateImmutableField(now.Names.Plural, before.Names.Plural,
		at.Child("names", "plural"))...)
}

func (d *definitionCheck) spec(at *field.Path) {
	spec := &d.crd.Spec
	switch errs := utilvalidation.IsDNS1123Subdomain(spec.Group); {
	case spec.Group == "":
		d.required(at.Child("group"), "")
	case len(errs) > 0:
		d.invalid(at.Child("group"), spec.Group, strings.Join(errs, ","))
	case !strings.Contains(spec.Group, "."):
		d.invalid(at.Child("group"), spec.Group, "should be a domain with at least one dot")
	}
	switch scopes := []apiextensions.ResourceScope{apiextensions.ClusterScoped,
		apiextensions.NamespaceScoped}; {
	case spec.Scope == "":
		d.required(at.Child("scope"), "")
	case !slices.Contains(scopes, spec.Scope):
		d.errs = append(d.errs, field.NotSupported(at.Child("scope"), spec.Scope, scopes))
	}
	d.versions(at.Child("versions"))
	d.names(at.Child("names"))
	if of := spec.Validation; of != nil && of.OpenAPIV3Schema != nil {
		d.schema(at.Child("validation"), of)
	}
	d.shown(at, spec.Subresources, spec.AdditionalPrinterColumns)
}

// keeping rejects a CRD that keeps unknown fields in all objects.
func (d *definitionCheck) keeping() {
	if keeps := d.crd.Spec.PreserveUnknownFields; keeps != nil && *keeps {
		d.invalid(field.NewPath("spec", "preserveUnknownFields"), true, "cannot set to true, set "+
			"x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead")
	}
}

// stored validates which versions have been stored.
func (d *definitionCheck) stored(at *field.Path) {
	stored := d.crd.Status.StoredVersions
	if len(stored) == 0 {
		d.invalid(at, stored, "must have at least one stored version")
		return
	}
	missing := slices.Clone(stored)
	for _, v := range d.crd.Spec.Versions {
		if v.Storage && !slices.Contains(missing, v.Name) {
			d.invalid(at, stored, "must have the storage version "+v.Name)
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == v.Name })
	}
	for _, name := range missing {
		d.invalid(at.Index(slices.Index(stored, name)), name, fmt.Sprintf("missing from spec.versions; %[1]s was previously "+
			"a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted "+
			"in %[1]s and removes %[1]s from status.storedVersions", name))
	}
}

// approval requires the annotation of APIs of the Kubernetes project.
func (d *definitionCheck) approval() {
	if !apihelpers.IsProtectedCommunityGroup(d.crd.Spec.Group) {
		return
	}
	state, reason := apihelpers.GetAPIApprovalState(d.crd.Annotations)
	at := field.NewPath("metadata", "annotations").Key(apiextensionsv1.KubeAPIApprovedAnnotation)
	switch state {
	case apihelpers.APIApproved, apihelpers.APIApprovalBypassed:
	case apihelpers.APIApprovalMissing:
		d.required(at, reason)
	default:
		d.invalid(at, d.crd.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation], reason)
	}
}

func (d *definitionCheck) versions(at *field.Path) {
	storing, names := 0, map[string]bool{}
	for i, v := range d.crd.Spec.Versions {
		if v.Storage {
			storing++
		}
		names[v.Name] = true
		if errs := utilvalidation.IsDNS1035Label(v.Name); len(errs) > 0 {
			d.invalid(at.Index(i).Child("name"), v.Name, strings.Join(errs, ","))
		}
		d.shown(at.Index(i), v.Subresources, v.AdditionalPrinterColumns)
		switch {
		case v.Schema != nil && v.Schema.OpenAPIV3Schema != nil:
			d.schema(at.Index(i).Child("schema"), v.Schema)
		case d.crd.Spec.Validation == nil || d.crd.Spec.Validation.OpenAPIV3Schema == nil:
			d.required(at.Index(i).Child("schema", "openAPIV3Schema"), "")
		}
	}
	if len(names) < len(d.crd.Spec.Versions) {
		d.invalid(at, d.crd.Spec.Versions, "must contain unique version names")
	}
	if storing != 1 {
		d.invalid(at, d.crd.Spec.Versions, "must have exactly one version marked as storage version")
	}
	d.label(field.NewPath("spec", "version"), d.crd.Spec.Version, d.crd.Spec.Version, "")
}

func (d *definitionCheck) names(at *field.Path) {
	const mixed = "may have mixed case, but should otherwise match: "
	names := &d.crd.Spec.Names
	all := []struct{ field, value, label, hint string }{
		{"plural", names.Plural, names.Plural, ""}, {"singular", names.Singular, names.Singular, ""},
		{"kind", names.Kind, strings.ToLower(names.Kind), mixed},
		{"listKind", names.ListKind, strings.ToLower(names.ListKind), mixed},
	}
	for _, n := range all {
		if n.value == "" {
			d.required(at.Child(n.field), "")
		}
	}
	for _, n := range all {
		d.label(at.Child(n.field), n.label, n.value, n.hint)
	}
	for i, name := range names.ShortNames {
		d.label(at.Child("shortNames").Index(i), name, name, "")
	}
	if names.Kind != "" && names.Kind == names.ListKind {
		d.invalid(at.Child("listKind"), names.ListKind, "kind and listKind may not be the same")
	}
	for i, name := range names.Categories {
		d.label(at.Child("categories").Index(i), name, name, "")
	}
}

// shown validates what a version shows: the paths of the scale subresource and the columns of kubectl get.
func (d *definitionCheck) shown(at *field.Path, subresources *apiextensions.CustomResourceSubresources,
	columns []apiextensions.CustomResourceColumnDefinition) {
	if subresources != nil && subresources.Scale != nil {
		scale, from := subresources.Scale, at.Child("subresources")
		d.replicas(from.Child("scale.specReplicasPath"), scale.SpecReplicasPath, ".spec")
		d.replicas(from.Child("scale.statusReplicasPath"), scale.StatusReplicasPath, ".status")
		selector := from.Child("scale.labelSelectorPath")
		if path := scale.LabelSelectorPath; path != nil && *path != "" && d.simple(selector, *path) &&
			!strings.HasPrefix(*path, ".spec.") && !strings.HasPrefix(*path, ".status.") {
			d.invalid(selector, path, "should be a json path under either .spec or .status")
		}
	}
	for i, c := range columns {
		from := at.Child("additionalPrinterColumns").Index(i)
		const types = "must be one of boolean,date,integer,number,string"
		if c.Name == "" {
			d.required(from.Child("name"), "")
		}
		switch c.Type {
		case "boolean", "date", "integer", "number", "string":
		case "":
			d.required(from.Child("type"), types)
		default:
			d.invalid(from.Child("type"), c.Type, types)
		}
		if c.JSONPath == "" {
			d.required(from.Child("JSONPath"), "")
		} else {
			d.simple(from.Child("JSONPath"), c.JSONPath)
		}
	}
}

func (d *definitionCheck) replicas(at *field.Path, path, in string) {
	switch {
	case path == "":
		d.required(at, "")
	case d.simple(at, path) && !strings.HasPrefix(path, in+"."):
		d.invalid(at, path, "should be a json path under "+in)
	}
}

// simple requires a path that begins with a dot.
func (d *definitionCheck) simple(at *field.Path, path string) bool {
	if strings.HasPrefix(path, ".") {
		return true
	}
	d.invalid(at, path, "must be a simple json path starting with .")
	return false
}

// schema validates the schema of one version or of all.
func (d *definitionCheck) schema(at *field.Path, of *apiextensions.CustomResourceValidation) {
	before := len(d.errs)
	inside := at.Child("openAPIV3Schema")
	if of.OpenAPIV3Schema.Nullable {
		d.errs = append(d.errs, field.Forbidden(at.Child("openAPIV3Schema.nullable"), "nullable cannot be true at the root"))
	}
	structural, err := structuralschema.NewStructural(of.OpenAPIV3Schema)
	if err != nil {
		return // Flaws tells more.
	}
	d.errs = append(d.errs, structuralschema.ValidateStructural(inside, structural)...)
	if len(d.errs) > before {
		return
	}
	errs, err := defaulting.ValidateDefaults(context.Background(), inside, structural, true, true)
	if d.errs = append(d.errs, errs...); err != nil {
		d.invalid(inside, "", err.Error())
	}
	if len(d.errs) > before {
		return
	}
	rules := ruleCheck{}
	rules.root(inside, structural)
	d.errs = append(d.errs, rules.errs...)
	if _, _, err := crvalidation.NewSchemaValidator(of.OpenAPIV3Schema); err != nil && len(d.errs) == before {
		d.invalid(at, "", fmt.Sprintf("error building validator: %v", err))
	}
}

package sim

import (
	"fmt"
	"net/http"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"reconcel/rules/schema"
)

// patch serves a PATCH. Only an apply creates an object.
func (r *request) patch(kind types.PatchType, body []byte) (*unstructured.Unstructured, error) {
	switch kind {
	case types.ApplyPatchType:
		return r.apply(body)
	case types.MergePatchType, types.JSONPatchType:
	case types.StrategicMergePatchType:
		gvk := r.kind.GVK
		if r.subresource == "scale" {
			gvk = scaleKind
		}
		if typed, err := goTypes().New(gvk); err == nil && !r.kind.Custom {
			return r.merged(body, typed)
		}
		fallthrough
	default:
		return nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", runtimeschema.GroupResource{}, "",
			fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: %s, %s, %s",
				types.JSONPatchType, types.MergePatchType, types.ApplyPatchType), 0, false)
	}
	return r.changeBy(func(now *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return Patched(now, kind, body)
	})
}

// merged serves a strategic merge patch of a built-in kind.
func (r *request) merged(body []byte, typed runtime.Object) (*unstructured.Unstructured, error) {
	patch := map[string]any{}
	if err := utiljson.Unmarshal(body, &patch); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return r.changeBy(func(now *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		next, err := strategicpatch.StrategicMergeMapPatch(now.DeepCopy().Object, patch, typed)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return &unstructured.Unstructured{Object: next}, nil
	})
}

// changeBy changes an object, or its Scale, to what a patch gives.
func (r *request) changeBy(
	patched func(now *unstructured.Unstructured) (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	return r.change(func(fm *fieldManager, now *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		u, err := patched(now)
		switch {
		case err != nil:
		case r.subresource == "scale":
			err = r.sameUID(u, now)
		default:
			u, err = r.decodePatched(now, u)
		}
		if err != nil {
			return nil, err
		}
		return trackUpdate(fm, now, u, r.manager), nil
	})
}

// decodePatched decodes the object that a patch gives.
func (r *request) decodePatched(now, next *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := r.sameKind(next); err != nil {
		return nil, err
	}
	if err := r.newFields(now, next); err != nil {
		return nil, err
	}
	u, err := r.cluster.Kinds().decoded(r.kind, next)
	if err != nil {
		return nil, invalidPatch(err)
	}
	return u, r.placed(u)
}

// newFields rejects a patch that adds unknown fields, if the client asks for that.
func (r *request) newFields(now, next *unstructured.Unstructured) error {
	if !r.strict {
		return nil
	}
	kinds, wrong := r.cluster.Kinds(), []error(nil)
	before := kinds.Unknown(r.kind, now.Object) // of an earlier CRD
	for _, unknown := range kinds.Unknown(r.kind, next.Object) {
		if !slices.ContainsFunc(before, func(f schema.UnknownField) bool { return f.Path == unknown.Path }) {
			wrong = append(wrong, fmt.Errorf("unknown field %q", unknown.Path))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return invalidPatch(runtime.NewStrictDecodingError(wrong))
}

// invalidPatch is the response to a patch that gives an invalid object.
func invalidPatch(err error) error {
	return apierrors.NewInvalid(runtimeschema.GroupKind{}, "",
		field.ErrorList{field.Invalid(field.NewPath("patch"), "", err.Error())})
}

// sameKind rejects a patch that changes the kind.
func (r *request) sameKind(u *unstructured.Unstructured) error {
	gvk := u.GroupVersionKind()
	if gvk == r.kind.GVK {
		return nil
	}
	if !r.kind.Custom {
		return invalidPatch(fmt.Errorf("%s cannot become %s", r.kind.GVK, gvk))
	}
	var errs field.ErrorList
	if gvk.Kind != r.kind.GVK.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), gvk.Kind, "must be "+r.kind.GVK.Kind))
	}
	if gvk.GroupVersion() != r.kind.GVK.GroupVersion() {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), u.GetAPIVersion(),
			"must be "+r.kind.GVK.GroupVersion().String()))
	}
	return apierrors.NewInvalid(r.kind.GVK.GroupKind(), r.name, errs)
}

// Patched returns the result of a JSON or merge patch. It does not change the object.
func Patched(live *unstructured.Unstructured, kind types.PatchType, body []byte) (*unstructured.Unstructured, error) {
	before, err := live.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var after []byte
	if kind == types.MergePatchType {
		after, err = jsonpatch.MergePatch(before, body)
	} else {
		var steps jsonpatch.Patch
		if steps, err = jsonpatch.DecodePatch(body); err == nil {
			if after, err = steps.Apply(before); err != nil {
				return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", runtimeschema.GroupResource{},
					"", err.Error(), 0, false)
			}
		}
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	next := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(after, &next.Object); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return next, nil
}

// apply serves a server-side apply.
func (r *request) apply(body []byte) (*unstructured.Unstructured, error) {
	applied := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON(body)
	if err == nil {
		err = utiljson.Unmarshal(text, &applied.Object)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
	}
	if r.manager == "" {
		return nil, apierrors.NewInvalid(runtimeschema.GroupKind{Group: "meta.k8s.io", Kind: "PatchOptions"}, "",
			field.ErrorList{
				field.Required(field.NewPath("fieldManager"), "is required for apply patch"),
			})
	}
	r.applied = applied
	merge := func(fm *fieldManager, now *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		merged, err := fm.Apply(now.DeepCopy(), applied, r.manager, r.force)
		if err != nil {
			return nil, err
		}
		u := merged.(*unstructured.Unstructured)
		return u, r.placed(u)
	}
	if r.live() != nil || r.subresource == "scale" {
		return r.change(merge)
	}
	fm, err := r.fields()
	if err != nil {
		return nil, err
	}
	u, err := merge(fm, newObject(r.kind.GVK))
	switch {
	case err != nil:
		return nil, err
	case u.GetUID() != "":
		return nil, apierrors.NewConflict(r.groupResource(), r.name,
			fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", u.GetUID()))
	case r.subresource != "":
		return nil, r.notFound()
	}
	u.SetName(r.name)
	return r.insert(u)
}

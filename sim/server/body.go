package server

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"reconcel/rules/schema"
)

// largestBody is that of the API server, 3 MiB.
const largestBody = 3 << 20

// protobuf is the media type of bodies in Protobuf, which typed clients of built-in kinds send.
const protobuf = "application/vnd.kubernetes.protobuf"

// readBody returns the body of a request, and its media type.
func readBody(w http.ResponseWriter, r *http.Request) (body []byte, kind string, err error) {
	if kind, _, err = mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil {
		kind = "application/json"
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, largestBody))
	if err != nil {
		return nil, kind, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", largestBody))
	}
	return body, kind, nil
}

// decodeObject decodes the body of a POST or PUT. strict are its duplicate fields.
func decodeObject(body []byte, kind string,
	of *schema.Kind) (u *unstructured.Unstructured, strict []string, err error) {
	u = &unstructured.Unstructured{Object: map[string]any{}}
	switch kind {
	case protobuf:
		typed, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(body, &of.GVK, nil)
		if err != nil {
			return nil, nil, apierrors.NewBadRequest(err.Error())
		}
		typed.GetObjectKind().SetGroupVersionKind(*gvk) // The cluster rejects another kind than that of the path.
		u.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
		return u, nil, err
	case "application/yaml":
		text, err := yaml.YAMLToJSON(body)
		if err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
		}
		body = text
	case "application/json":
	default:
		return nil, nil, errMediaType("application/json, application/yaml, " + protobuf)
	}
	found, err := kjson.UnmarshalStrict(body, &u.Object, kjson.DisallowDuplicateFields)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v",
			of.GVK.Kind, of.GVK.Version, of.GVK.Kind, err))
	}
	for _, err := range found {
		strict = append(strict, err.Error())
	}
	if u.GetKind() == "" {
		return nil, nil, apierrors.NewBadRequest("Object 'Kind' is missing in '" + strings.TrimSpace(string(body)) + "'")
	}
	return u, strict, nil
}

// decodeDelete decodes the options of a deletion.
func decodeDelete(body []byte, kind string) (options metav1.DeleteOptions, err error) {
	switch {
	case len(body) == 0:
		return options, nil
	case kind == protobuf:
		_, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, &options)
	default:
		if kind == "application/yaml" {
			if body, err = yaml.YAMLToJSON(body); err != nil {
				break
			}
		}
		err = json.Unmarshal(body, &options)
	}
	if err != nil {
		return options, apierrors.NewBadRequest(err.Error())
	}
	return options, nil
}

func errMediaType(accepted string) error {
	return apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", runtimeschema.GroupResource{}, "",
		"the body of the request was in an unknown format - accepted media types include: "+accepted, 0, true)
}

// validateFields applies the fieldValidation of a request: Strict rejects unknown and duplicate fields, and Warn, the
// default, sends warnings.
func (s *Server) validateFields(w http.ResponseWriter, level string, of *schema.Kind, u *unstructured.Unstructured,
	strict []string) error {
	if level == metav1.FieldValidationIgnore {
		return nil
	}
	for _, unknown := range s.Cluster.Kinds().Unknown(of, u.Object) {
		strict = append(strict, fmt.Sprintf("unknown field %q", unknown.Path))
	}
	if len(strict) == 0 {
		return nil
	}
	if level == metav1.FieldValidationStrict {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: strict decoding error: %s",
			of.GVK.Kind, of.GVK.Version, of.GVK.Kind, strings.Join(strict, ", ")))
	}
	for _, text := range strict {
		w.Header().Add("Warning", fmt.Sprintf("299 - %q", text))
	}
	return nil
}

package server

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"reconcel/sim"
)

// A form is how a client wants objects.
type form int

const (
	whole form = iota
	table
	metadataAlone
	unacceptable
)

// An accepted is the form and the format of an answer.
type accepted struct {
	form   form
	asYAML bool
}

// accepts returns the first of the accepted media types that the server has.
func accepts(r *http.Request) accepted {
	header := r.Header.Get("Accept")
	if header == "" {
		return accepted{}
	}
	for part := range strings.SplitSeq(header, ",") {
		kind, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		var a accepted
		switch kind {
		case "application/json", "application/*", "*/*":
		case "application/yaml":
			a.asYAML = true
		default:
			continue
		}
		switch as := parameters["as"]; {
		case as == "":
		case parameters["g"] != metav1.GroupName || parameters["v"] != "v1":
			continue
		case as == "Table":
			a.form = table
		case as == "PartialObjectMetadata", as == "PartialObjectMetadataList":
			a.form = metadataAlone
		default:
			continue
		}
		return a
	}
	return accepted{form: unacceptable}
}

func errNotAcceptable() error {
	return apierrors.NewGenericServerResponse(http.StatusNotAcceptable, "", schema.GroupResource{}, "",
		"only the following media types are accepted: application/json, application/yaml", 0, false)
}

// writeError answers with an error as a Status, or breaks the connection.
func writeError(w http.ResponseWriter, err error) {
	if _, lost := errors.AsType[*sim.ConnectionLostError](err); lost {
		panic(http.ErrAbortHandler)
	}
	status := statusOf(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	writeJSON(w, int(status.Code), status)
}

// statusOf returns an error as a Status. Any error that is none is a 500 without a reason.
func statusOf(err error) metav1.Status {
	var status metav1.Status
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	} else {
		status = metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
	}
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return status
}

// writeHeader begins an answer in JSON.
func writeHeader(w http.ResponseWriter, code int) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache, private")
	w.WriteHeader(code)
}

func writeJSON(w http.ResponseWriter, code int, body any) {
	writeHeader(w, code)
	// An error means that the client is gone.
	_ = json.NewEncoder(w).Encode(body)
}

// write answers with an object in the format that the client accepts.
func (a accepted) write(w http.ResponseWriter, code int, body any) {
	if !a.asYAML {
		writeJSON(w, code, body)
		return
	}
	text, err := yaml.Marshal(body)
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/yaml")
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

// metadataOf returns the metadata of an object as the client of metadata alone gets it.
func metadataOf(u *unstructured.Unstructured) map[string]any {
	return map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
		"metadata": u.Object["metadata"]}
}

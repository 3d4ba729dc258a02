package ruletest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/sim"
)

// A failure is a requested failure of the controller's requests.
type failure struct {
	sim.Failure
	pos    source.Pos
	reason string
	text   string // as in messages
}

func (r *reader) failure(n *source.Node) failure {
	f := failure{pos: n.Pos, Failure: sim.Failure{
		Verb: literalAt(n, "verb"), Namespace: literalAt(n, "namespace"), Name: literalAt(n, "name"),
		Subresource: literalAt(n, "subresource"), Times: 1,
	}}
	if kind := n.At("kind"); kind != nil {
		if of := r.allOfKind(kind.Literal()).of; of != nil {
			f.Kind = of.GVK.GroupKind()
		}
	}
	if times := n.At("times"); times != nil {
		f.Times = sim.Always
		if n, ok := times.Value.(int64); ok {
			f.Times = int(n)
		}
	}
	gone := n.At("lost")
	f.Lost = gone != nil && gone.Value == true
	reason := literalAt(n, "error")
	switch {
	case reason != "":
	case f.Lost:
		reason = "ConnectionLost"
	default:
		reason = "InternalError"
	}
	f.reason, f.Err = reason, failureResponse(reason, cmp.Or(literalAt(n, "message"), "the test makes this request fail"))
	words := []string{f.Verb, f.Namespace, f.Name, literalAt(n, "kind"), f.Subresource, reason}
	f.text = strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
	return f
}

// codes are the HTTP status codes of reasons. ConnectionLost has none.
var codes = map[string]int32{
	"Forbidden": http.StatusForbidden, "NotFound": http.StatusNotFound, "AlreadyExists": http.StatusConflict,
	"Conflict": http.StatusConflict,
	"Invalid":  http.StatusUnprocessableEntity, "TooManyRequests": http.StatusTooManyRequests,
	"InternalError":      http.StatusInternalServerError,
	"ServiceUnavailable": http.StatusServiceUnavailable, "Timeout": http.StatusGatewayTimeout,
}

// failureResponse returns the error of a failing request.
func failureResponse(reason, message string) error {
	if reason == "ConnectionLost" {
		return &sim.ConnectionLostError{Message: message}
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: codes[reason], Reason: metav1.StatusReason(reason), Message: message,
	}}
}

// ParseFailure reads a failure that is written as key=value,key=value, with the keys of fail: in test files. A value
// may have commas, unless what follows looks like a key.
func ParseFailure(text, message string, program *rules.Program, kinds *sim.Kinds) (sim.Failure, error) {
	values := [][2]string{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, found := strings.Cut(part, "=")
		key = strings.TrimSpace(key)
		switch {
		case found:
			values = append(values, [2]string{key, value})
		case len(values) == 0:
			return sim.Failure{}, fmt.Errorf("%q is not key=value, such as verb=create", part)
		default:
			values[len(values)-1][1] += "," + part
		}
	}
	var file strings.Builder
	for _, v := range values {
		quoted, _ := json.Marshal(v[1]) // It is text.
		if v[0] == "times" || v[0] == "lost" {
			quoted = []byte(v[1])
		}
		fmt.Fprintf(&file, "%s: %s\n", v[0], quoted)
	}
	n, err := failShape.ReadFile(source.File{Data: []byte(file.String())})
	if err != nil {
		return sim.Failure{}, withoutPositions(err)
	}
	r := &reader{kinds: newKindNames(Setting{Program: program, Kinds: kinds})}
	f := r.failure(n)
	if len(r.errs) > 0 {
		return sim.Failure{}, errors.New(r.errs[0].Text())
	}
	if literalAt(n, "message") == "" {
		f.Err = failureResponse(f.reason, message)
	}
	return f.Failure, nil
}

// withoutPositions returns the first error of a text that the user has not written as a file.
func withoutPositions(err error) error {
	if all, ok := errors.AsType[source.Errors](err); ok {
		return errors.New(all[0].Text())
	}
	return err
}

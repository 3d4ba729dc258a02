package ruletest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/rules/source"
	"reconcel/sim"
)

// A control is an action on the time, the controller or its requests. It needs a
// cluster in memory.
type control struct {
	pos  source.Pos
	verb string
	run  func(ctx context.Context, p *player, m Memory) error
}

func (a control) do(ctx context.Context, p *player) error {
	m, err := p.memory(a.pos, a.verb)
	if err != nil {
		return err
	}
	if err := a.run(ctx, p, m); err != nil {
		return complaintAt(a.pos, "%s: %v", a.verb, err)
	}
	return nil
}

// control reads the value of advance, fail, restart or rules. It returns nil after a
// complaint.
func (r *reader) control(verb string, n *source.Node) action {
	a := control{pos: n.Pos, verb: verb}
	switch verb {
	case "advance":
		by, _ := time.ParseDuration(n.Literal().Value) // The shape has already checked it.
		a.verb += " " + by.String()
		a.run = func(ctx context.Context, _ *player, m Memory) error { return m.Advance(ctx, by) }
	case "restart":
		if n.Value == false {
			r.complain(n.Pos, "remove it", "restart: false does nothing")
		}
		a.run = func(ctx context.Context, _ *player, m Memory) error { return m.Restart(ctx) }
	case "fail":
		f := r.failure(n)
		a.run = func(_ context.Context, p *player, m Memory) error {
			m.Fail(f.Failure)
			p.failures = append(p.failures, f)
			return nil
		}
	case "rules":
		var paths []string
		for _, path := range literalsIn(n) {
			paths = append(paths, besideFile(r.file, path.Value))
		}
		program, err := r.setting.Load(paths)
		if err != nil {
			r.complain(n.Pos, "", "rules: %v", err)
			return nil
		}
		r.programs = append(r.programs, program)
		a.run = func(ctx context.Context, p *player, m Memory) error {
			p.programs = append(p.programs, program)
			return m.Reload(ctx, program)
		}
	}
	return a
}

// A failure is a requested failure of the controller's requests.
type failure struct {
	sim.Failure
	pos  source.Pos
	text string // as in messages
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
	f.Err = failureResponse(reason, literalAt(n, "message"))
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
	if message == "" {
		message = "the test makes this request fail"
	}
	if reason == "ConnectionLost" {
		return errors.New(message)
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: codes[reason], Reason: metav1.StatusReason(reason), Message: message,
	}}
}

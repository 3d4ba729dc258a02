package rules

import (
	"bytes"
	"fmt"

	"reconcel/rules/expr"
)

// Limits on what the rules may make for one primary. Those of expressions are in
// package expr. Whoever may write a primary must not be able to stop the
// controller with it, so that each limit holds whatever the values are.
const (
	maxChildren    = 500       // objects that one primary may own
	maxObject      = 1 << 20   // bytes of one object: what the API server's storage takes
	maxRendering   = 16 << 20  // bytes of all objects of one primary
	maxAnnotations = 256 << 10 // bytes of annotations: what the API server takes
	maxMessage     = 32768     // characters of a condition's message, likewise
)

var (
	tooLarge            = fmt.Sprintf("the object is larger than %d MiB: split it into several", maxObject>>20)
	tooMuch             = fmt.Sprintf("the objects of one resource are together larger than %d MiB: make fewer or smaller ones", maxRendering>>20)
	tooManyCombinations = fmt.Sprintf("the lists have too many combinations: the expressions of a rule may process %d values, shorten the lists", expr.MaxWork)
)

// limitTo sets how far the buffer may grow for an object that begins at start.
func (r *run) limitTo(start int) { r.limit = min(start+maxObject, maxRendering) }

// tooLarge says which limit the buffer has met.
func (r *run) tooLarge() string {
	if r.limit == maxRendering {
		return tooMuch
	}
	return tooLarge
}

// noteFull remembers that the objects of the primary are as large as they may be
// together. To write the rest only to find that again would take long.
func (r *run) noteFull() { r.full = r.full || r.limit == maxRendering && len(r.buf) > r.limit }

// refuseFull fails an object for which there is no room.
func (r *run) refuseFull(d *Desired) {
	r.settle(d, "template", result{err: &expr.Error{Pos: d.Child.Pos, Message: tooMuch}})
}

// oversize says why the API server would not take an object.
func oversize(body []byte) string {
	if len(body) > maxObject {
		return tooLarge
	}
	if len(body) > maxAnnotations {
		if i := bytes.LastIndex(body, annotationsKey); len(body)-i > maxAnnotations {
			return fmt.Sprintf("the annotations are larger than %d KiB", maxAnnotations>>10)
		}
	}
	return ""
}

var annotationsKey = []byte(`"annotations":{`)

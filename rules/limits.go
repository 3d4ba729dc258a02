package rules

import (
	"bytes"
	"fmt"

	"reconcel/rules/expr"
	"reconcel/rules/syntax"
)

// Limits on the objects that the rules may create for one primary. Package expr has
// the limits of expressions. An author of a primary must not be able to stop the
// controller, so each limit holds for all values.
const (
	maxChildren    = 500                // objects that one primary may own, apart from those of children with maxObjects
	mostChildren   = syntax.MostObjects // objects that one primary may own, with them
	maxObject      = 1 << 20            // bytes of one object: what the API server's storage takes
	maxRendering   = 16 << 20           // bytes of all objects of one primary
	maxAnnotations = 256 << 10          // bytes of annotations: what the API server takes
	maxMessage     = 32768              // characters of a condition's message: what the API server takes
	maxReason      = 1024               // characters of a condition's reason: likewise
	maxConditions  = 100                // conditions of one primary that forEach gives
)

var (
	tooLarge = fmt.Sprintf("the object is larger than %d MiB: split it into several", maxObject>>20)
	tooMuch  = fmt.Sprintf("the objects of one resource are together larger than %d MiB: make fewer or "+
		"smaller ones", maxRendering>>20)
	tooManyConditions  = fmt.Sprintf("more than %d conditions for one resource: shorten the lists", maxConditions)
	tooLargeConditions = fmt.Sprintf("the conditions of one resource are together larger than %d MiB: write shorter "+
		"messages", maxObject>>20)
	wrongReason         = fmt.Sprintf("must be one word of at most %d letters, digits and _", maxReason)
	wrongEvent          = `must be Normal, Warning, or "" for no Event`
	longMessage         = fmt.Sprintf("is longer than %d characters", maxMessage)
	longType            = fmt.Sprintf("is longer than %d characters", syntax.MaxConditionType)
	tooManyCombinations = fmt.Sprintf("the lists have too many combinations: the expressions of a rule may process %d "+
		"values, shorten the lists", expr.MaxWork)
)

// limitTo sets how far the buffer may grow for an object that begins at start.
func (r *writing) limitTo(start int) { r.limit = min(start+maxObject, maxRendering) }

// tooLarge returns the message of the limit that the buffer exceeds.
func (r *writing) tooLarge() string {
	if r.limit == maxRendering {
		return tooMuch
	}
	return tooLarge
}

// noteFull records that the objects of the primary have reached their common limit.
// Rendering the remaining ones would only find the same error, slowly.
func (r *writing) noteFull() { r.full = r.full || r.limit == maxRendering && len(r.buf) > r.limit }

// refuseFull fails an object that exceeds the common limit.
func (r *writing) refuseFull(d *Desired) {
	r.settling.settle(d, "template", failedAt(d.Child.Pos, tooMuch))
}

// whyOversize returns why the API server would reject an object, or "".
func whyOversize(body []byte) string {
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

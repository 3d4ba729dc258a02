package outcome

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The API server's messages end with what a reader needs first: which object, which field, which value, and then why.
// So the cause is repeated in front of them.

// An ExplainedError is an answer of the API server with a cause in words of ours, which may name a remedy.
type ExplainedError struct {
	Cause string
	Err   error
}

func (e *ExplainedError) Error() string { return e.Cause + " (" + e.Err.Error() + ")" }

func (e *ExplainedError) Unwrap() error { return e.Err }

// CauseOf splits an error into its cause and the whole text. The cause is "" if the text begins with it, because its
// words are ours.
func CauseOf(err error) (cause, text string) {
	if explained, ok := errors.AsType[*ExplainedError](err); ok {
		return explained.Cause, explained.Err.Error()
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return causeOfAnswer(status.Status()), err.Error()
	}
	if _, ours := errors.AsType[*TerminalError](err); ours {
		return "", err.Error()
	}
	return lastClause(err.Error()), err.Error()
}

// mostCauses limits how many causes of one answer are repeated.
const mostCauses = 3

// causeOfAnswer returns why the API server rejects a request.
func causeOfAnswer(s metav1.Status) string {
	if s.Reason == metav1.StatusReasonInvalid && s.Details != nil {
		var all []string
		for _, c := range s.Details.Causes {
			cause, _, _ := strings.Cut(causeOfField(c.Message), "\n") // The difference of two objects may follow.
			if cause != "" && !slices.Contains(all, cause) {
				all = append(all, cause)
			}
		}
		if len(all) > 0 {
			slices.Sort(all) // Their order is random.
			return strings.Join(all[:min(len(all), mostCauses)], "; ")
		}
	}
	if at := denial.FindStringIndex(s.Message); at != nil {
		return s.Message[at[1]:]
	}
	return lastClause(s.Message)
}

// denial matches what precedes the reason of a denial, which may be a list with colons, such as an exceeded quota.
var denial = regexp.MustCompile(`^.*? denied (?:the )?request: |^.*? is forbidden: `)

// The messages about a field, as k8s.io/apimachinery/pkg/util/validation/field formats them: a type, for some types a
// value, and why.
var (
	withValue    = regexp.MustCompile(`^(?:Invalid value|Unsupported value|Too many): `)
	withoutValue = regexp.MustCompile(`^(?:Required value|Forbidden|Too long|Internal error): `)
)

// causeOfField returns why the API server rejects a field.
func causeOfField(message string) string {
	if head := withoutValue.FindString(message); head != "" {
		return message[len(head):]
	}
	head := withValue.FindString(message)
	if head == "" {
		return message
	}
	value := message[len(head):]
	if ends := clauses(value); len(ends) > 0 {
		return value[ends[0]:]
	}
	return message
}

// lastClause returns what follows the last colon of a message.
func lastClause(message string) string {
	if starts := clauses(message); len(starts) > 0 {
		return message[starts[len(starts)-1]:]
	}
	return message
}

// clauses returns where the clauses behind colons begin. Colons in quotes and brackets belong to a value.
func clauses(s string) (starts []int) {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case depth == 0 && strings.HasPrefix(s[i:], ": ") && i+2 < len(s):
			starts = append(starts, i+2)
		}
	}
	return starts
}

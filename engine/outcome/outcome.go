package outcome

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"reconcel/engine/events"
	"reconcel/rules"
)

// An Outcome is the result for one child, one rule or one primary. The zero
// value means ready.
type Outcome struct {
	State  State
	Reason string
	At     Position
	Cause  string // comes before the position; "": the text begins with it
	Text   string
	named  bool // the text already names the position

	Retry  time.Duration // until the next reconciliation; 0: when something changes
	Err    error         // the first error that is retried with backoff, see firstError
	Failed bool          // an object could not be written
	Kept   []KeptObject
}

// After requests the next reconciliation after at most d; 0 requests none.
func (o Outcome) After(d time.Duration) Outcome {
	if d > 0 && (o.Retry == 0 || d < o.Retry) {
		o.Retry = d
	}
	return o
}

// Quietly returns an outcome that keeps the retry but reports nothing.
func (o Outcome) Quietly() Outcome {
	return Outcome{Retry: o.Retry, Err: o.Err, Kept: o.Kept}
}

// Result returns what the queue has to know of an outcome.
func (o Outcome) Result() (Result, error) { return Result{RequeueAfter: o.Retry}, o.Err }

// A Position is the place in the rules that an outcome concerns.
type Position struct {
	Rule    string         // "": the text names it
	Subject string         // the child, such as child "web"[2], or "patch"; "": the rule as a whole
	Step    string         // tells apart what else can fail there; the text names it
	Body    [16]byte       // hash of what is written, if it is no rendered object
	object  *rules.Desired // formatted only on demand, because most outcomes are never printed
}

// PositionOf returns the position of a rendered object.
func PositionOf(rule *rules.Rule, d *rules.Desired) Position {
	return Position{Rule: rule.Name, object: d}
}

func (at Position) about() string {
	if at.object != nil {
		return at.object.Subject() + at.Subject
	}
	return at.Subject
}

func (at Position) prefix() string {
	switch {
	case at.Rule == "":
		return ""
	case at.about() == "":
		return fmt.Sprintf("rule %q: ", at.Rule)
	}
	return fmt.Sprintf("rule %q, %s: ", at.Rule, at.about())
}

// String returns the position, as in a message.
func (at Position) String() string { return at.prefix() }

// Key returns what failures at the position have in common.
func (at Position) Key() string { return at.prefix() + at.Step }

// Hash returns the hash of what is written at the position; zero: it is not known.
func (at Position) Hash() [16]byte {
	if at.object != nil {
		return at.object.Hash
	}
	return at.Body
}

// ID returns the subject as in the log: web[2], or patch.
func (at Position) ID() string {
	return strings.NewReplacer("child ", "", `"`, "").Replace(at.about())
}

// Says returns an outcome at the position.
func (at Position) Says(s State, reason, format string, args ...any) Outcome {
	return Outcome{State: s, Reason: reason, At: at, Text: fmt.Sprintf(format, args...)}
}

// Wrap adds the position to an error.
func (at Position) Wrap(err error) error { return &PlacedError{at, at.prefix(), err} }

// A PlacedError is an error with the position in the rules that it concerns. It may be
// printed after the reconciliation, when the rendering that the position points to
// serves another one.
type PlacedError struct {
	At     Position
	prefix string
	Err    error
}

func (e *PlacedError) Error() string { return e.prefix + e.Err.Error() }

func (e *PlacedError) Unwrap() error { return e.Err }

// A State orders outcomes from good to bad.
type State int

// The states of an outcome.
const (
	Ready       State = iota
	Progressing       // applied, not ready yet
	Waiting           // for something that does not exist yet
	Retrying          // after an error that may be temporary
	Stalled           // until the object, the rules or the cluster change
	Paused            // by an annotation

	States // the number of states
)

// String returns the state as in the metrics.
func (s State) String() string {
	return [States]string{"ready", "progressing", "waiting", "retrying", "stalled", "paused"}[s]
}

// Moving reports whether a state is expected to change by itself.
func (s State) Moving() bool { return s == Progressing || s == Waiting || s == Retrying }

// Worse merges two outcomes. The message is that of the worse outcome, or of
// the first if both are equally bad. It has all names that are taken.
func Worse(a, b Outcome) Outcome {
	if b.addsNothing() {
		return a // The usual case, for which outcomes are large.
	}
	worst := a
	switch {
	case b.State > a.State:
		worst = b
	case b.State == a.State && a.Reason == ReasonResourceExists && b.Reason == ReasonResourceExists:
		worst = a.joinedWith(b)
	}
	return worst.standingFor(a, b)
}

// addsNothing reports whether an outcome is ready, without anything that a merged outcome keeps.
func (o *Outcome) addsNothing() bool {
	return o.State == Ready && o.Err == nil && !o.Failed && o.Kept == nil && o.Retry == 0
}

// WorseOfBoth is like worse, but joins the messages of two stalled outcomes.
func WorseOfBoth(a, b Outcome) Outcome {
	if a.State != Stalled || b.State != Stalled {
		return Worse(a, b)
	}
	both := a.joinedWith(b)
	both.At = Position{}
	return both.standingFor(a, b)
}

// joinedWith returns an outcome whose message has that of another one, too.
func (o Outcome) joinedWith(other Outcome) Outcome {
	o.Text, o.Cause, o.named = Truncate(o.Message()+"; "+other.Message(), MostFailure), "", true
	return o
}

// standingFor returns an outcome that stands for two others.
func (o Outcome) standingFor(a, b Outcome) Outcome {
	o.Err, o.Failed, o.Kept = firstError(a.Err, b.Err), a.Failed || b.Failed, append(a.Kept, b.Kept...)
	return o.After(a.Retry).After(b.Retry)
}

// Failed returns the outcome of a failed rendering.
func (at Position) Failed(f *rules.Failure) Outcome {
	return Outcome{State: Stalled, Reason: string(f.Reason), At: at, Text: Truncate(f.Message, MostFailure), named: true}
}

// A Result says when to reconcile a request again.
type Result struct {
	RequeueAfter time.Duration // 0: only when something changes
}

// A KeptObject is an object that no rule renders and that is not deleted.
type KeptObject struct {
	Rule, Child string
	ID          rules.Identity
	Why         string
	Orphan      bool // kept permanently, by onDelete: orphan
}

// An Action is what reconcel does to an object, in kubectl's words.
type Action string

// The actions.
const (
	Unchanged  Action = "unchanged"
	Created    Action = "created"
	Configured Action = "configured"
	Replaced   Action = "replaced" // deleted, then created again
	Deleted    Action = "deleted"
	Adopted    Action = "adopted"
	Extended   Action = "extended" // an object of others got the fields of the template
	Shared     Action = "shared"   // the primary became one of its owners, or says that it renders it differently
	Left       Action = "left"     // the primary is no longer one of its owners
	Skipped    Action = "skipped"  // waiting for something

	// The API server rejects the write, or another owner holds the name.
	Rejected Action = "rejected"
	// The rule fails for the primary, which becomes Stalled.
	Failed Action = "failed"
)

// TakesForeign reports whether the action is the first one on an object that reconcel has not created.
func (a Action) TakesForeign() bool { return a == Adopted || a == Extended }

// IsDifference reports whether the action changes the object.
func (a Action) IsDifference() bool {
	return a != Skipped && a != Unchanged && !a.IsTrouble()
}

// IsTrouble reports whether the action is a failure.
func (a Action) IsTrouble() bool { return a == Rejected || a == Failed }

// MostFailure limits a message of many failed fields, in bytes. It is below the
// API server's limit for a condition's message and leaves room for a prefix.
const MostFailure = 30_000

// Truncate shortens a text to so many bytes and an ellipsis. It cuts no character in two.
func Truncate(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// JoinFirst joins the first items and counts the others.
func JoinFirst[T any](items []T) string {
	const most = 5
	var texts []string
	for _, item := range items[:min(len(items), most)] {
		texts = append(texts, fmt.Sprint(item))
	}
	if len(items) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(texts, ", "), len(items)-most)
	}
	return strings.Join(texts, ", ")
}

// MostMessage limits the message of a condition, an Event and a log line, in bytes. It is the API
// server's limit for Events.
const MostMessage = events.LongestNote

// leastText is how much of a text has to have room behind its cause. It would say nothing else.
const leastText = 100

// Message returns the message of a condition or an Event. It begins with the cause, and has all of it.
func (o Outcome) Message() string {
	if o.named {
		return Shorten(o.Text, MostMessage)
	}
	return o.placedAt(o.At.prefix())
}

// Logged returns the message of a log line, which has the rule and the child apart.
func (o Outcome) Logged() string { return o.placedAt("") }

func (o Outcome) placedAt(position string) string {
	cause, text := Shorten(o.Cause, MostMessage), position+o.Text
	if cause != "" && o.Text == o.Cause {
		text = strings.TrimSuffix(position, ": ")
	}
	switch rest := MostMessage - len(cause) - len(" ()"); {
	case cause == "":
		return Shorten(text, MostMessage)
	case text == "" || rest < min(leastText, len(text)):
		return cause
	default:
		return cause + " (" + Shorten(text, rest) + ")"
	}
}

// Shorten puts a message into one line, and cuts out its middle if it is too long. The API server quotes values there,
// and the cause comes behind them.
func Shorten(s string, most int) string {
	s = strings.TrimSpace(lineBreaks.ReplaceAllString(s, " "))
	if len(s) <= most {
		return s
	}
	const gap = " … "
	tail := (most - len(gap)) / 2
	head := most - len(gap) - tail
	return strings.ToValidUTF8(s[:head], "") + gap + strings.ToValidUTF8(s[len(s)-tail:], "")
}

var lineBreaks = regexp.MustCompile(`\s*[\r\n]\s*|\t`)

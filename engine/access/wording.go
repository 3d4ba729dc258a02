package access

import (
	"slices"
	"time"

	"reconcel/engine/answer"
)

// Wordings are what failed requests said, by what failed. The same failure is reported
// with the same text, although its message has another port or request id each time. Each
// other text would be an Event, a log line and a write of the status, which enqueues the
// primary.
type Wordings map[string]*wording

// A wording is what failed requests said about one thing.
type wording struct {
	of       attempted
	said     []*saying
	reported *saying
}

// An attempted is what a request was to bring about. Messages quote its values.
type attempted struct {
	generation int64    // of the primary
	hash       [16]byte // of the body; zero: not known
}

// A saying is the first of the messages with one shape.
type saying struct {
	shape, cause, text string
	seen, logged       time.Time
}

// sayingMemory is how long a message is known that is not repeated, or not logged again.
const sayingMemory = 10 * time.Minute

// alternation is the patience for failures that may alternate, for example those of two servers behind one address.
const alternation = 2 * time.Minute

// note returns the saying of a message, and whether it is new.
func (w *wording) note(message string, now time.Time) (s *saying, news bool) {
	w.said = slices.DeleteFunc(w.said, func(s *saying) bool { return now.Sub(s.seen) > sayingMemory })
	shape := answer.Shape(message)
	i := slices.IndexFunc(w.said, func(s *saying) bool { return s.shape == shape })
	if news = i < 0; news {
		i = len(w.said)
		w.said = append(w.said, &saying{shape: shape, text: message})
	}
	w.said[i].seen = now
	return w.said[i], news
}

func (ws *Wordings) of(about string) *wording {
	w := (*ws)[about]
	if w == nil {
		w = &wording{}
		if *ws == nil {
			*ws = Wordings{}
		}
		(*ws)[about] = w
	}
	return w
}

// Renew forgets what was said when something else was attempted, because its messages have other values.
func (ws *Wordings) Renew(about string, of attempted) {
	if w := ws.of(about); w.of != of {
		*w = wording{of: of}
	}
}

// Report returns which cause and message to report for a failure. A known message takes the
// place of another one only when that one has not been seen for as long as patience.
func (ws *Wordings) Report(about, cause, message string, now time.Time,
	patience time.Duration) (asCause, asMessage string) {
	w := ws.of(about)
	s, news := w.note(message, now)
	if news {
		s.cause = cause
	}
	if news || w.reported == nil || now.Sub(w.reported.seen) >= patience {
		w.reported = s
	}
	return w.reported.cause, w.reported.text
}

// IsLogged reports whether a failure is logged: when it is new, and then from time to time.
func (ws *Wordings) IsLogged(about, message string, now time.Time) bool {
	s, _ := ws.of(about).note(message, now)
	if !s.logged.IsZero() && now.Sub(s.logged) < sayingMemory {
		return false
	}
	s.logged = now
	return true
}

package engine

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

func TestFinishedPodsDelayNewOnes(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	p := passFor(access.Subject{Shared: &access.Shared{Clock: testclock.NewFakeClock(now)}})
	ended := func(ago time.Duration) rules.Live {
		at := now.Add(-ago).Format(time.RFC3339)
		return rules.Live{Object: decode(t, []byte(`{"kind":"Pod","status":{"containerStatuses":[{"state":{"terminated":{"finishedAt":"`+at+`"}}}]}}`)).Object}
	}
	for _, c := range []struct {
		name string
		ago  []time.Duration
		want time.Duration
		why  string
	}{
		{"none", nil, 0, ""},
		{"one", []time.Duration{0}, 0, ""},
		{"two", []time.Duration{time.Second, time.Minute}, 9 * time.Second, "waits 10 s: 2 Pods finished recently"},
		{"three", []time.Duration{time.Minute, 5 * time.Second, time.Minute}, 15 * time.Second, "waits 20 s: 3 Pods finished recently"},
		{"three, long enough ago", []time.Duration{time.Minute, 30 * time.Second, time.Minute}, 0, ""},
		{"some of another time", []time.Duration{0, 11 * time.Minute, time.Hour}, 0, ""},
		{"more than are kept", []time.Duration{0, 0, 0, 0, 0, 0, 0}, 80 * time.Second, "waits 80 s: 5 Pods finished recently"},
	} {
		t.Run(c.name, func(t *testing.T) {
			child := &rules.ChildResult{}
			for _, ago := range c.ago {
				child.Finished = append(child.Finished, ended(ago))
			}
			if rest, why := p.Children.BackOff(child); rest != c.want || why != c.why {
				t.Errorf("%s, %q", rest, why)
			}
		})
	}
}

func TestWhenAPodHasFinished(t *testing.T) {
	for _, c := range []struct{ name, pod, want string }{
		{"its last container", `{"metadata":{"creationTimestamp":"2030-01-01T01:00:00Z"},"status":{"containerStatuses":[
			{"state":{"terminated":{"finishedAt":"2030-01-01T03:00:00Z"}}},{"state":{"terminated":{"finishedAt":"2030-01-01T04:00:00Z"}}}]}}`, "04:00"},
		{"its condition", `{"metadata":{"creationTimestamp":"2030-01-01T01:00:00Z"},"status":{"conditions":[{"type":"Ready","lastTransitionTime":"2030-01-01T02:00:00Z"}]}}`, "02:00"},
		{"its creation", `{"metadata":{"creationTimestamp":"2030-01-01T01:00:00Z"},"status":{"phase":"Failed"}}`, "01:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := decide.FinishedAt(decode(t, []byte(c.pod)).Object).Format("15:04"); got != c.want {
				t.Errorf("it is %s", got)
			}
		})
	}
}

func TestWhatAFailureStops(t *testing.T) {
	gr := schema.GroupResource{Resource: "configmaps"}
	here, there := &rules.Desired{Child: &rules.Child{}}, &rules.Desired{Child: &rules.Child{}}
	here.Identity.Namespace, there.Identity.Namespace = "here", "there"
	refusedWith := func(err error) error { return fmt.Errorf("create: %w", outcome.ClassifyAnswer(err)) }
	for _, c := range []struct {
		name        string
		became      decide.Step
		err         error
		here, there bool // whether the engine stops creating here, and elsewhere
	}{
		{"success", decide.Step{Action: outcome.Created}, nil, false, false},
		{"a held name", decide.Step{}, &outcome.ConflictError{}, false, false},
		{"a conflict loop", decide.Step{}, &decide.ConflictLoopError{}, false, false},
		{"a dispute with other owners", decide.Step{}, &decide.SharingError{}, false, false},
		{"a namespace that does not exist", decide.Step{}, refusedWith(apierrors.NewNotFound(gr, "here")), true, false},
		{"one that is refused", decide.Step{}, refusedWith(apierrors.NewInvalid(schema.GroupKind{}, "a", nil)), false, false},
		{"a quota or permission", decide.Step{}, refusedWith(apierrors.NewForbidden(gr, "a", errors.New("exceeded"))), true, false},
		{"a namespace that ends", decide.SkipFor(decide.ForNamespace), nil, true, false},
		{"an API server that is busy", decide.Step{}, apierrors.NewTooManyRequests("busy", 1), true, true},
		{"a cut connection", decide.Step{}, fmt.Errorf("EOF: %w", http.ErrServerClosed), true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b decide.Brake
			b.Note(here, c.became, c.err)
			if b.Stops(here) != c.here || b.Stops(there) != c.there {
				t.Errorf("it stops %v here and %v elsewhere", b.Stops(here), b.Stops(there))
			}
		})
	}
}

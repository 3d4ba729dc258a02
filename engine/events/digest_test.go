package events

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// newDigest returns a started Digest, and the API server that gets its Events.
func newDigest(t *testing.T) (*Digest, *bulletin) {
	t.Helper()
	l := newBulletin(t)
	d := NewDigest(l.Broadcaster)
	d.Start(t.Context())
	return d, l
}

func about(name string) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: name}
}

// notes returns the notes of the Events that were sent, sorted.
func (l *bulletin) notes() []string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(slices.Values(l.told))
}

func (l *bulletin) says(t *testing.T, want ...string) {
	t.Helper()
	if got := l.notes(); !slices.Equal(got, want) {
		t.Errorf("Events %q, want %q", got, want)
	}
}

// TestChangesOfAnObjectAreOneEvent records changes of two objects: those of one object and
// reason become one Event, unless they are more than a second apart.
func TestChangesOfAnObjectAreOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := newDigest(t)
		defer d.Stop()
		changed := func(name, reason, note, version string) {
			object := about(name)
			object.ResourceVersion = version
			time.Sleep(time.Microsecond) // The name of an Event has its time.
			d.Record(object, corev1.EventTypeNormal, reason, "Test", note)
		}
		changed("a", "Pruned", "deleted one", "1")
		changed("a", "Pruned", "deleted two", "2")
		changed("a", "Pruned", "deleted one", "2")
		changed("a", "Replaced", "replaced three", "2")
		changed("b", "Pruned", "deleted four", "3")
		l.says(t)
		time.Sleep(2 * gathering)
		l.says(t, "deleted four", "deleted one; deleted two", "replaced three")
		changed("a", "Pruned", "deleted five", "4")
		time.Sleep(2 * gathering)
		l.says(t, "deleted five", "deleted four", "deleted one; deleted two", "replaced three")
	})
}

// TestWarningsDoNotWait records a Warning behind many Normal Events.
func TestWarningsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := newDigest(t)
		defer d.Stop()
		for i := range mostUnsent {
			d.Record(about(fmt.Sprint(i)), corev1.EventTypeNormal, "Tested", "Test", "normal")
		}
		d.Record(about("bad"), corev1.EventTypeWarning, "Tested", "Test", "warning")
		l.says(t, "warning")
	})
}

// TestNormalEventsAreSentAtAPace records many at once.
func TestNormalEventsAreSentAtAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := newDigest(t)
		defer d.Stop()
		for i := range 500 {
			d.Record(about(fmt.Sprint(i)), corev1.EventTypeNormal, "Tested", "Test", "normal")
		}
		time.Sleep(gathering + 10*time.Second)
		if n := len(l.notes()); n < 240 || n > 251 {
			t.Errorf("%d Events within 10 seconds, want 250", n)
		}
		time.Sleep(11 * time.Second)
		if n := len(l.notes()); n != 500 {
			t.Errorf("%d Events at the end, want 500", n)
		}
	})
}

// TestDigestIsBounded records more Events, and longer ones, than fit.
func TestDigestIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := newDigest(t)
		for i := range 100 {
			d.Record(about("a"), corev1.EventTypeNormal, "Tested", "Test", fmt.Sprintf("%02d%s", i, strings.Repeat("x", 98)))
		}
		synctest.Wait() // It is taken from the queue, and still waits.
		for i := range mostUnsent + 7 {
			d.Record(about(fmt.Sprint(i)), corev1.EventTypeNormal, "Tested", "Test", "normal")
		}
		if n := l.losses(t); n != 7 {
			t.Errorf("%v were lost, want 7", n)
		}
		time.Sleep(gathering)
		first := l.notes()
		if len(first) != 1 || len(first[0]) > LongestNote || !strings.HasPrefix(first[0], "00x") || !strings.HasSuffix(first[0], "; and 91 more") {
			t.Errorf("Events %q", first)
		}
		d.Stop()
	})
}

// TestDigestIsSentAtTheEnd stops while Events wait.
func TestDigestIsSentAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := newDigest(t)
		for i := range 10 {
			time.Sleep(time.Microsecond)
			d.Record(about("a"), corev1.EventTypeNormal, "Tested", fmt.Sprint(i), "at the end")
		}
		d.Stop()
		if n := len(l.notes()); n != 10 {
			t.Errorf("%d Events, want 10", n)
		}
		d.Record(about("b"), corev1.EventTypeNormal, "Tested", "Test", "too late")
		if n := len(l.notes()); n != 10 {
			t.Errorf("%d Events after the end", n)
		}
	})
}

// TestWaitingEventHasItsTime checks that an Event says when it happened, not when it was sent.
func TestWaitingEventHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, l := newDigest(t)
		defer d.Stop()
		l.answers(func() error { return errors.New("not yet") })
		began := time.Now()
		d.Record(about("a"), corev1.EventTypeNormal, "Tested", "Test", "normal")
		time.Sleep(2 * gathering)
		l.answers(nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.times) != 1 || !l.times[0].Equal(began) {
			t.Errorf("times %v, want %v", l.times, began)
		}
	})
}

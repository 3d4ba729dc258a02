package events

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// gathering is how long a Normal Event waits for others about the same object.
	gathering = time.Second
	// pace is the time between two Normal Events. Sending one takes about a hundredth of
	// it.
	pace = 40 * time.Millisecond
	// LongestNote is the API server's limit for the note of an Event, in bytes.
	LongestNote = 1024
	// LongestReason is the API server's limit for the reason of an Event, in bytes.
	LongestReason = 128
)

// A Digest combines Normal Events: what happens to an object within a second, for the same
// reason, becomes one Event. It sends 25 Normal Events a second, after the work that they
// report, so that they do not slow it down. It does not hold back Warnings.
type Digest struct {
	*Broadcaster

	waiting chan *news // in the order of arrival
	stop    func()     // stops sending, and waits for the end

	mu   sync.Mutex
	open map[topic]*news // Events that still take notes; nil after Stop
}

// A topic has one Event at a time.
type topic struct {
	about          corev1.ObjectReference // without its resourceVersion
	reason, action string
}

// news is one Event that waits.
type news struct {
	topic
	version string    // resourceVersion of the object
	at      time.Time // by the clock of the cluster
	since   time.Time // by that of the machine
	notes   []string  // each one once
	size    int       // of the notes, in bytes
	more    int       // number of notes that do not fit
}

// NewDigest returns a Digest that sends through a Broadcaster from Start until Stop.
func NewDigest(b *Broadcaster) *Digest {
	return &Digest{Broadcaster: b, waiting: make(chan *news, mostUnsent), open: map[topic]*news{}}
}

// Start begins to write. It outlasts ctx, until Stop: the last reconciliations
// record Events too.
func (d *Digest) Start(ctx context.Context) {
	d.Broadcaster.Start(ctx)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var publishing sync.WaitGroup
	publishing.Go(func() { d.run(ctx) })
	d.stop = func() {
		cancel()
		publishing.Wait()
	}
}

// Stop sends what was recorded before, for at most a second, and nothing more.
func (d *Digest) Stop() {
	d.stop()
	d.mu.Lock()
	d.open = nil
	d.mu.Unlock()
	close(d.waiting)
	for n := range d.waiting {
		d.publish(n)
	}
	d.Broadcaster.Stop()
}

// Record records an Event about an object. The note has at most LongestNote bytes.
func (d *Digest) Record(about corev1.ObjectReference, eventType, reason, action, note string) {
	if eventType != corev1.EventTypeNormal {
		d.Broadcaster.Record(about, eventType, reason, action, note)
		return
	}
	n := &news{topic: topic{about, reason, action}, version: about.ResourceVersion, at: d.clock.Now(),
		since: time.Now()}
	n.about.ResourceVersion = ""
	d.mu.Lock()
	defer d.mu.Unlock()
	if earlier := d.open[n.topic]; earlier != nil {
		earlier.add(note)
		return
	}
	if d.open == nil {
		return // After Stop.
	}
	n.add(note)
	select {
	case d.waiting <- n:
		d.open[n.topic] = n
	default:
		d.discard(about, eventType, reason, action, note)
	}
}

// run publishes what waits until ctx ends.
func (d *Digest) run(ctx context.Context) {
	for {
		select {
		case n := <-d.waiting:
			pause(ctx, gathering-time.Since(n.since))
			d.publish(n)
			pause(ctx, pace)
		case <-ctx.Done():
			return
		}
	}
}

// pause waits for a duration, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// publish hands an Event to the Broadcaster.
func (d *Digest) publish(n *news) {
	d.mu.Lock()
	delete(d.open, n.topic)
	d.mu.Unlock()
	about := n.about
	about.ResourceVersion = n.version
	d.record(about, corev1.EventTypeNormal, n.reason, n.action, n.text(), n.at)
}

// add adds a note that is not there yet, if there is room for it.
func (n *news) add(note string) {
	const reserved = len("; ; and 1000000 more")
	switch {
	case slices.Contains(n.notes, note):
	case len(n.notes) > 0 && n.size+len(note)+reserved > LongestNote:
		n.more++
	default:
		n.notes = append(n.notes, note)
		n.size += len("; ") + len(note)
	}
}

func (n *news) text() string {
	text := strings.Join(n.notes, "; ")
	if n.more > 0 {
		text += fmt.Sprintf("; and %d more", n.more)
	}
	return text
}

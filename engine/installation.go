package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"

	"reconcel/engine/answer"
	"reconcel/engine/leader"
	"reconcel/engine/watch"
)

// ofOtherInstallation reports whether the object belongs to another installation that has not
// been taken over. Such objects are never deleted.
func (e *Engine) ofOtherInstallation(o *watch.Object, takenOver []string) bool {
	mark := o.Installation()
	return mark != "" && mark != e.installation && !slices.Contains(takenOver, mark)
}

// A leaseState is the state of an installation's Lease.
type leaseState int

const (
	leaseHeld    leaseState = iota // a process of the installation runs
	leaseOver                      // none runs, according to the Lease
	leaseUnknown                   // the Lease cannot be read
)

// A tenure is the state of another installation.
type tenure struct {
	state  leaseState
	holder string
	// says completes a message about the installation.
	says string
}

// tenureOf reads the Lease of an installation, given as namespace/name.
func (e *Engine) tenureOf(ctx context.Context, installation string) tenure {
	namespace, name, ok := strings.Cut(installation, "/")
	if !ok {
		return tenure{state: leaseUnknown, says: "(which is not namespace/name)"}
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	lease, err := e.client.Resource(leader.Resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case answer.IsAbsent(err):
		return tenure{state: leaseOver, says: "which has no Lease"}
	case err != nil:
		return tenure{state: leaseUnknown, says: fmt.Sprintf("whose Lease cannot be read (%v)", err)}
	}
	return tenureIn(lease, e.clock.Now())
}

func tenureIn(lease *unstructured.Unstructured, now time.Time) tenure {
	r := leader.RecordOf(lease)
	if r.Holder == "" || r.Renewed.IsZero() {
		return tenure{state: leaseOver, says: "which has stopped"}
	}
	if !now.Before(r.Expires) {
		return tenure{state: leaseOver, holder: r.Holder, says: fmt.Sprintf("whose Lease expired %s ago", duration.HumanDuration(now.Sub(r.Expires)))}
	}
	return tenure{state: leaseHeld, holder: r.Holder, says: fmt.Sprintf("whose Lease is held by %s, renewed %s ago", r.Holder, duration.HumanDuration(max(0, now.Sub(r.Renewed))))}
}

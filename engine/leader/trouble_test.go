package leader

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestDeniedLease has the Lease denied at the start, which is told at once, and
// after it could be written, which is told when it lasts.
func TestDeniedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		trouble := &leaseTrouble{log: slog.New(slog.NewTextHandler(&log, nil))}
		denied := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "reconcel", nil)
		told := func() int { return strings.Count(log.String(), "cannot acquire the Lease") }
		try := func(what leaseRequest, err error, want int) {
			t.Helper()
			time.Sleep(retryPeriod)
			if trouble.note(what, err); told() != want {
				t.Errorf("it was told %d times, expected %d", told(), want)
			}
		}
		try(writing, denied, 1)
		try(writing, denied, 1)
		try(writing, nil, 1)
		for range leasePatience / retryPeriod {
			try(reading, denied, 1) // An API server that has just restarted.
		}
		try(writing, nil, 1)
		for range leasePatience / retryPeriod {
			try(writing, denied, 1)
		}
		try(writing, denied, 2)
	})
}

package status

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/output"
	"reconcel/engine/inventory"
	"reconcel/engine/leader"
)

// installations returns the requested installation, or all. On an error, some may
// be missing.
func (r *Reader) installations(ctx context.Context) ([]inventory.Stored, error) {
	wanted := r.Installation
	all, err := r.cluster.Installations(ctx, cluster.InstallationQuery{Namespace: wanted.Namespace, Name: wanted.Name,
		Home: r.ContextNamespace, Flags: "--installation NAMESPACE/NAME"})
	if len(all) == 0 && wanted != (types.NamespacedName{}) {
		all = []inventory.Stored{{Namespace: wanted.Namespace, Installation: wanted.Name}} // It may have a Lease.
	}
	return all, err
}

// States of the leader.
const (
	leading    = "leading"
	expired    = "expired"  // the Lease was not renewed in time
	released   = "released" // the holder has stopped, and no process has acquired the Lease
	absent     = "absent"   // there is no Lease
	unreadable = "unreadable"
)

// A Leader is the leader of an installation. Its JSON is documented.
type Leader struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	State     string       `json:"state"`
	Holder    string       `json:"holder,omitempty"`
	Renewed   *metav1.Time `json:"renewed,omitempty"`
	Message   string       `json:"message"`
}

// leader reads the Lease of an installation.
func (r *Reader) leader(ctx context.Context, namespace, name string) Leader {
	l := Leader{Namespace: namespace, Name: name}
	lease, err := cluster.Get(ctx, r.cluster.Client.Resource(leader.Resource).Namespace(namespace), name)
	switch {
	case err != nil:
		l.State, l.Message = unreadable, "the Lease cannot be read: "+err.Error()
		return l
	case lease == nil:
		l.State, l.Message = absent, "there is no Lease: no process has led yet, or reconcel runs without --leader-elect"
		return l
	}
	record := leader.RecordOf(lease)
	l.Holder = record.Holder
	ago := "at an unknown time"
	if !record.Renewed.IsZero() {
		l.Renewed = &metav1.Time{Time: record.Renewed}
		ago = output.Age(l.Renewed, r.now) + " ago"
	}
	switch {
	case l.Holder == "":
		l.State, l.Message = released, "no process leads: the last leader released the Lease "+ago
	case r.now.After(record.Expires):
		l.State, l.Message = expired, fmt.Sprintf("no process leads: %s last renewed the Lease %s", l.Holder, ago)
	default:
		l.State, l.Message = leading, fmt.Sprintf("%s leads, renewed %s", l.Holder, ago)
	}
	return l
}

package status

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	if wanted := r.Installation; wanted != (types.NamespacedName{}) {
		stored, err := r.readInventory(ctx, wanted)
		return []inventory.Stored{stored}, err
	}
	all, err := r.cluster.Inventories(ctx)
	if !apierrors.IsForbidden(err) {
		return all, err
	}
	// Without the permission to list, try the one that manifests installs, and the
	// one that run uses by default.
	for _, namespace := range []string{"reconcel-system", r.ContextNamespace} {
		if stored, err := r.readInventory(ctx, types.NamespacedName{Namespace: namespace, Name: "reconcel"}); err == nil {
			return append(all, stored), nil
		}
	}
	return nil, fmt.Errorf("inventories may not be listed in all namespaces, give --installation NAMESPACE/NAME: %w", err)
}

// readInventory returns an inventory. On an error, it has no entries.
func (r *Reader) readInventory(ctx context.Context, of types.NamespacedName) (inventory.Stored, error) {
	stored := inventory.Stored{Namespace: of.Namespace, Installation: of.Name}
	u, err := cluster.Get(ctx, r.cluster.Client.Resource(inventory.Resource).Namespace(of.Namespace),
		inventory.Name(of.Name))
	if err == nil && u == nil {
		err = fmt.Errorf("there is no installation %s: %s does not exist", of, stored)
	}
	if err != nil {
		return stored, err
	}
	stored, _ = inventory.Of(u)
	return stored, nil
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

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/engine/inventory"
)

// An installation is the set of processes with one --namespace and --name.
type installation struct {
	namespace, name string
	inventory       inventory.Stored
}

// parseInstallation reads NAMESPACE/NAME.
func parseInstallation(text string) (installation, error) {
	namespace, name, found := strings.Cut(text, "/")
	if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
		return installation{}, exit.Misused("--installation %q: expected NAMESPACE/NAME, such as reconcel-system/reconcel", text)
	}
	return installation{namespace: namespace, name: name}, nil
}

// usualInstallations are tried if listing ConfigMaps is forbidden: the one that
// manifests installs, and the one that run uses by default.
func usualInstallations(contextNamespace string) []installation {
	return []installation{
		{namespace: "reconcel-system", name: "reconcel"},
		{namespace: contextNamespace, name: "reconcel"},
	}
}

var leaseResource = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// findInstallations returns the installations of the cluster by their inventories.
// On an error, some may be missing.
func (r *statusReader) findInstallations(ctx context.Context, contextNamespace string) (found []installation, err error) {
	options := metav1.ListOptions{LabelSelector: inventory.Selector}
	err = cluster.ForEach(ctx, r.cluster.Client.Resource(inventory.Resource), options, func(u *unstructured.Unstructured) {
		if stored, ok := inventory.Of(u); ok {
			found = append(found, installation{stored.Namespace, stored.Installation, stored})
		}
	})
	if apierrors.IsForbidden(err) {
		for _, i := range usualInstallations(contextNamespace) {
			if known, err := r.readInstallation(ctx, i); err == nil {
				return append(found, known), nil
			}
		}
		return nil, fmt.Errorf("inventories may not be listed in all namespaces, give --installation NAMESPACE/NAME: %w", err)
	}
	return found, err
}

func (r *statusReader) readInstallation(ctx context.Context, i installation) (installation, error) {
	name := inventory.Name(i.name)
	o, err := r.cluster.Get(ctx, inventory.Resource, i.namespace, name)
	switch {
	case err != nil:
		return i, err
	case o == nil:
		return i, fmt.Errorf("there is no installation %s/%s: ConfigMap/%s/%s does not exist", i.namespace, i.name, i.namespace, name)
	}
	i.inventory, _ = inventory.Of(o)
	return i, nil
}

// States of the leader.
const (
	leading    = "leading"
	expired    = "expired"  // the Lease was not renewed in time
	released   = "released" // the holder has stopped, and no process has acquired the Lease
	absent     = "absent"   // there is no Lease
	unreadable = "unreadable"
)

// A leaderStatus is the leader of an installation. Its JSON is documented.
type leaderStatus struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	State     string       `json:"state"`
	Holder    string       `json:"holder,omitempty"`
	Renewed   *metav1.Time `json:"renewed,omitempty"`
	Message   string       `json:"message"`
}

// leader reads the Lease of an installation.
func (r *statusReader) leader(ctx context.Context, i installation, now time.Time) leaderStatus {
	l := leaderStatus{Namespace: i.namespace, Name: i.name}
	o, err := r.cluster.Get(ctx, leaseResource, i.namespace, i.name)
	switch {
	case err != nil:
		l.State, l.Message = unreadable, "the Lease cannot be read: "+err.Error()
		return l
	case o == nil:
		l.State, l.Message = absent, "there is no Lease: no process has led yet, or reconcel runs without --leader-elect"
		return l
	}
	l.Holder, _, _ = unstructured.NestedString(o.Object, "spec", "holderIdentity")
	text, _, _ := unstructured.NestedString(o.Object, "spec", "renewTime")
	seconds, _, _ := unstructured.NestedInt64(o.Object, "spec", "leaseDurationSeconds")
	ago := "at an unknown time"
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		l.Renewed = &metav1.Time{Time: at}
		ago = age(l.Renewed, now) + " ago"
	}
	switch {
	case l.Holder == "":
		l.State, l.Message = released, "no process leads: the last leader released the Lease "+ago
	case l.Renewed == nil || now.Sub(l.Renewed.Time) > time.Duration(seconds)*time.Second:
		l.State, l.Message = expired, fmt.Sprintf("no process leads: %s last renewed the Lease %s", l.Holder, ago)
	default:
		l.State, l.Message = leading, fmt.Sprintf("%s leads, renewed %s", l.Holder, ago)
	}
	return l
}

// age returns the time since a moment, as kubectl prints it.
func age(since *metav1.Time, now time.Time) string {
	if since == nil || since.IsZero() {
		return "-"
	}
	return duration.HumanDuration(max(0, now.Sub(since.Time)))
}

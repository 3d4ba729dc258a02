package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/rendered"
	"reconcel/engine/discover"
	"reconcel/engine/events"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// manager is the field manager of the annotation. It is not one of the controller's.
const manager = "kubectl-reconcel"

// Set sets the annotation of the resource that a target names to a value, and returns the resource.
func Set(ctx context.Context, live *cluster.Cluster, k *discover.Kind, namespace string, t cluster.Target,
	value string) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{rules.AnnotationReconcileAt: value}}})
	if err != nil {
		return nil, err
	}
	u, err := live.Resource(k, namespace).Patch(ctx, t.Name, types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: manager})
	if apierrors.IsNotFound(err) {
		return nil, cluster.NotFound(k, namespace, t)
	}
	return u, err
}

// HasRules reports whether an installation has rules for the kind of a resource, or may have some: the inventories
// cannot be read.
func HasRules(ctx context.Context, live *cluster.Cluster, self *unstructured.Unstructured) bool {
	inventories, err := live.Inventories(ctx)
	if err != nil || rules.IsBundle(self) {
		return true
	}
	for _, stored := range inventories {
		entries, err := stored.Entries()
		if err != nil {
			return true
		}
		for _, entry := range entries {
			if entry.Primary() == self.GroupVersionKind().GroupKind() {
				return true
			}
		}
	}
	return false
}

// errUnanswered means that no controller has answered a request in time.
var errUnanswered = errors.New("no controller has answered the request")

// IsUnanswered reports whether no controller has answered a request in time.
func IsUnanswered(err error) bool { return errors.Is(err, errUnanswered) }

// interval is the time between two looks at the Events.
const interval = 500 * time.Millisecond

// Await waits until an Event answers the request of a resource, and returns the state that the resource then has.
func Await(ctx context.Context, live *cluster.Cluster, k *discover.Kind, self *unstructured.Unstructured,
	timeout time.Duration) (state rendered.Resource, err error) {
	err = wait.PollUntilContextTimeout(ctx, interval, timeout, true, func(ctx context.Context) (bool, error) {
		return answered(ctx, live, k, self)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return state, errUnanswered
	}
	if err != nil {
		return state, err
	}
	now, err := cluster.Get(ctx, live.Resource(k, self.GetNamespace()), self.GetName())
	if now == nil && err == nil {
		err = fmt.Errorf("%s %s was deleted meanwhile", k.GVK.Kind, self.GetName())
	}
	if err != nil {
		return state, err
	}
	return rendered.ResourceOf(ctx, live, k, now)
}

// answered reports whether there is an Event about the request of a resource. Those about a cluster-scoped resource
// are in the namespace default.
func answered(ctx context.Context, live *cluster.Cluster, k *discover.Kind,
	self *unstructured.Unstructured) (found bool, err error) {
	namespace := self.GetNamespace()
	if !k.Namespaced {
		namespace = metav1.NamespaceDefault
	}
	selector := fields.Set{"reportingController": events.Reporter, "regarding.uid": string(self.GetUID()),
		"reason": outcome.ReasonReconcileRequested}.AsSelector().String()
	list := live.Client.Resource(eventsv1.SchemeGroupVersion.WithResource("events")).Namespace(namespace)
	value := rules.RequestOf(self.Object)
	err = cluster.ForEach(ctx, list, metav1.ListOptions{FieldSelector: selector}, func(u *unstructured.Unstructured) {
		note, _ := u.Object["note"].(string)
		found = found || strings.Contains(note, value)
	})
	return found, err
}

package server

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/sim"
)

// controllers play Kubernetes' own controllers.
type controllers struct {
	*Server
	version string // up to which changes are seen
	due     []due  // by time
}

// A due is a workload that becomes ready.
type due struct {
	at   time.Time
	kind runtimeschema.GroupVersionKind
	name namespaced
}

type namespaced struct{ namespace, name string }

// Run plays the controllers until ctx ends: garbage collection, the deletion of namespaces and of finished Jobs, CRDs,
// ServiceAccounts, and workloads that become ready.
func (s *Server) Run(ctx context.Context) {
	c := &controllers{Server: s, version: s.Cluster.Version()}
	c.serveDefinitions()
	for _, u := range s.Cluster.All() {
		c.see(sim.Change{New: u})
	}
	for ctx.Err() == nil {
		next := c.work()
		timer := s.Clock.NewTimer(c.idle())
		select {
		case <-ctx.Done():
		case <-next:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// work does what is due, and returns a channel that is closed at the next change.
func (c *controllers) work() <-chan struct{} {
	for {
		changes, now, next, known := c.Cluster.Since(c.version)
		if !known { // Too many changes at once.
			c.version = c.Cluster.Version()
			for _, u := range c.Cluster.All() {
				changes = append(changes, sim.Change{New: u})
			}
			now = c.version
		}
		c.version = now
		redefined := false
		for _, change := range changes {
			c.see(change)
			redefined = redefined || redefines(change)
		}
		if redefined {
			c.serveDefinitions()
		}
		c.makeReady()
		if moved := c.Cluster.Collect(); !moved && known && len(changes) == 0 {
			return next
		}
	}
}

// redefines reports whether a change changes the kinds.
func redefines(change sim.Change) bool {
	u := cmp.Or(change.New, change.Old)
	return u.GroupVersionKind().GroupKind() == definitions && (change.Old == nil || change.New == nil ||
		change.Old.GetGeneration() != change.New.GetGeneration())
}

// idle returns how long nothing is due.
func (c *controllers) idle() time.Duration {
	until := time.Hour
	now := c.Clock.Now()
	if at := c.Cluster.NextExpiry(); !at.IsZero() {
		until = min(until, at.Sub(now))
	}
	if len(c.due) > 0 {
		until = min(until, c.due[0].at.Sub(now))
	}
	return max(until, 0)
}

// serveDefinitions serves the kinds of all CRDs. One that cannot be served is left out.
func (c *controllers) serveDefinitions() {
	list, err := c.Cluster.Client(User).Resource(runtimeschema.GroupVersionResource{
		Group: definitions.Group, Version: "v1",
		Resource: "customresourcedefinitions"}).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		c.Problem(err)
		return
	}
	all := make([]map[string]any, len(list.Items))
	for i := range list.Items {
		all[i] = list.Items[i].Object
	}
	kinds, err := c.kindsWith(all)
	if err != nil {
		kinds = c.Builtin
		var good []map[string]any
		for _, definition := range all {
			more, err := c.kindsWith(append(good, definition))
			if err != nil {
				c.Problem(err)
				continue
			}
			kinds, good = more, append(good, definition)
		}
	}
	c.Cluster.Serve(kinds)
}

// kindsWith returns the built-in kinds and those of some CRDs.
func (c *controllers) kindsWith(all []map[string]any) (*sim.Kinds, error) {
	set, err := c.Builtin.Schemas().With(all)
	if err != nil {
		return nil, err
	}
	return sim.NewKinds(set)
}

// see notes what follows from a change.
func (c *controllers) see(change sim.Change) {
	u := change.New
	if u == nil || u.GetDeletionTimestamp() != nil {
		return
	}
	gvk := u.GroupVersionKind()
	if gvk.GroupKind() == (runtimeschema.GroupKind{Kind: "Namespace"}) && change.Old == nil {
		c.furnish(u.GetName())
	}
	if c.ReadyAfter < 0 || !sim.BecomesReady(u) {
		return
	}
	if old := change.Old; old != nil && equality.Semantic.DeepEqual(old.Object["spec"], u.Object["spec"]) {
		return
	}
	c.due = append(c.due, due{c.Clock.Now().Add(c.ReadyAfter), gvk, namespaced{u.GetNamespace(), u.GetName()}})
}

// furnish creates what every namespace has, and the Service of the API in default.
func (c *controllers) furnish(namespace string) {
	c.create("serviceaccounts", namespace, map[string]any{"apiVersion": "v1", "kind": "ServiceAccount",
		"metadata": map[string]any{"name": "default", "namespace": namespace}})
	if namespace != metav1.NamespaceDefault {
		return
	}
	c.create("services", namespace, map[string]any{"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "kubernetes", "namespace": namespace,
			"labels": map[string]any{"component": "apiserver", "provider": "kubernetes"}},
		"spec": map[string]any{"clusterIP": "10.96.0.1", "ports": []any{map[string]any{"name": "https", "port": int64(443),
			"targetPort": int64(6443)}}}})
}

// create creates an object of the core that may exist already, in a namespace that may be gone again.
func (c *controllers) create(resource, namespace string, object map[string]any) {
	_, err := c.Cluster.Client("kube-controller-manager").
		Resource(runtimeschema.GroupVersionResource{Version: "v1", Resource: resource}).Namespace(namespace).
		Create(context.Background(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) &&
		!apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		c.Problem(err)
	}
}

// makeReady makes the workloads ready whose time has come.
func (c *controllers) makeReady() {
	now := c.Clock.Now()
	n := slices.IndexFunc(c.due, func(d due) bool { return d.at.After(now) })
	if n < 0 {
		n = len(c.due)
	}
	for _, d := range c.due[:n] {
		_ = c.Cluster.MarkReady(d.kind, d.name.namespace, d.name.name) // It may be gone.
	}
	c.due = slices.Clone(c.due[n:])
}

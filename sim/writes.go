package sim

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// A Write is one request that was to change the cluster.
type Write struct {
	By              string // whose client sent it
	Verb            string // create, update, apply, patch or delete
	Kind            runtimeschema.GroupVersionKind
	Namespace, Name string
	Subresource     string
	Changed         bool  // something is different since then
	Err             error // what was answered; the write may have happened all the same, see Failure.Lost
}

// Writes returns all writes since the cluster was made, dry runs excepted.
func (c *Cluster) Writes() []Write {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.writes)
}

// A Failure makes requests fail. Its empty fields match everything.
type Failure struct {
	By              string // whose requests
	Verb            string // get, list, or one of those of a Write
	Kind            runtimeschema.GroupKind
	Namespace, Name string
	Subresource     string

	Times int   // how many of them; 0 is one
	Err   error // what is answered; an APIStatus, or else the connection breaks with it
	// Lost lets the write happen and loses the answer.
	Lost bool
}

// Fail makes the next requests that match fail. A failure that was asked for
// earlier comes first.
func (c *Cluster) Fail(f Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Times <= 0 {
		f.Times = 1
	}
	if f.Err == nil {
		f.Err = apierrors.NewInternalError(errors.New("injected"))
	}
	c.failures = append(c.failures, &f)
}

// Pending returns the failures that have not happened.
func (c *Cluster) Pending() (left []Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.failures {
		left = append(left, *f)
	}
	return left
}

func (f *Failure) matches(r *request, verb string) bool {
	return matchesFilter(f.By, r.by) && matchesFilter(f.Verb, verb) && matchesFilter(f.Namespace, r.namespace) && matchesFilter(f.Name, r.name) &&
		matchesFilter(f.Subresource, r.subresource) && matchesFilter(f.Kind, r.kind.GVK.GroupKind())
}

// matchesFilter reports whether a value is the wanted one, or nothing is wanted.
func matchesFilter[T comparable](want, have T) bool {
	var anything T
	return want == anything || want == have
}

// failure returns the failure that a request meets, or nil.
func (c *Cluster) failure(r *request, verb string) *Failure {
	for i, f := range c.failures {
		if !f.matches(r, verb) {
			continue
		}
		if f.Times--; f.Times == 0 {
			c.failures = slices.Delete(c.failures, i, i+1)
		}
		return f
	}
	return nil
}

// logged serves a write and notes it.
func (r *request) logged(verb string, serve func() (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	c, before := r.cluster, r.cluster.version
	f := c.failure(r, verb)
	var out *unstructured.Unstructured
	var err error
	if f == nil || f.Lost {
		out, err = serve()
	}
	err = asStatus(err)
	if f != nil {
		out, err = nil, f.Err
	}
	if !r.dryRun {
		c.writes = append(c.writes, Write{By: r.by, Verb: verb, Kind: r.kind.GVK, Namespace: r.namespace, Name: r.name,
			Subresource: r.subresource, Changed: c.version != before, Err: err})
	}
	return out, err
}

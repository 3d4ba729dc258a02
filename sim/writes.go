package sim

import (
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// A Write is a request that writes.
type Write struct {
	By              string // the client
	Verb            string // create, update, apply, patch or delete
	Kind            runtimeschema.GroupVersionKind
	Namespace, Name string
	Subresource     string
	Changed         bool  // the request changed something
	Created         bool  // the object did not exist before
	Err             error // the response; the write may have happened in spite of an error, see Failure.Lost
}

// Writes returns all writes except dry runs.
func (c *Cluster) Writes() []Write {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.writes)
}

// A Failure makes requests fail. Empty fields match everything.
type Failure struct {
	By              string // the client
	Verb            string // get, list, or one of those of a Write
	Kind            runtimeschema.GroupKind
	Namespace, Name string
	Subresource     string

	Times int   // how many requests fail, or Always; 0 is one
	Err   error // an APIStatus, or any other error for a broken connection
	// Lost: the write happens, and the response is lost.
	Lost bool

	met bool // by a request
}

// Always is the number of requests that fail until Recover.
const Always = -1

// Fail makes the next matching requests fail. Earlier failures come first.
func (c *Cluster) Fail(f Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Times == 0 {
		f.Times = 1
	}
	if f.Err == nil {
		f.Err = apierrors.NewInternalError(errors.New("injected"))
	}
	c.failures = append(c.failures, &f)
}

// Recover ends all failures.
func (c *Cluster) Recover() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures = nil
}

// Pending returns the failures for which requests are missing: one, if all fail.
func (c *Cluster) Pending() (left []Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.failures {
		if !f.met || f.Times != Always {
			left = append(left, *f)
		}
	}
	return left
}

func (f *Failure) matches(r *request, verb string) bool {
	return matchesFilter(f.By, r.by) && matchesFilter(f.Verb, verb) && matchesFilter(f.Namespace, r.namespace) &&
		matchesFilter(f.Name, r.name) &&
		matchesFilter(f.Subresource, r.subresource) && matchesFilter(f.Kind, r.kind.GVK.GroupKind())
}

// matchesFilter reports whether a value is the wanted one, or none is wanted.
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
		f.met = true
		if f.Times != Always {
			f.Times--
		}
		if f.Times == 0 {
			c.failures = slices.Delete(c.failures, i, i+1)
		}
		return f
	}
	return nil
}

// logged serves a write and records it.
func (r *request) logged(verb string,
	serve func() (*unstructured.Unstructured, error)) (*unstructured.Unstructured, error) {
	c, before := r.cluster, r.cluster.version
	existed := c.load(r.kind.GVK.GroupKind(), r.namespace, r.name) != nil
	f := c.failure(r, verb)
	var out *unstructured.Unstructured
	var err error
	c.by = r.by
	if f == nil || f.Lost {
		out, err = serve()
	}
	c.by = ""
	err = asStatus(err)
	if f != nil {
		out, err = nil, f.Err
	}
	if surplus := len(c.writes) - c.history; c.history > 0 && surplus > c.history {
		c.writes = slices.Clone(c.writes[surplus:])
	}
	if !r.dryRun {
		c.writes = append(c.writes, Write{By: r.by, Verb: verb, Kind: r.kind.GVK, Namespace: r.namespace, Name: r.name,
			Subresource: r.subresource, Changed: c.version != before, Created: !existed, Err: err})
	}
	return out, err
}

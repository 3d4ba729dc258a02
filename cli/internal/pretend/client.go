// Package pretend is the client of run --shadow: a client of package dryrun that sends nothing but
// reads. It turns the writes of one reconciliation into changes for the ledger of package shadow.
package pretend

import (
	"cmp"
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"reconcel/cli/internal/dryrun"
	"reconcel/engine"
	"reconcel/engine/managedfields"
	"reconcel/engine/shadow"
	"reconcel/rules/schema"
	"reconcel/sim"
)

// Schemas are the schemas with which writes are merged. They may be replaced at any time.
type Schemas struct {
	mu    sync.Mutex
	kinds *sim.Kinds
	err   error
}

// NewSchemas returns the schemas of Kubernetes' own kinds.
func NewSchemas() *Schemas {
	s := &Schemas{}
	s.Set(schema.Builtin())
	return s
}

// Set replaces the schemas.
func (s *Schemas) Set(of *schema.Set) {
	kinds, err := sim.NewKinds(of)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kinds, s.err = kinds, err
}

func (s *Schemas) get() (*sim.Kinds, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kinds, s.err
}

// New returns what an engine needs to be a shadow.
func New(schemas *Schemas, ledger *shadow.Ledger) *engine.Shadow {
	return &engine.Shadow{Ledger: ledger, Pretend: func(live dynamic.Interface) engine.Pretender {
		return client{dryrun.NewContinuous(live, schemas.get)}
	}}
}

type client struct{ *dryrun.Client }

// Begin implements engine.Pretender.
func (client) Begin(ctx context.Context) (context.Context, func() []shadow.Change) {
	ctx, recorder := dryrun.Record(ctx)
	return ctx, func() []shadow.Change { return changes(recorder.Writes()) }
}

// changes returns the writes that would change something. Of several writes of one part of an object,
// the last one counts, with what all of them do to the object.
func changes(writes []*dryrun.Write) (all []shadow.Change) {
	byPart := map[shadow.Part]int{}
	for _, w := range writes {
		if w.Err != nil || w.Rehearsal || !isChange(w) {
			continue
		}
		change := changeOf(w)
		if i, known := byPart[change.Part]; known {
			change.Action = merged(all[i].Action, change.Action)
			all[i] = change
			continue
		}
		byPart[change.Part] = len(all)
		all = append(all, change)
	}
	return all
}

// merged is what two writes do to an object.
func merged(first, second shadow.Action) shadow.Action {
	if first == shadow.Created && second == shadow.Configured {
		return first
	}
	return second
}

func changeOf(w *dryrun.Write) shadow.Change {
	c := shadow.Change{Kind: kindOf(w)}
	c.Part = shadow.Part{
		Resource: w.Resource.GroupResource(), Namespace: w.Namespace, Name: w.Name, Subresource: w.Subresource, Manager: cmp.Or(w.Manager, managedfields.Manager),
	}
	switch {
	case w.Deletes():
		c.Action = shadow.Deleted
	case w.Before == nil:
		c.Action = shadow.Created
	default:
		c.Action = shadow.Configured
	}
	c.Digest = shadow.DigestOf(w.Body, w.Resource == secrets)
	return c
}

func kindOf(w *dryrun.Write) string {
	if w.After != nil {
		return w.After.GetKind()
	}
	return w.Before.GetKind() // A deletion of something that was read.
}

var secrets = runtimeschema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// isChange reports whether a write changes more than the times of an object.
func isChange(w *dryrun.Write) bool {
	if w.Deletes() || w.Before == nil || w.After == nil {
		return true
	}
	return !equality.Semantic.DeepEqual(content(w.Before), content(w.After))
}

// content returns an object without what differs after a write that changes nothing. Whoever owns the
// fields counts: to take over a field of the same value is a change.
func content(u *unstructured.Unstructured) map[string]any {
	u = u.DeepCopy()
	u.SetResourceVersion("")
	managers := u.GetManagedFields()
	for i := range managers {
		managers[i].Time = nil
	}
	u.SetManagedFields(managers)
	shadow.WithoutTimes(u.Object)
	return u.Object
}

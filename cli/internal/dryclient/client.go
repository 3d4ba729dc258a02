// Package dryclient is the client of run --dry-run: a client of package dryrun that sends nothing but
// reads. It turns the writes of one reconciliation into changes.
package dryclient

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"reconcel/cli/internal/dryrun"
	"reconcel/engine"
	"reconcel/engine/managedfields"
	"reconcel/engine/unwritten"
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

// New returns what an engine needs for a dry run.
func New(schemas *Schemas, changes *unwritten.Changes) *engine.DryRun {
	return &engine.DryRun{Changes: changes, Client: func(live dynamic.Interface) engine.DryRunClient {
		return client{dryrun.NewContinuous(live, schemas.get)}
	}}
}

type client struct{ *dryrun.Client }

// Begin implements engine.DryRunClient.
func (client) Begin(ctx context.Context) (context.Context, func() []unwritten.Change) {
	ctx, recorder := dryrun.Record(ctx)
	return ctx, func() []unwritten.Change { return changes(recorder.Writes()) }
}

// changes returns the writes that would change something. Of several writes of one part of an object,
// the last one counts, with what all of them do to the object.
func changes(writes []*dryrun.Write) (all []unwritten.Change) {
	byPart := map[unwritten.Part]int{}
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
func merged(first, second unwritten.Action) unwritten.Action {
	if first == unwritten.Created && second == unwritten.Configured {
		return first
	}
	return second
}

func changeOf(w *dryrun.Write) unwritten.Change {
	c := unwritten.Change{Kind: kindOf(w)}
	c.Part = unwritten.Part{
		Resource: w.Resource.GroupResource(), Namespace: w.Namespace, Name: w.Name, Subresource: w.Subresource, Manager: cmp.Or(w.Manager, managedfields.Manager),
	}
	switch {
	case w.Deletes():
		c.Action = unwritten.Deleted
	case w.Before == nil:
		c.Action = unwritten.Created
	default:
		c.Action = unwritten.Configured
	}
	c.Digest = digestOf(w.Body, w.Resource == secrets)
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
	withoutTimes(u.Object)
	return u.Object
}

// digestOf returns the digest of the body of a write. It leaves out what differs between two
// writes that mean the same: the state that the write is for, times of conditions, and the
// values of Secrets, which may be generated. The hash of the rendering stands for those.
func digestOf(body []byte, isSecret bool) [sha256.Size]byte {
	var object map[string]any
	if json.Unmarshal(body, &object) != nil {
		return sha256.Sum256(body)
	}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "uid")
		delete(metadata, "resourceVersion")
	}
	withoutTimes(object)
	if isSecret {
		delete(object, "data")
		delete(object, "stringData")
	}
	canonical, err := json.Marshal(object)
	if err != nil {
		return sha256.Sum256(body)
	}
	return sha256.Sum256(canonical)
}

// withoutTimes removes the times of conditions from an object.
func withoutTimes(object map[string]any) {
	status, _ := object["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			delete(condition, "lastTransitionTime")
		}
	}
}

//go:build integration

package campaign

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/test/e2e"
	"reconcel/test/oracle"
)

// faultRun is a plan at work.
type faultRun struct {
	*testing.T
	stage *stage
	world *e2e.World
	workload
	plan plan

	namespace    string
	placeholders *strings.Replacer
	control      *controller
	seen         *oracle.Selection
	ends         []uint64 // the version at the end of each step
	stripped     stripping
	gitops       *gitops // nil before the first apply

	reloads  int       // how often the process had reloaded rules
	reloaded time.Time // when that was last seen to grow

	injected interface{ Hits() (int, time.Time) }
	due      chan struct{} // closed when the process must crash
	dead     chan struct{} // closed when it has crashed
	crashed  time.Time
	thaw     func() // nil unless the API server lags
	thawAt   time.Time
}

// newFaultRun prepares a run: a process, a namespace, and the objects that exist before.
func (s *stage) newFaultRun(t *testing.T, w workload, p plan, mode alone) *faultRun {
	t.Helper()
	r := &faultRun{T: t, stage: s, world: s.world.Within(t), workload: w, plan: p}
	if w.reloads() {
		mode = separate
	}
	prefix := "faults-"
	if mode == sharing {
		prefix = "faults-" + w.name + "-"
	}
	r.enter(prefix, mode)
	rule, namespaces := r.namespace, r.namespace
	if mode == sharing {
		rule, namespaces = "shared-"+w.name, `"`+prefix+`*"`
	}
	r.placeholders = strings.NewReplacer("NAMESPACES", namespaces, "NAMESPACE", r.namespace, "RULE", rule)
	names := oracle.NewNames(w.Generated, rule, "RULE", r.namespace, "NAMESPACE")
	if rule == r.namespace {
		names = oracle.NewNames(w.Generated, "reconcel.dev/"+rule, "reconcel.dev/RULE", `"`+rule, `"RULE`, r.namespace, "NAMESPACE")
	}
	r.seen = s.history.Select(names.WithValues(w.Values), func(k oracle.Key) bool {
		return strings.Contains(k.Namespace+"/"+k.Name, r.namespace) && k.Name != "kube-root-ca.crt" && k.Namespace != "default"
	})
	if w.Group != "" {
		r.createCarts()
	}
	for _, object := range w.Setup {
		r.create(object)
	}
	for _, object := range w.Foreign {
		r.create(object)
	}
	if mode == sharing {
		r.control = s.sharedController(w, r.placeholders.Replace(w.Rules))
	} else {
		way := again
		if p.Crash != nil {
			way = p.Crash.Restart
		}
		r.control = s.newController(t, r.namespace, r.placeholders.Replace(w.Rules), way)
	}
	return r
}

// alone says whether a run has a process of its own.
type alone string

// The modes.
const (
	separate alone = "separate"
	sharing  alone = "sharing"
)

// sharedController returns the process of a workload that several runs share.
func (s *stage) sharedController(w workload, rules string) *controller {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.shared[w.name]
	if c == nil {
		c = s.newController(s.T, "shared-"+w.name, rules, again)
		s.shared[w.name] = c
	}
	return c
}

// do performs a step.
func (r *faultRun) do(s step) {
	r.Helper()
	r.strip(s.Strips)
	if s.DropsVersion {
		r.dropVersion()
	}
	switch {
	case s.Apply != nil:
		r.create(s.Apply)
	case s.Patch != nil:
		body, err := json.Marshal(r.fill(s.Patch.Merge))
		if err != nil {
			r.Fatal(err)
		}
		patched, err := r.world.ResourceIn(r.of(s.Patch)).Patch(r.Context(), s.Patch.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: e2e.FieldManager})
		if err != nil {
			r.Fatalf("patch %s %s: %v", s.Patch.Kind, s.Patch.Name, err)
		}
		r.awaitVersion(patched)
	case s.Delete != nil:
		client := r.world.ResourceIn(r.of(s.Delete))
		live, err := client.Get(r.Context(), s.Delete.Name, metav1.GetOptions{})
		if err != nil {
			r.Fatal(err)
		}
		background := metav1.DeletePropagationBackground
		if err := client.Delete(r.Context(), s.Delete.Name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
			r.Fatalf("delete %s %s: %v", s.Delete.Kind, s.Delete.Name, err)
		}
		r.awaitDeletion(live)
	case s.GitOps != nil:
		r.applies(s.GitOps)
	default:
		r.control.place(r.placeholders.Replace(s.Rules))
	}
}

func (r *faultRun) of(t *target) (kind schema.GroupVersionKind, namespace string) {
	kind, ok := faultKinds[t.Kind]
	if !ok {
		r.Fatalf("unknown kind %s", t.Kind)
	}
	if t.Namespace == "" {
		return kind, r.namespace
	}
	return kind, r.placeholders.Replace(t.Namespace)
}

// keyOf returns the key of an object.
func keyOf(u *unstructured.Unstructured) oracle.Key {
	return oracle.Key{Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
}

// awaitVersion waits until the observer has seen a version of an object.
func (r *faultRun) awaitVersion(u *unstructured.Unstructured) {
	r.Helper()
	if _, observed := faultKinds[u.GetKind()]; !observed {
		return
	}
	e2e.Poll(r.T, "the observer to see "+u.GetName(), time.Minute, 20*time.Millisecond, func() error {
		if !r.seen.Saw(keyOf(u), u.GetResourceVersion()) {
			return fmt.Errorf("version %s has not come", u.GetResourceVersion())
		}
		return nil
	})
}

// awaitDeletion waits until the observer has seen the deletion of an object, or its begin.
func (r *faultRun) awaitDeletion(u *unstructured.Unstructured) {
	r.Helper()
	e2e.Poll(r.T, "the observer to see the deletion of "+u.GetName(), time.Minute, 20*time.Millisecond, func() error {
		if now := r.seen.Live(keyOf(u)); now != nil && now.GetUID() == u.GetUID() && now.GetDeletionTimestamp() == nil {
			return fmt.Errorf("version %s exists", now.GetResourceVersion())
		}
		return nil
	})
}

package ruletest

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"reconcel/rules/schema"
	"reconcel/sim"
	"reconcel/sim/world"
)

// InMemory returns a new Memory.
func InMemory(s Setting) (Place, error) {
	w, err := world.New(world.Options{Program: s.Program, Kinds: s.Kinds, Coverage: s.Coverage})
	if err != nil {
		return nil, err
	}
	return memory{w}, nil
}

// A memory is a world.World as a Place.
type memory struct{ *world.World }

var _ Memory = memory{}

func (m memory) Put(_ context.Context, u *unstructured.Unstructured) error {
	_, err := m.Cluster().Put(u)
	return err
}

func (m memory) Client() dynamic.Interface { return m.Cluster().Client(someone) }

func (m memory) MarkReady(_ context.Context, kind *schema.Kind, namespace, name string) error {
	return m.Cluster().MarkReady(kind.GVK, namespace, name)
}

func (m memory) Objects(context.Context) ([]*unstructured.Unstructured, error) {
	return m.World.Objects(), nil
}

func (m memory) Events(context.Context) ([]sim.Event, error) { return m.Cluster().Events(), nil }

func (m memory) Fail(f sim.Failure) {
	f.By = world.Controller
	m.Cluster().Fail(f)
}

func (m memory) Uncollected() *sim.Write { return m.Cluster().Uncollected() }

func (m memory) Recover() { m.Cluster().Recover() }

func (m memory) Pending() []sim.Failure { return m.Cluster().Pending() }

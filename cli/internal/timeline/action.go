package timeline

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// A Verb is what an Action does to an object.
type Verb string

// The verbs.
const (
	Delete Verb = "delete"
	Change Verb = "change" // one field that the rules render
)

// An Action is what another client does at a time.
type Action struct {
	Milliseconds int64 `json:"at"` // since the start
	Verb         Verb  `json:"verb"`
	Object
}

// An Object names an object.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

// ObjectOf returns the name of an object.
func ObjectOf(u *unstructured.Unstructured) Object {
	return Object{u.GetAPIVersion(), u.GetKind(), u.GetNamespace(), u.GetName()}
}

func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

func (a Action) at() time.Duration {
	return min(time.Duration(a.Milliseconds)*time.Millisecond, longest)
}

// someone is the client, and the field manager, of actions.
const someone = "someone"

// do runs an action. That the object is gone is not an error: the timeline then shows that
// nothing has happened.
func (p *player) do(ctx context.Context, a Action) error {
	gvk := runtimeschema.FromAPIVersionAndKind(a.APIVersion, a.Kind)
	live := p.world.Cluster().Find(gvk.GroupKind(), a.Namespace, a.Name)
	kind := p.Kinds.Kind(gvk)
	if live == nil || kind == nil {
		return nil
	}
	var objects dynamic.ResourceInterface = p.world.Cluster().Client(someone).Resource(
		gvk.GroupVersion().WithResource(kind.Resource))
	if kind.Namespaced {
		objects = objects.(dynamic.NamespaceableResourceInterface).Namespace(a.Namespace)
	}
	switch a.Verb {
	case Delete:
		background := metav1.DeletePropagationBackground // as kubectl does
		return objects.Delete(ctx, a.Name, metav1.DeleteOptions{PropagationPolicy: &background})
	case Change:
		return change(ctx, objects, live)
	}
	return fmt.Errorf("unknown action %q: expected delete or change", a.Verb)
}

// change changes the first field that the API server lets change.
func change(ctx context.Context, objects dynamic.ResourceInterface, live *unstructured.Unstructured) error {
	for _, field := range renderedFields(live.Object) {
		next := live.DeepCopy()
		if unstructured.SetNestedField(next.Object, altered(next.GroupVersionKind().GroupKind(), field.value),
			field.path...) != nil {
			continue
		}
		if _, err := objects.Update(ctx, next, metav1.UpdateOptions{FieldManager: someone}); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s %s: no field can be changed", live.GetKind(), live.GetName())
}

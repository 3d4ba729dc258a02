package dev

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"reconcel/cli/internal/files"
	"reconcel/cli/internal/filewatch"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
)

// FieldManager is the field manager of what comes from files.
const FieldManager = "reconcel-dev"

var (
	definitionKind = runtimeschema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	namespaceKind  = runtimeschema.GroupKind{Kind: "Namespace"}
)

// Files are the CRDs and objects of files, which are in the cluster, too.
type Files struct {
	Cluster *sim.Cluster
	Reader  files.Reader
	Rules   []string // whose folders have the CRDs, if CRDs is empty
	CRDs    []string
	Objects []string

	applied map[identity]*unstructured.Unstructured // as in the files
}

// An identity names an object.
type identity struct {
	kind            runtimeschema.GroupKind
	namespace, name string
}

// Apply applies what is new in the files since the last time: CRDs first, then Namespaces, then the others. It deletes
// objects that the files no longer have, except CRDs. The error has all mistakes. seen are the files that it has read.
func (f *Files) Apply(ctx context.Context) (seen *filewatch.Seen, err source.Errors) {
	seen = &filewatch.Seen{}
	from := f.Reader
	from.Seen = seen.Add
	paths := f.CRDs
	if len(paths) == 0 {
		paths = from.Definitions(f.Rules)
	}
	definitions, unread := from.Objects(paths)
	definitions = slices.DeleteFunc(definitions, func(o *files.Object) bool { return !isDefinition(o) })
	objects, alsoUnread := from.Objects(f.Objects)
	c := &change{Files: f, wrong: append(errorsIn(unread), errorsIn(alsoUnread)...), wanted: map[identity]bool{}}
	c.apply(ctx, slices.Concat(definitions, objects))
	return seen, source.Collect(c.sources, c.wrong)
}

// errorsIn returns the errors of a report about files.
func errorsIn(err error) []*source.Error {
	all, _ := errors.AsType[source.Errors](err)
	return all
}

func isDefinition(o *files.Object) bool {
	return o.Unstructured.GroupVersionKind().GroupKind() == definitionKind
}

// A change makes the cluster follow the files.
type change struct {
	*Files
	wanted  map[identity]bool
	earlier *sim.Kinds // served before the last CRD was applied; nil: no CRD has changed
	sources []source.File
	wrong   []*source.Error
}

// apply applies the objects of all files. As long as there are mistakes in them, no object is known to be gone.
func (c *change) apply(ctx context.Context, all []*files.Object) {
	slices.SortStableFunc(all, func(a, b *files.Object) int { return order(a) - order(b) })
	for _, o := range all {
		if !isDefinition(o) {
			c.awaitKinds(ctx)
		}
		if err := c.applyOne(ctx, o); err != nil {
			c.wrong = append(c.wrong, source.NewError(o.Position(""), "", fmt.Sprintf("%s: %v", o, err), ""))
			c.sources = append(c.sources, o.Source())
		}
	}
	c.awaitKinds(ctx)
	if len(c.wrong) > 0 {
		return
	}
	for id := range c.applied {
		if !c.wanted[id] && id.kind != definitionKind {
			delete(c.applied, id)
			c.delete(ctx, id)
		}
	}
}

// delete deletes an object, unless it is gone with its kind.
func (c *change) delete(ctx context.Context, id identity) {
	for _, k := range c.Cluster.Kinds().All() {
		if k.GVK.GroupKind() == id.kind {
			_ = c.client(id, k).Delete(ctx, id.name, metav1.DeleteOptions{})
			return
		}
	}
}

func order(o *files.Object) int {
	switch o.Unstructured.GroupVersionKind().GroupKind() {
	case definitionKind:
		return 0
	case namespaceKind:
		return 1
	}
	return 2
}

// applyOne applies an object unless it was applied before.
func (c *change) applyOne(ctx context.Context, o *files.Object) error {
	if err := o.Check(); err != nil {
		return errors.New(errorsIn(err)[0].Text())
	}
	u := o.Unstructured.DeepCopy()
	k := c.Cluster.Kinds().Kind(u.GroupVersionKind())
	switch {
	case k == nil:
		return fmt.Errorf("the cluster has no kind %s in %s: give its CRD with --crd", u.GetKind(), u.GetAPIVersion())
	case !k.Namespaced:
		u.SetNamespace("")
	case u.GetNamespace() == "":
		u.SetNamespace(metav1.NamespaceDefault)
	}
	id := identity{u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetName()}
	c.wanted[id] = true
	if before := c.applied[id]; before != nil && equality.Semantic.DeepEqual(before.Object, u.Object) {
		return nil
	}
	before, served := c.Cluster.Find(id.kind, id.namespace, id.name), c.Cluster.Kinds()
	now, err := c.client(id, k).Apply(ctx, id.name, u.DeepCopy(), metav1.ApplyOptions{FieldManager: FieldManager,
		Force: true})
	if err != nil {
		return err
	}
	if id.kind == definitionKind && (before == nil || before.GetResourceVersion() != now.GetResourceVersion()) {
		c.earlier = served
	}
	if c.applied == nil {
		c.applied = map[identity]*unstructured.Unstructured{}
	}
	c.applied[id] = u
	return nil
}

// client returns the client for the kind and the namespace of an object.
func (c *change) client(id identity, k *schema.Kind) dynamic.ResourceInterface {
	all := c.Cluster.Client(FieldManager).Resource(k.GVK.GroupVersion().WithResource(k.Resource))
	if k.Namespaced {
		return all.Namespace(id.namespace)
	}
	return all
}

// awaitKinds waits until the cluster serves what the CRDs define. One that cannot be served is reported elsewhere.
func (c *change) awaitKinds(ctx context.Context) {
	if c.earlier == nil {
		return
	}
	const poll, patience = 5 * time.Millisecond, 5 * time.Second
	_ = wait.PollUntilContextTimeout(ctx, poll, patience, true, func(context.Context) (bool, error) {
		for id, u := range c.applied {
			if id.kind == definitionKind && !c.serves(u) {
				return false, nil
			}
		}
		return c.Cluster.Kinds() != c.earlier, nil
	})
	c.earlier = nil
}

// serves reports whether the cluster serves the kind of a CRD.
func (c *change) serves(definition *unstructured.Unstructured) bool {
	gk, err := schema.Defined(definition.Object)
	return err != nil || slices.ContainsFunc(c.Cluster.Kinds().All(), func(k *schema.Kind) bool {
		return k.GVK.GroupKind() == gk
	})
}

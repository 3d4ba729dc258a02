// Package dump is a cluster that can only be read: objects from files, as kubectl prints
// them. It keeps them as compressed text, because a decoded object takes a hundred times the
// memory.
package dump

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/cli/internal/offline"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
	"reconcel/sim"
)

// A Cluster has the objects of a dump. It implements dynamic.Interface for reads.
type Cluster struct {
	kinds   *sim.Kinds
	objects map[schema.GroupResource][]object
	packers map[schema.GroupResource]*packer
	unowned int
	unknown map[schema.GroupVersionKind]int
}

type object struct {
	namespace, name string
	labels          labels.Set
	packed          []byte
}

// New returns an empty cluster.
func New(kinds *sim.Kinds) *Cluster {
	return &Cluster{kinds: kinds, objects: map[schema.GroupResource][]object{},
		packers: map[schema.GroupResource]*packer{}, unknown: map[schema.GroupVersionKind]int{}}
}

// Add adds an object. One that people wrote is completed as the API server would.
func (c *Cluster) Add(text []byte) error {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		return err
	}
	if u.GetName() == "" {
		return fmt.Errorf("%s without metadata.name", u.GetKind())
	}
	k := c.kinds.Kind(u.GroupVersionKind())
	if k == nil {
		c.unknown[u.GroupVersionKind()]++
		return nil
	}
	if c.complete(k, u) {
		var err error
		if text, err = u.MarshalJSON(); err != nil {
			return err
		}
	}
	if _, ours := u.GetLabels()[rules.LabelRule]; ours && len(u.GetManagedFields()) == 0 {
		c.unowned++
	}
	gr := schema.GroupResource{Group: k.GVK.Group, Resource: k.Resource}
	if c.packers[gr] == nil {
		c.packers[gr] = &packer{}
	}
	packed, err := c.packers[gr].pack(text)
	c.objects[gr] = append(c.objects[gr], object{u.GetNamespace(), u.GetName(), u.GetLabels(), packed})
	return err
}

// complete sets what an object of a cluster has and one that people wrote may lack, and reports whether it did: a
// namespace, defaults, a uid, and the time of its creation, which is now. It drops fields that the CRD does not have.
func (c *Cluster) complete(k *kindschema.Kind, u *unstructured.Unstructured) (changed bool) {
	if k.Namespaced && u.GetNamespace() == "" {
		u.SetNamespace(metav1.NamespaceDefault)
		changed = true
	}
	if u.GetUID() != "" {
		return changed
	}
	if k.Custom {
		structure := c.kinds.Schemas().Structure(k)
		structure.Prune(u.Object)
		structure.Default(u.Object)
	}
	u.SetUID(types.UID(offline.PlaceholderUID(rules.Identity{GVK: k.GVK, Namespace: u.GetNamespace(), Name: u.GetName()})))
	if created := u.GetCreationTimestamp(); created.IsZero() {
		u.SetCreationTimestamp(metav1.Now())
	}
	return true
}

// Unowned returns the number of children without managedFields, which say what fields reconcel
// has set.
func (c *Cluster) Unowned() int { return c.unowned }

// Unknown returns the kinds of objects that were left out, because their schema is unknown.
func (c *Cluster) Unknown() (kinds []string) {
	for gvk, n := range c.unknown {
		kinds = append(kinds, fmt.Sprintf("%d %s (%s)", n, gvk.Kind, gvk.GroupVersion()))
	}
	slices.Sort(kinds)
	return kinds
}

// Sort prepares the cluster for reads.
func (c *Cluster) Sort() error {
	for gr, all := range c.objects {
		slices.SortFunc(all, compare)
		for i := range all[1:] {
			if compare(all[i], all[i+1]) == 0 {
				return fmt.Errorf("%s %s/%s is given twice", gr.Resource, all[i].namespace, all[i].name)
			}
		}
	}
	return nil
}

func compare(a, b object) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// Resource implements dynamic.Interface.
func (c *Cluster) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return resource{cluster: c, gvr: gvr}
}

// A resource reads one kind, in one namespace or in all. Its other verbs are nil.
type resource struct {
	dynamic.NamespaceableResourceInterface

	cluster   *Cluster
	gvr       schema.GroupVersionResource
	namespace string
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (r resource) Namespace(namespace string) dynamic.ResourceInterface {
	r.namespace = namespace
	return r
}

// Get implements dynamic.ResourceInterface.
func (r resource) Get(_ context.Context, name string, _ metav1.GetOptions,
	_ ...string) (*unstructured.Unstructured, error) {
	all := r.cluster.objects[r.gvr.GroupResource()]
	i, found := sort.Find(len(all), func(i int) int { return compare(object{namespace: r.namespace, name: name}, all[i]) })
	if !found {
		return nil, apierrors.NewNotFound(r.gvr.GroupResource(), name)
	}
	return r.decode(&all[i])
}

// List implements dynamic.ResourceInterface.
func (r resource) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	selector, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if options.FieldSelector != "" {
		return nil, errors.New("a dump has no field selectors")
	}
	start, _ := strconv.Atoi(options.Continue) // "": from the first one
	all := r.cluster.objects[r.gvr.GroupResource()]
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": r.gvr.GroupVersion().String(),
		"kind": "List"}}
	for i := start; i < len(all); i++ {
		if r.namespace != "" && all[i].namespace != r.namespace || !selector.Matches(all[i].labels) {
			continue
		}
		if options.Limit > 0 && int64(len(list.Items)) == options.Limit {
			list.SetContinue(strconv.Itoa(i))
			break
		}
		u, err := r.decode(&all[i])
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, *u)
	}
	return list, ctx.Err()
}

// decode returns an object in the version of the request.
func (r resource) decode(o *object) (*unstructured.Unstructured, error) {
	text, err := r.cluster.packers[r.gvr.GroupResource()].unpack(o.packed)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	u.SetAPIVersion(r.gvr.GroupVersion().String())
	return u, nil
}

// A packer compresses the texts of one kind. They resemble each other, so the first of them
// is the dictionary: a Deployment takes a few hundred bytes instead of 4 KB.
type packer struct {
	dictionary []byte
	out        bytes.Buffer
	to         *flate.Writer
	readers    sync.Pool // of flate.Resetter
}

// packLevel is the lowest level of flate that uses dictionaries.
const packLevel = 2

// pack returns a text, compressed.
func (p *packer) pack(text []byte) ([]byte, error) {
	p.out.Reset()
	var err error
	if p.to == nil {
		p.dictionary = bytes.Clone(text)
		p.to, err = flate.NewWriterDict(&p.out, packLevel, p.dictionary)
	} else {
		p.to.Reset(&p.out)
	}
	if err != nil {
		return nil, err
	}
	if _, err = p.to.Write(text); err == nil {
		err = p.to.Close()
	}
	return bytes.Clone(p.out.Bytes()), err
}

// unpack returns a text that was packed. It is safe for concurrent use.
func (p *packer) unpack(packed []byte) ([]byte, error) {
	from := bytes.NewReader(packed)
	r, _ := p.readers.Get().(io.ReadCloser)
	if r == nil {
		r = flate.NewReaderDict(from, p.dictionary)
	} else if err := r.(flate.Resetter).Reset(from, p.dictionary); err != nil {
		return nil, err
	}
	defer p.readers.Put(r)
	return io.ReadAll(r)
}

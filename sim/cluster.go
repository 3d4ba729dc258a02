package sim

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"reconcel/rules/schema"
)

// Options configure a Cluster. Kinds is required.
type Options struct {
	Kinds *Kinds
	Clock clock.PassiveClock // default: one that shows a fixed time
	// History is the least number of changes and writes that the cluster remembers; 0: all of them.
	History int
}

// A Cluster is a cluster in memory. Several goroutines may use it. It serves one request
// at a time.
type Cluster struct {
	kinds   atomic.Pointer[Kinds]
	clock   clock.PassiveClock
	history int

	mu sync.Mutex
	// objects in it are never changed
	objects   map[runtimeschema.GroupKind]map[types.NamespacedName]*unstructured.Unstructured
	version   int64             // the last resourceVersion
	born      map[objectKey]int // how many objects have had each name
	addresses int               // how many cluster IPs are allocated
	writes    []Write
	failures  []*Failure
	changes   []Change
	forgotten int           // changes before the first of changes
	changed   chan struct{} // closed at the next change; nil: nobody waits
	by        string        // the client whose request is served
	events    []Event
	queue     queue
	pool      pool
	follows   bool         // the kinds follow the CRDs, see Serve
	served    atomic.Int64 // the resourceVersion at which the kinds were last replaced
}

type objectKey struct {
	kind runtimeschema.GroupKind
	name types.NamespacedName
}

// epoch is the time of clusters without a clock.
var epoch = time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)

// Kinds returns the kinds that the cluster serves.
func (c *Cluster) Kinds() *Kinds { return c.kinds.Load() }

// New returns a cluster with the namespaces that every cluster has.
func New(options Options) (*Cluster, error) {
	if options.Kinds == nil {
		return nil, errors.New("sim: no kinds are given")
	}
	if options.Clock == nil {
		options.Clock = testclock.NewFakePassiveClock(epoch)
	}
	c := &Cluster{
		clock: options.Clock, history: options.History,
		objects: map[runtimeschema.GroupKind]map[types.NamespacedName]*unstructured.Unstructured{},
		born:    map[objectKey]int{},
		queue:   newQueue(), pool: newPool(),
		version: 1000, // No object has the "1" of an apply that only creates.
	}
	c.kinds.Store(options.Kinds)
	for _, name := range initial {
		if err := c.createNamespace(name); err != nil {
			return nil, err
		}
	}
	c.writes, c.changes = nil, nil
	return c, nil
}

// initial are the namespaces that every cluster has.
var initial = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

// IsInitial reports whether every cluster has a namespace of this name.
func IsInitial(namespace string) bool { return slices.Contains(initial, namespace) }

// Version returns the resourceVersion of the whole cluster.
func (c *Cluster) Version() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.versionLocked()
}

func (c *Cluster) versionLocked() string { return strconv.FormatInt(c.version, 10) }

func (c *Cluster) now() metav1.Time { return metav1.NewTime(c.clock.Now().UTC().Truncate(time.Second)) }

// load returns a stored object, or nil. Do not change it.
func (c *Cluster) load(gk runtimeschema.GroupKind, namespace, name string) *unstructured.Unstructured {
	return c.objects[gk][types.NamespacedName{Namespace: namespace, Name: name}]
}

// store replaces the stored object under a new resourceVersion. A custom resource is stored as it is read.
func (c *Cluster) store(u *unstructured.Unstructured) {
	c.version++
	u.SetResourceVersion(c.versionLocked())
	key := keyOf(u)
	if kinds := c.Kinds(); kinds.isCustom(u.GroupVersionKind()) {
		u = kinds.conforming(u)
	}
	c.set(key, u)
}

// Read returns a stored object as requests read it in a version. A custom resource that was stored with another schema,
// or in another version, gets the fields and the defaults of the schema of now. Do not change the result: it may be the
// stored object.
func (c *Cluster) Read(u *unstructured.Unstructured, gvk runtimeschema.GroupVersionKind) *unstructured.Unstructured {
	other := u.GroupVersionKind() != gvk
	if other {
		u = InVersion(u, gvk)
	}
	if kinds := c.Kinds(); kinds.isCustom(gvk) && (other || c.isOlder(u)) {
		return kinds.conforming(u)
	}
	return u
}

// isOlder reports whether an object was stored before the kinds were last replaced.
func (c *Cluster) isOlder(u *unstructured.Unstructured) bool {
	at, err := strconv.ParseInt(u.GetResourceVersion(), 10, 64)
	return err != nil || at <= c.served.Load()
}

func (c *Cluster) erase(u *unstructured.Unstructured) {
	c.version++
	c.set(keyOf(u), nil)
}

// set replaces a stored object by another one, or by none, and notes the change.
func (c *Cluster) set(key objectKey, u *unstructured.Unstructured) {
	before := c.load(key.kind, key.name.Namespace, key.name.Name)
	if u != nil && c.history > 0 { // Other clusters live shortly.
		shared, _ := c.pool.share(u.Object)
		u = &unstructured.Unstructured{Object: shared.(map[string]any)}
	}
	switch {
	case u == nil:
		delete(c.objects[key.kind], key.name)
	case c.objects[key.kind] == nil:
		c.objects[key.kind] = map[types.NamespacedName]*unstructured.Unstructured{key.name: u}
	default:
		c.objects[key.kind][key.name] = u
	}
	c.note(before, u)
	c.follow(key, before, u)
}

func nameOf(u *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}

// newUID returns the UID of a new object. It depends on the kind, the name, and how many
// objects had that name before. It does not depend on other objects, so that names made
// from UIDs stay the same when a test gets one object more.
func (c *Cluster) newUID(u *unstructured.Unstructured) types.UID {
	key := objectKey{u.GroupVersionKind().GroupKind(), nameOf(u)}
	c.born[key]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s#%d", key.kind, key.name, c.born[key]))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8, whose bits are free
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

// generated returns an unused name with a prefix.
func (c *Cluster) generated(k *schema.Kind, namespace, prefix string) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	for tries := 0; ; tries++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%s#%d", k.GVK.GroupKind(), namespace, prefix, tries))
		suffix := make([]byte, 5)
		for i := range suffix {
			suffix[i] = alphabet[int(sum[i])%len(alphabet)]
		}
		name := prefix + string(suffix)
		taken := c.born[objectKey{k.GVK.GroupKind(), types.NamespacedName{Namespace: namespace, Name: name}}] > 0
		if !taken {
			return name
		}
	}
}

// All returns copies of all objects, sorted by kind, namespace and name.
func (c *Cluster) All() []*unstructured.Unstructured {
	c.mu.Lock()
	var all []*unstructured.Unstructured
	for _, gk := range slices.SortedFunc(maps.Keys(c.objects), compareKinds) {
		all = append(all, c.sorted(gk, "")...)
	}
	c.mu.Unlock()
	for i, u := range all { // Nobody changes stored objects, so that the cluster can go on.
		all[i] = c.Read(u, u.GroupVersionKind()).DeepCopy()
	}
	return all
}

// Find returns a copy of one object, or nil if there is none.
func (c *Cluster) Find(gk runtimeschema.GroupKind, namespace, name string) *unstructured.Unstructured {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u := c.load(gk, namespace, name); u != nil {
		return c.Read(u, u.GroupVersionKind()).DeepCopy()
	}
	return nil
}

// sorted returns the stored objects of a kind by namespace and name. An empty namespace is all of them.
func (c *Cluster) sorted(gk runtimeschema.GroupKind, namespace string) []*unstructured.Unstructured {
	objects := c.objects[gk]
	names := make([]types.NamespacedName, 0, len(objects))
	for name := range objects {
		if namespace == "" || name.Namespace == namespace {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, compareNames)
	out := make([]*unstructured.Unstructured, len(names))
	for i, name := range names {
		out[i] = objects[name]
	}
	return out
}

// Put creates an object with its status, as another client would, and its namespace if that
// does not exist. The object keeps a uid that it has, so that others can refer to it, and its generation and a
// creationTimestamp in the past. It keeps its deletionTimestamp if it has finalizers.
func (c *Cluster) Put(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.Kinds().Kind(u.GroupVersionKind())
	if k == nil {
		return nil, fmt.Errorf("there is no kind %s", u.GroupVersionKind())
	}
	namespace := u.GetNamespace()
	if namespace != "" && k.Namespaced && c.load(namespaceKind, "", namespace) == nil {
		if err := c.createNamespace(namespace); err != nil {
			return nil, err
		}
	}
	u, err := decodeBody(u)
	if err != nil {
		return nil, err
	}
	r := &request{cluster: c, kind: k, namespace: namespace, name: u.GetName(), by: someone, manager: someone, given: u}
	if k.GVK.GroupKind() == namespaceKind && r.live() != nil {
		return r.update(withoutManagedFields(u)) // Every cluster has some, and Put makes others.
	}
	created, err := r.create(withoutManagedFields(u))
	status, has := u.Object["status"]
	if err != nil || !has || !k.Status {
		return created, err
	}
	r.name, r.subresource = created.GetName(), "status"
	next := created.DeepCopy()
	next.Object["status"] = status
	return r.update(next)
}

// someone is the field manager of writes that name none.
const someone = "someone"

// createNamespace creates a namespace without a request.
func (c *Cluster) createNamespace(name string) error {
	k := c.Kinds().Kind(runtimeschema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if k == nil {
		return errors.New("there is no kind Namespace")
	}
	u := newObject(k.GVK)
	u.SetName(name)
	u.SetUID(c.newUID(u))
	u.SetCreationTimestamp(c.now())
	labelNamespace(u)
	c.initialise(k, u)
	c.store(u)
	return nil
}

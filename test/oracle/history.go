package oracle

import (
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Key names an object.
type Key struct{ Kind, Namespace, Name string }

// String returns "Kind namespace/name".
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// version is one version of an object.
type version struct {
	object  *unstructured.Unstructured
	deleted bool
	at      time.Time
	order   int            // among all versions of the history, from 1
	values  map[string]int // of a Secret: the numbers of its values, by key
}

// History has every version of every object.
type History struct {
	mu       sync.Mutex
	recorded []Key // the object of each version, in their order
	versions map[Key][]version
	values   map[Key]map[string][]string // of Secrets: all values that a key has had
}

// NewHistory returns an empty history.
func NewHistory() *History {
	return &History{versions: map[Key][]version{}, values: map[Key]map[string][]string{}}
}

// Record adds an event of a watch.
func (h *History) Record(event watch.EventType, object *unstructured.Unstructured) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := Key{object.GetKind(), object.GetNamespace(), object.GetName()}
	h.recorded = append(h.recorded, key)
	h.versions[key] = append(h.versions[key],
		version{object, event == watch.Deleted, time.Now(), len(h.recorded), h.number(key, object)})
}

// Selection is a part of a history.
type Selection struct {
	history *History
	match   func(Key) bool
	names   Names
	cache   map[int]string // canonical objects, by order
	begun   int            // the number of versions when the selection was made

	read int          // the number of versions whose objects are known
	keys map[Key]bool // of these, those that match
}

// Select returns the part of the history with these objects. Whether an object matches must not
// change.
func (h *History) Select(names Names, match func(Key) bool) *Selection {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &Selection{history: h, match: match, names: names, cache: map[int]string{}, begun: len(h.recorded),
		keys: map[Key]bool{}}
}

// selected returns the keys of the selection. It reads what has been recorded since the last call
// alone: thousands of runs share a history. The history must be locked.
func (s *Selection) selected() map[Key]bool {
	for _, key := range s.history.recorded[s.read:] {
		if !s.keys[key] && s.match(key) {
			s.keys[key] = true
		}
	}
	s.read = len(s.history.recorded)
	return s.keys
}

// versionsByKey returns the versions of the selection by key, and the order of the last one.
func (s *Selection) versionsByKey() (all map[Key][]version, last int) {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	all = map[Key][]version{}
	for key := range s.selected() {
		versions := s.history.versions[key]
		all[key] = slices.Clone(versions)
		last = max(last, versions[len(versions)-1].order)
	}
	return all, last
}

// Last identifies the last version of the selection: it grows with each new version.
func (s *Selection) Last() int {
	_, last := s.versionsByKey()
	return last
}

func (s *Selection) canonical(v version) string {
	text, ok := s.cache[v.order]
	if !ok {
		text = s.names.canonical(v)
		s.cache[v.order] = text
	}
	return text
}

// State returns the existing objects, as canonical texts by masked key. Objects with
// generated names share a key.
func (s *Selection) State() map[string][]string {
	all, _ := s.versionsByKey()
	state := map[string][]string{}
	for key, versions := range all {
		if last := versions[len(versions)-1]; !last.deleted {
			masked := s.names.mask(key.String())
			state[masked] = append(state[masked], s.canonical(last))
			slices.Sort(state[masked])
		}
	}
	return state
}

// Live returns the last version of an existing object, or nil.
func (s *Selection) Live(key Key) *unstructured.Unstructured {
	all, _ := s.versionsByKey()
	if versions := all[key]; len(versions) > 0 && !versions[len(versions)-1].deleted {
		return versions[len(versions)-1].object
	}
	return nil
}

// Any returns an existing object of a kind, or nil.
func (s *Selection) Any(kind string) *unstructured.Unstructured {
	all, _ := s.versionsByKey()
	for key, versions := range all {
		if last := versions[len(versions)-1]; key.Kind == kind && !last.deleted {
			return last.object
		}
	}
	return nil
}

// Saw reports whether an object had a resourceVersion.
func (s *Selection) Saw(key Key, resourceVersion string) bool {
	all, _ := s.versionsByKey()
	return slices.ContainsFunc(all[key], func(v version) bool { return v.object.GetResourceVersion() == resourceVersion })
}

// Abandoned returns the existing objects whose controller does not exist: the garbage
// collector has not deleted them yet.
func (s *Selection) Abandoned() (found []Key) {
	all, _ := s.versionsByKey()
	live := map[types.UID]bool{}
	for _, versions := range all {
		if last := versions[len(versions)-1]; !last.deleted {
			live[last.object.GetUID()] = true
		}
	}
	for key, versions := range all {
		owner := metav1.GetControllerOf(versions[len(versions)-1].object)
		if owner != nil && !versions[len(versions)-1].deleted && !live[owner.UID] {
			found = append(found, key)
		}
	}
	return found
}

// Versions returns the resourceVersions of the existing objects.
func (s *Selection) Versions() map[Key]string {
	all, _ := s.versionsByKey()
	found := map[Key]string{}
	for key, versions := range all {
		if last := versions[len(versions)-1]; !last.deleted {
			found[key] = last.object.GetResourceVersion()
		}
	}
	return found
}

// incarnations returns the UIDs of an object in the order of their creation.
func incarnations(versions []version) (uids []types.UID) {
	for _, v := range versions {
		if uid := v.object.GetUID(); !slices.Contains(uids, uid) {
			uids = append(uids, uid)
		}
	}
	return uids
}

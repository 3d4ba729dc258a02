package watch

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// A Scope is the namespaces that are watched; an empty one is the whole cluster.
type Scope []string

// Contains reports whether a namespace is watched.
func (s Scope) Contains(namespace string) bool { return len(s) == 0 || slices.Contains(s, namespace) }

// OutsideError is the message about objects of a namespace that is not watched.
func (s Scope) OutsideError(namespace string) error {
	return fmt.Errorf("namespace %q is not one of those that reconcel watches: %s", namespace, strings.Join(s, ", "))
}

// Namespaces returns the namespaces to list, one by one; "" lists all at once.
func (s Scope) Namespaces() []string {
	if len(s) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return s
}

// A namespaced cache holds the objects of one namespace, or of the whole cluster.
type namespaced struct {
	namespace string // "": all
	content   atomic.Pointer[content]
	problem   atomic.Pointer[error] // why it is not listed yet; nil: it is listed
	denied    atomic.Pointer[error] // why it may not be read now; what it holds may be out of date
	denial    denial                // what was logged about that
}

// content is the result of one list and of the watch after it.
type content struct {
	objects cache.Indexer
	since   time.Time
}

// newNamespaced returns a namespaced cache that is not listed yet.
func newNamespaced(namespace string, indexers cache.Indexers) *namespaced {
	n := &namespaced{namespace: namespace}
	n.fill(cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers))
	err := ErrNotListed
	n.problem.Store(&err)
	return n
}

// fill replaces the objects. It returns those before, if there was a list.
func (n *namespaced) fill(objects cache.Indexer) (before cache.Indexer) {
	old := n.content.Swap(&content{objects, time.Now()})
	if n.problem.Swap(nil) != nil || old == nil {
		return nil
	}
	return old.objects
}

func (n *namespaced) objects() cache.Indexer { return n.content.Load().objects }

func (n *namespaced) listed() bool { return n.problem.Load() == nil }

// outOfDate returns why the cache does not show the present objects, or nil.
func (n *namespaced) outOfDate() error {
	for _, problem := range []*error{n.problem.Load(), n.denied.Load()} {
		if problem != nil {
			return *problem
		}
	}
	return nil
}

// logger adds the namespace to a log.
func (n *namespaced) logger(log *slog.Logger) *slog.Logger {
	if n.namespace == "" {
		return log
	}
	return log.With("namespace", n.namespace)
}

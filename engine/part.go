package engine

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"reconcel/rules"
)

// A part is what a cache holds of one namespace; a cache of all namespaces has
// one part. Each is listed and followed for itself, so that a namespace that
// may not be read holds up nothing in the others.
type part struct {
	namespace string // "": all
	listed    atomic.Pointer[listing]
	problem   atomic.Pointer[error] // why it is not filled yet; nil: it is
	refused   atomic.Pointer[error] // why it may not be read; if it was filled before, what it holds gets old
	denial    denial                // what people are told of that
}

// A listing is what was listed of a part, and what has come of it since.
type listing struct {
	objects cache.Indexer
	since   time.Time
}

// newPart returns a part that is still to be listed.
func newPart(namespace string, indexers cache.Indexers) *part {
	p := newFilledPart(namespace, cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers))
	p.problem.Store(&errStarting)
	return p
}

// newFilledPart returns a part that has been listed already.
func newFilledPart(namespace string, objects cache.Indexer) *part {
	p := &part{namespace: namespace}
	p.listed.Store(&listing{objects, time.Now()})
	return p
}

// objects returns what was last listed, and what has come of it since.
func (p *part) objects() cache.Indexer { return p.listed.Load().objects }

// size returns how many objects there are.
func (p *part) size() int { return len(p.objects().ListKeys()) }

// stale returns why the part does not show what there is, or nil.
func (p *part) stale() error {
	for _, problem := range []*error{p.problem.Load(), p.refused.Load()} {
		if problem != nil {
			return *problem
		}
	}
	return nil
}

// show makes objects those of the part. It returns those before, if it was filled.
func (p *part) show(objects cache.Indexer) (before cache.Indexer) {
	old := p.listed.Swap(&listing{objects, time.Now()})
	if p.problem.Swap(nil) != nil {
		return nil
	}
	return old.objects
}

func (p *part) filled() bool { return p.problem.Load() == nil }

// log returns the log for what is about the part.
func (p *part) log(log *slog.Logger) *slog.Logger {
	if p.namespace == "" {
		return log
	}
	return log.With("namespace", p.namespace)
}

// parts returns the namespaces of the parts of a cache, if these namespaces are
// followed; none stands for all.
func parts(namespaces []string) []string {
	if len(namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return namespaces
}

// partTrouble notes why a part is not filled, and logs it when it is news.
func (ws *watches) partTrouble(w *watch, p *part, err error) {
	if p.namespace != "" {
		err = fmt.Errorf("namespace %s: %w", p.namespace, err)
	}
	if old := p.problem.Swap(&err); old == nil || (*old).Error() != err.Error() {
		p.log(ws.log).Warn("cannot watch, will retry", "kind", w.key.gvk.String(), "reason", err)
	}
}

// refusal notes that a part may not be read, and logs it when that has lasted.
func (ws *watches) refusal(w *watch, p *part, err error) {
	p.refused.Store(&err)
	log := p.log(ws.log).With("kind", w.key.gvk.String(), "reason", err)
	switch {
	case !p.filled():
		ws.partTrouble(w, p, err)
		p.denial.noteTold(time.Now())
	case p.denial.note(time.Now()):
		log.Warn("lost permission to watch; cached data may be stale")
	default:
		log.Debug("watch denied, will retry")
	}
}

// part returns the part that has the objects of a namespace, or nil if it is
// not followed.
func (c *cached) part(namespace string) *part {
	for _, p := range c.parts {
		if p.namespace == "" || p.namespace == namespace {
			return p
		}
	}
	return nil
}

// shows reports whether the cache has the objects of a namespace.
func (c *cached) shows(namespace string) bool {
	p := c.part(namespace)
	return p != nil && p.filled()
}

// complete reports whether all parts are filled.
func (c *cached) complete() bool {
	return !slices.ContainsFunc(c.parts, func(p *part) bool { return !p.filled() })
}

// get returns the cached object, or nil. A cluster-scoped object has the
// namespace "".
func (c *cached) get(namespace, name string) *object {
	p := c.part(namespace)
	if p == nil {
		return nil
	}
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	item, ok, _ := p.objects().GetByKey(key)
	if !ok {
		return nil
	}
	o, _ := item.(*object)
	return o
}

// ownedBy returns the cached objects that belong to a primary.
func (c *cached) ownedBy(req Request) []any {
	items := c.collect(func(objects cache.Indexer) []any {
		owned, _ := objects.ByIndex(byOwner, string(req.UID)) // Its only error is an unknown index.
		return owned
	})
	return slices.DeleteFunc(items, func(item any) bool { return !item.(*object).belongsTo(req) })
}

// collect returns what all parts have together.
func (c *cached) collect(from func(cache.Indexer) []any) []any {
	if len(c.parts) == 1 {
		return from(c.parts[0].objects())
	}
	var all []any
	for _, p := range c.parts {
		all = append(all, from(p.objects())...)
	}
	return all
}

// list returns all cached objects.
func (c *cached) list() []any { return c.collect(cache.Indexer.List) }

// seen reports whether the cache has caught up with a resource version of an
// object in a namespace.
func (c *cached) seen(namespace, resourceVersion string) bool {
	p := c.part(namespace)
	if p == nil {
		return false
	}
	last := p.objects().LastStoreSyncResourceVersion()
	return last != "" && !older(last, resourceVersion)
}

// holds reports whether the cache has any child of a rule.
func (c *cached) holds(rule string) bool {
	return slices.ContainsFunc(c.list(), func(item any) bool { return item.(*object).rule() == rule })
}

// blindSpot returns why the cache does not show all that a rule may have made
// for a primary in a namespace, or nil if it does.
func (c *cached) blindSpot(r *rules.Rule, namespace string) error {
	for _, p := range c.parts {
		if problem := p.problem.Load(); problem != nil && (p.namespace == namespace || r.AllowsNamespace(p.namespace)) {
			return *problem
		}
	}
	return nil
}

// unread returns why the cache does not show all objects of a namespace, or
// with "" of all that are followed.
func (c *cached) unread(namespace string) error {
	for _, p := range c.parts {
		if problem := p.problem.Load(); problem != nil && (namespace == "" || p.namespace == namespace) {
			return *problem
		}
	}
	return nil
}

// unwatched names the first kind that a rule renders or reads and that is not
// shown where it matters to the primary, and why.
func (p *pass) unwatched(r *rules.RuleResult) (kind, why string) {
	if kind, why = p.primary.unwatched(r, p.req.Namespace); why != "" || r.Leaving || len(p.unread) == 0 {
		return kind, why
	}
	for _, l := range r.Rule.Lookups {
		if err := p.unread[l]; err != nil {
			return l.GVK.Kind, permission(err).Error()
		}
	}
	return "", ""
}

// notFollowed says that objects of a namespace are out of reach.
func (e *Engine) notFollowed(namespace string) string {
	return fmt.Sprintf("namespace %q is not one of those that reconcel watches: %s", namespace, strings.Join(e.options.Namespaces, ", "))
}

// follows reports whether a namespace is one of those that are followed.
func (e *Engine) follows(namespace string) bool {
	return len(e.options.Namespaces) == 0 || slices.Contains(e.options.Namespaces, namespace)
}

package change

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"reconcel/cli/internal/dryrun"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/sim"
)

// Unsent has what run --dry-run would write now. A dry run does not send its writes, so the cluster
// never answers them, and each reconciliation wants them again: a write that stays the same counts
// once. Several goroutines may use it.
type Unsent struct {
	mu     sync.Mutex
	wanted map[rules.Owner]map[plan.Part]plan.UnsentWrite
	count  *prometheus.CounterVec
	kinds  *sim.Kinds // with which writes are merged
	err    error      // the reason, if kinds is nil
}

// NewUnsent returns no writes. It knows the schemas of Kubernetes' own kinds.
func NewUnsent() *Unsent {
	u := &Unsent{wanted: map[rules.Owner]map[plan.Part]plan.UnsentWrite{},
		count: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "reconcel_dry_run_changes_total", Help: "Changes that a dry run would have made, by action and kind.",
		}, []string{"action", "kind"})}
	u.SetSchemas(schema.Builtin())
	return u
}

// SetSchemas replaces the schemas.
func (u *Unsent) SetSchemas(of *schema.Set) {
	kinds, err := sim.NewKinds(of)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kinds, u.err = kinds, err
}

// Client implements engine.DryRun.
func (u *Unsent) Client(live dynamic.Interface) dynamic.Interface {
	return dryrun.NewContinuous(live, func() (*sim.Kinds, error) {
		u.mu.Lock()
		defer u.mu.Unlock()
		return u.kinds, u.err
	})
}

// Begin implements engine.DryRun.
func (u *Unsent) Begin(ctx context.Context) (context.Context, func() []plan.UnsentWrite) {
	ctx, recorder := dryrun.Record(ctx)
	return ctx, func() (all []plan.UnsentWrite) {
		for _, w := range writtenObjects(recorder.Writes()) {
			if w.last.Err == nil && w.differs() {
				all = append(all, unsentOf(w))
			}
		}
		return all
	}
}

func unsentOf(w *written) plan.UnsentWrite {
	last := w.last
	return plan.UnsentWrite{
		Part: plan.Part{Resource: last.Resource.GroupResource(), Namespace: last.Namespace, Name: last.Name,
			Subresource: last.Subresource, Manager: managerOf(last)},
		Kind: w.object().GetKind(), Action: w.action(),
		Digest: digestOf(last.Body, w.object().GroupVersionKind().GroupKind() == secretKind),
	}
}

// differs reports whether the writes change more than the times of an object. Whoever owns the
// fields counts: to take over a field of the same value is a change.
func (w *written) differs() bool {
	if w.last.After == nil || w.first.Before == nil {
		return true
	}
	content := func(u *unstructured.Unstructured) map[string]any {
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
	return !equality.Semantic.DeepEqual(content(w.first.Before), content(w.last.After))
}

// digestOf returns the digest of the body of a write. It leaves out what differs between two
// writes that mean the same: the state that the write is for, times of conditions, and the
// values of Secrets, which may be generated. The hash of the rendering stands for those.
func digestOf(body []byte, isSecret bool) [sha256.Size]byte {
	var object map[string]any
	if json.Unmarshal(body, &object) != nil {
		return sha256.Sum256(body)
	}
	unstructured.RemoveNestedField(object, "metadata", "uid")
	unstructured.RemoveNestedField(object, "metadata", "resourceVersion")
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

// Replace implements engine.DryRun.
func (u *Unsent) Replace(of ident.Request, now []plan.UnsentWrite) (news []plan.UnsentWrite) {
	u.mu.Lock()
	defer u.mu.Unlock()
	before, all := u.wanted[of], map[plan.Part]plan.UnsentWrite{}
	for _, w := range now {
		all[w.Part] = w
		if before[w.Part] != w {
			news = append(news, w)
			u.count.WithLabelValues(string(w.Action), w.Kind).Inc()
		}
	}
	if u.wanted[of] = all; len(all) == 0 {
		delete(u.wanted, of)
	}
	return news
}

// A Line counts the writes of one kind with one action.
type Line struct {
	Action outcome.Action
	Kind   string // with the subresource, such as Foo/status
	Count  int
	Names  []string // of the first objects
}

// mostNames is how many objects a line names.
const mostNames = 5

// Lines returns the writes by action and kind. What several primaries want of one object counts once.
func (u *Unsent) Lines() (all []Line) {
	u.mu.Lock()
	defer u.mu.Unlock()
	type key struct {
		action outcome.Action
		kind   string
	}
	names := map[key]map[plan.Part]string{}
	for _, writes := range u.wanted {
		for part, w := range writes {
			k := key{w.Action, strings.TrimSuffix(w.Kind+"/"+w.Subresource, "/")}
			if names[k] == nil {
				names[k] = map[plan.Part]string{}
			}
			names[k][part] = strings.TrimPrefix(w.Namespace+"/"+w.Name, "/")
		}
	}
	order := []outcome.Action{outcome.Created, outcome.Configured, outcome.Deleted}
	for k, of := range names {
		sorted := slices.Compact(slices.Sorted(maps.Values(of)))
		all = append(all, Line{k.action, k.kind, len(of), sorted[:min(len(sorted), mostNames)]})
	}
	slices.SortFunc(all, func(a, b Line) int {
		return cmp.Or(slices.Index(order, a.Action)-slices.Index(order, b.Action), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// Text returns the writes as a table for people.
func (u *Unsent) Text() string {
	lines := u.Lines()
	if len(lines) == 0 {
		return "Nothing would be written (dry run).\n"
	}
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "ACTION\tKIND\tCOUNT\tOBJECTS")
	for _, line := range lines {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", line.Action, line.Kind, line.Count, strings.Join(line.Names, ", "))
	}
	_ = table.Flush() // A strings.Builder takes everything.
	return out.String()
}

var unsentDesc = prometheus.NewDesc("reconcel_dry_run_changes",
	"Changes that a dry run would make now, by action and kind.", []string{"action", "kind"}, nil)

// Describe implements prometheus.Collector.
func (u *Unsent) Describe(out chan<- *prometheus.Desc) {
	out <- unsentDesc
	u.count.Describe(out)
}

// Collect implements prometheus.Collector.
func (u *Unsent) Collect(out chan<- prometheus.Metric) {
	for _, line := range u.Lines() {
		out <- prometheus.MustNewConstMetric(unsentDesc, prometheus.GaugeValue, float64(line.Count), string(line.Action),
			line.Kind)
	}
	u.count.Collect(out)
}

package unwritten

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

// An Action is what a write would do to an object.
type Action string

// The actions.
const (
	Created    Action = "created"
	Configured Action = "configured"
	Deleted    Action = "deleted"
)

// A Part is what one field manager writes of an object.
type Part struct {
	Resource        schema.GroupResource
	Namespace, Name string
	Subresource     string
	Manager         string
}

// A Change is a write that a dry run does not send.
type Change struct {
	Part
	Kind   string
	Action Action
	Digest [sha256.Size]byte // equal for two writes that mean the same
}

// Object names the changed part of an object, such as Deployment/team/web or Foo/team/foo/status.
func (c Change) Object() string {
	return strings.TrimSuffix(fmt.Sprintf("%s/%s/%s", c.Kind, strings.TrimPrefix(c.Namespace+"/"+c.Name, "/"), c.Subresource), "/")
}

// Changes are those that a dry run would make now. Several goroutines may use them.
type Changes struct {
	mu     sync.Mutex
	wanted map[rules.Owner]map[Part]Change
	count  *prometheus.CounterVec
}

// NewChanges returns no changes.
func NewChanges() *Changes {
	return &Changes{wanted: map[rules.Owner]map[Part]Change{}, count: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "reconcel_dry_run_changes_total", Help: "Changes that a dry run would have made, by action and kind.",
	}, []string{"action", "kind"})}
}

// Replace replaces the changes that are wanted for a primary, or for a removed rule, and returns those that are
// new or differ from before.
func (c *Changes) Replace(of rules.Owner, now []Change) (news []Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, all := c.wanted[of], map[Part]Change{}
	for _, change := range now {
		all[change.Part] = change
		if before[change.Part] != change {
			news = append(news, change)
			c.count.WithLabelValues(string(change.Action), change.Kind).Inc()
		}
	}
	if c.wanted[of] = all; len(all) == 0 {
		delete(c.wanted, of)
	}
	return news
}

// A Line counts the changes of one kind with one action.
type Line struct {
	Action Action
	Kind   string // with the subresource, such as Foo/status
	Count  int
	Names  []string // of the first objects
}

// mostNames is how many objects a line names.
const mostNames = 5

// Lines returns the changes by action and kind. What several primaries want of one object counts once.
func (c *Changes) Lines() (all []Line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	type key struct {
		action Action
		kind   string
	}
	names := map[key]map[Part]string{}
	for _, changes := range c.wanted {
		for part, change := range changes {
			k := key{change.Action, strings.TrimSuffix(change.Kind+"/"+change.Subresource, "/")}
			if names[k] == nil {
				names[k] = map[Part]string{}
			}
			names[k][part] = strings.TrimPrefix(change.Namespace+"/"+change.Name, "/")
		}
	}
	order := []Action{Created, Configured, Deleted}
	for k, of := range names {
		sorted := slices.Compact(slices.Sorted(maps.Values(of)))
		all = append(all, Line{k.action, k.kind, len(of), sorted[:min(len(sorted), mostNames)]})
	}
	slices.SortFunc(all, func(a, b Line) int {
		return cmp.Or(slices.Index(order, a.Action)-slices.Index(order, b.Action), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// Text returns the changes as a table for people.
func (c *Changes) Text() string {
	lines := c.Lines()
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

var changesDesc = prometheus.NewDesc("reconcel_dry_run_changes",
	"Changes that a dry run would make now, by action and kind.", []string{"action", "kind"}, nil)

// Describe implements prometheus.Collector.
func (c *Changes) Describe(out chan<- *prometheus.Desc) {
	out <- changesDesc
	c.count.Describe(out)
}

// Collect implements prometheus.Collector.
func (c *Changes) Collect(out chan<- prometheus.Metric) {
	for _, line := range c.Lines() {
		out <- prometheus.MustNewConstMetric(changesDesc, prometheus.GaugeValue, float64(line.Count), string(line.Action), line.Kind)
	}
	c.count.Collect(out)
}

package change

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/dryrun"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/output"
	"reconcel/engine/discover"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/sim"
)

// A Source is what rules are compared with.
type Source struct {
	Rules   *rules.Loaded
	Policy  judge.Policy
	Cluster *cluster.Cluster
	// Schemas are the kinds of a cluster without an API server; nil: it is asked.
	Schemas  *schema.Set
	Local    bool             // send no dry runs
	Folders  bool             // the rules are those of folders; see AreSingle
	Progress *output.Progress // of the primaries
	Notes    []string         // lines for people
}

// Note adds a note.
func (s *Source) Note(format string, args ...any) {
	s.Notes = append(s.Notes, output.Printable(fmt.Sprintf(format, args...)))
}

// Judge returns the schemas of the cluster, also of the kinds of other rules, or the errors that
// would keep run from accepting the rules.
func (s *Source) Judge(ctx context.Context, others ...*rules.Program) (*schema.Set, error) {
	if s.Schemas != nil {
		return s.Schemas, judge.Of(s.Rules, s.Schemas, s.Policy).Err()
	}
	j := s.Cluster.Judge(ctx, s.Rules, s.Policy, others...)
	if j.Incomplete != nil {
		s.Note("cannot check the rules against all kinds of the cluster: %v", j.Incomplete)
	}
	if j.Kinds == nil {
		return schema.Builtin(), nil
	}
	return j.Kinds, j.Err()
}

// Client returns a client that writes nothing.
func (s *Source) Client(schemas *schema.Set) *dryrun.Client {
	kinds := func() (*sim.Kinds, error) { return sim.NewKinds(schemas) }
	if s.Local {
		return dryrun.NewLocal(s.Cluster.Client, kinds)
	}
	return dryrun.New(s.Cluster.Client, kinds)
}

// Each visits the objects of a kind in some namespaces, page by page. NamespaceAll stands for all
// namespaces of the policy.
func (s *Source) Each(ctx context.Context,
	from func(runtimeschema.GroupVersionResource, string) dynamic.ResourceInterface, k discover.Kind,
	namespaces []string, options metav1.ListOptions, visit func(*unstructured.Unstructured) error) error {
	for _, namespace := range s.namespaces(&k, namespaces) {
		var failed error
		err := cluster.ForEach(ctx, from(k.GVR, namespace), options, func(u *unstructured.Unstructured) {
			if failed == nil {
				failed = visit(u)
			}
		})
		if err != nil {
			return fmt.Errorf("list %s: %w", k.GVR.Resource, err)
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}

// namespaces returns those to list of a kind, each once. NamespaceAll stands for all namespaces of the policy.
func (s *Source) namespaces(k *discover.Kind, of []string) []string {
	switch {
	case slices.Contains(of, metav1.NamespaceAll) && k.Namespaced && len(s.Policy.Namespaces) > 0:
		of = s.Policy.Namespaces
	case slices.Contains(of, metav1.NamespaceAll), len(of) > 0 && !k.Namespaced:
		of = []string{metav1.NamespaceAll}
	}
	return slices.Compact(slices.Sorted(slices.Values(of)))
}

// chunk is the number of primaries that are compared before their results are used. It bounds the
// number of whole objects in memory.
const chunk = 64

// EachResult compares primaries, several at a time, because each of them mostly waits for
// responses. It visits the results in the order of the primaries.
func EachResult[P, R any](ctx context.Context, s *Source, primaries []P, compare func(P) R, visit func(R)) error {
	s.Progress.Total.Store(int64(len(primaries)))
	for some := range slices.Chunk(primaries, chunk) {
		results := make([]R, len(some))
		workqueue.ParallelizeUntil(ctx, 4*runtime.GOMAXPROCS(0), len(some), func(i int) {
			results[i] = compare(some[i])
			s.Progress.Step()
		})
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, r := range results {
			visit(r)
		}
	}
	return nil
}

package ruletest

import (
	"context"
	"runtime"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/sim"
	"reconcel/sim/world"
)

// Options are the settings of Run.
type Options struct {
	// Place returns a new place for one case, with the program and the kinds of the
	// setting. Default: InMemory.
	Place func(Setting) (Place, error)
	// Only selects cases; nil selects all.
	Only func(*Case) bool
	// Update writes snapshots instead of comparing them.
	Update bool
}

// A Result has the results of the cases of a file.
type Result struct {
	File  string
	Err   error        // why the file could not run; nil: it ran
	Cases []CaseResult // cases that ran, in the order of the file
	Took  time.Duration
}

// A CaseResult is the result of one case.
type CaseResult struct {
	Case     *Case
	Failures []Failure // empty: the case passed
	Took     time.Duration

	// The controller's writes and the Events in the failed step.
	Writes []sim.Write
	Events []sim.Event
}

// Passed reports whether the file ran and all its cases passed.
func (r *Result) Passed() bool { return r.Err == nil && r.failed() == 0 }

// failed returns the number of failed cases.
func (r *Result) failed() (n int) {
	for i := range r.Cases {
		if !r.Cases[i].Passed() {
			n++
		}
	}
	return n
}

// Passed reports whether the case has no failures.
func (r *CaseResult) Passed() bool { return len(r.Failures) == 0 }

// Run runs the cases of test files, GOMAXPROCS at a time. The results are in the
// order of the files and of the cases in them.
func Run(ctx context.Context, suites []*Suite, options Options) []Result {
	if options.Place == nil {
		options.Place = InMemory
	}
	results := make([]Result, len(suites))
	jobs := make(chan func())
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for job := range jobs {
				job()
			}
		})
	}
	for i, s := range suites {
		results[i].File = s.name
		for _, c := range s.cases {
			if options.Only == nil || options.Only(c) {
				results[i].Cases = append(results[i].Cases, CaseResult{Case: c})
			}
		}
		for j := range results[i].Cases {
			jobs <- func() { s.run(ctx, &options, &results[i].Cases[j]) }
		}
	}
	close(jobs)
	workers.Wait()
	for i := range results {
		for j := range results[i].Cases {
			results[i].Took += results[i].Cases[j].Took
		}
	}
	return results
}

func (s *Suite) run(ctx context.Context, options *Options, r *CaseResult) {
	began := time.Now()
	defer func() { r.Took = time.Since(began) }()
	place, err := options.Place(s.setting)
	if err != nil {
		r.Failures = failureAt(r.Case.Pos, "%v", err)
		return
	}
	p := &player{suite: s, options: options, c: r.Case, place: place, programs: []*rules.Program{s.setting.Program}}
	r.Failures = p.play(ctx)
	if len(r.Failures) > 0 && r.Failures[0].Step > 0 {
		r.Writes, r.Events = p.writes, p.events
	}
}

// InMemory returns a new Memory.
func InMemory(s Setting) (Place, error) {
	w, err := world.New(world.Options{Program: s.Program, Kinds: s.Kinds, Coverage: s.Coverage})
	if err != nil {
		return nil, err
	}
	return memory{w}, nil
}

// A memory is a world.World as a Place.
type memory struct{ *world.World }

var _ Memory = memory{}

func (m memory) Put(_ context.Context, u *unstructured.Unstructured) error {
	_, err := m.Cluster().Put(u)
	return err
}

func (m memory) Client() dynamic.Interface { return m.Cluster().Client(someone) }

func (m memory) MarkReady(_ context.Context, kind *schema.Kind, namespace, name string) error {
	return m.Cluster().MarkReady(kind.GVK, namespace, name)
}

func (m memory) Objects(context.Context) ([]*unstructured.Unstructured, error) {
	return m.World.Objects(), nil
}

func (m memory) Events(context.Context) ([]sim.Event, error) { return m.Cluster().Events(), nil }

func (m memory) Fail(f sim.Failure) {
	f.By = world.Controller
	m.Cluster().Fail(f)
}

func (m memory) Uncollected() *sim.Write { return m.Cluster().Uncollected() }

func (m memory) Recover() { m.Cluster().Recover() }

func (m memory) Pending() []sim.Failure { return m.Cluster().Pending() }

package ruletest

import (
	"context"
	"runtime"
	"sync"
	"time"

	"reconcel/rules"
	"reconcel/sim"
)

// Options say how suites are run.
type Options struct {
	// Place makes a place for one case, which has the program and the kinds of the
	// setting. Default: InMemory.
	Place func(Setting) (Place, error)
	// Only selects cases; nil selects all.
	Only func(*Case) bool
	// Update writes snapshots instead of comparing with them.
	Update bool
}

// A Result is what came of the cases of a file.
type Result struct {
	File  string
	Err   error        // it could not be run at all; nil: it was
	Cases []CaseResult // those that were run, in the order of the file
	Took  time.Duration
}

// A CaseResult is what came of a case.
type CaseResult struct {
	Case     *Case
	Failures []StepFailure // none: it has passed
	Took     time.Duration

	// What the controller wrote, and the Events, in the step that failed.
	Writes []sim.Write
	Events []sim.Event
}

// Passed reports whether everything was as expected.
func (r *Result) Passed() bool { return r.Err == nil && r.failed() == 0 }

// failed counts the cases that failed.
func (r *Result) failed() (n int) {
	for i := range r.Cases {
		if !r.Cases[i].Passed() {
			n++
		}
	}
	return n
}

// Passed reports whether everything was as expected.
func (r *CaseResult) Passed() bool { return len(r.Failures) == 0 }

// Run runs the cases of some files, as many at a time as there are processors.
// The results are in the order of the files and the cases in them.
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
		results[i].File = s.file.Name
		for _, c := range s.file.Cases {
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
		r.Failures = inStep(0, failureAt(r.Case.Pos, "%v", err))
		return
	}
	p := &player{suite: s, options: options, c: r.Case, place: place, programs: []*rules.Program{s.setting.Program}}
	r.Failures = p.play(ctx)
	if len(r.Failures) > 0 && r.Failures[0].Step > 0 {
		r.Writes, r.Events = p.writes, p.events
	}
}

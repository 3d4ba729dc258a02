//go:build integration

package campaign

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/soak"
)

// size is the amount of work in a campaign of reloads.
type size struct {
	items     int
	parts     int           // of the campaign, with a rest between them
	good, bad int           // files in each part
	lasts     time.Duration // the minimum duration of a part
}

// placing is an edition that was active.
type placing struct {
	edition
	placed, followed time.Time // followed is never too early
}

// reading is a process that uses the rules in a folder.
type reading struct {
	*testing.T
	cluster *devcluster.Cluster
	process *process
	debug   string // the debug address
	binary  string
	folder  *folder
	world   *world
	random  *rand.Rand
	history []placing
	order   []int // of the damages
	damaged int

	goroutines int // the first count of the process
}

// TestReloads replaces the rules again and again, by valid and invalid ones, while
// primaries change all the time.
func TestReloads(t *testing.T) {
	t.Parallel()
	s := size{items: 30, parts: 1, good: 15, bad: 8}
	if soak.Enabled() {
		s = size{items: 200, parts: 2, good: 250, bad: 30, lasts: 5 * time.Minute}
	}
	r := newReading(t, s)
	began := time.Now()
	lap := func(what string) { t.Logf("%s after %s", what, time.Since(began).Round(10*time.Millisecond)) }
	prints := []footprint{r.settle()}
	for range s.parts {
		lap("at rest")
		r.changes(s)
		lap("changed")
		prints = append(prints, r.settle())
	}
	compare(t, prints)
	r.judge()

	reference := r.world.state()
	r.restart()
	r.quiet()
	lap("at rest after another start")
	r.fromScratch()
	lap("made from scratch")
	if diff := cmp.Diff(r.world.state(), reference); diff != "" {
		t.Errorf("other than a start from scratch (-scratch +campaign)\n%s", diff[:min(len(diff), 8<<10)])
	}
}

func newReading(t *testing.T, s size) *reading {
	t.Helper()
	r := &reading{T: t, binary: e2e.Build(t), folder: &folder{path: t.TempDir()}, random: chance(t)}
	r.order = r.random.Perm(len(damages))
	r.cluster = devcluster.Start(t, devcluster.Options{})
	establish(t, r.cluster, "Item", "Other")
	r.world = newWorld(t, r.cluster, s.items)
	r.history = []placing{{edition: edition{0, atRest}, placed: time.Now()}}
	if err := r.folder.rename(r.history[0].rules()); err != nil {
		t.Fatal(err)
	}
	r.start()
	return r
}

func (r *reading) start() {
	r.Helper()
	r.debug = freeAddress(r.T)
	r.process = start(r.T, r.binary, "reconcel", "-f", r.folder.path, "--kubeconfig", r.cluster.UserKubeconfig(r.T, "reconcel"),
		"--listen", "127.0.0.1:0", "--namespace", "default", "--debug-listen", r.debug, "--pprof", "--max-deletions", "100%") // Editions at random may delete most objects.
	r.process.Logs("msg=running", 30*time.Second)
}

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func (r *reading) restart() {
	r.Helper()
	r.process.Signal(syscall.SIGTERM)
	if err := r.process.Ends(10 * time.Second); err != nil {
		r.Errorf("it was asked to stop, and ended with %v", err)
	}
	r.start()
}

// now returns the active edition.
func (r *reading) now() edition { return r.history[len(r.history)-1].edition }

// changes is one part of the campaign.
func (r *reading) changes(s size) {
	r.Helper()
	todo := slices.Concat(slices.Repeat([]bool{true}, s.good), slices.Repeat([]bool{false}, s.bad))
	r.random.Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
	r.world.change()
	defer r.world.rest()
	pace := time.NewTicker(max(time.Millisecond, s.lasts/time.Duration(len(todo))))
	defer pace.Stop()
	for _, good := range todo {
		if good {
			r.reload(part(r.random.IntN(anything + 1)))
		} else {
			r.damage()
		}
		<-pace.C
	}
}

// reload replaces the rules by the next edition, and waits until it is active.
func (r *reading) reload(parts part) {
	r.Helper()
	before := r.process.metrics(r.T)
	next := placing{edition: edition{r.now().version + 1, parts}, placed: time.Now()}
	r.place(next.rules())
	e2e.Eventually(r.T, fmt.Sprintf("edition %d to be followed", next.version), 30*time.Second, func() error {
		now := r.process.metrics(r.T)
		if now.hash == before.hash || now.values[reloadSuccessful] != 1 {
			return fmt.Errorf("%s is followed, as before", now.hash)
		}
		return nil
	})
	next.followed = time.Now()
	r.history = append(r.history, next)
}

// place writes a text to the folder in one of the ways.
func (r *reading) place(text string) {
	r.Helper()
	ways := r.folder.ways()
	if err := ways[r.random.IntN(len(ways))](text); err != nil {
		r.Fatal(err)
	}
}

const reloadSuccessful = "reconcel_rules_last_reload_successful"

// damage replaces the rules by invalid ones. The last valid rules stay active.
func (r *reading) damage() {
	r.Helper()
	d := damages[r.order[r.damaged%len(damages)]]
	r.damaged++
	before := r.process.metrics(r.T)
	good := r.now()
	if d.do != nil {
		if err := d.do(r.folder, good.rules()); err != nil {
			r.Fatal(err)
		}
	} else {
		r.place(d.text(edition{good.version + 1, good.parts}.rules()))
	}
	e2e.Eventually(r.T, d.name+" to be refused", 30*time.Second, func() error {
		if r.process.metrics(r.T).values[reloadSuccessful] != 0 {
			return errors.New("it has not been yet")
		}
		return nil
	})
	if err := r.process.ready(r.T); err != nil {
		r.Errorf("%s: it is not ready any more: %v", d.name, err)
	}
	r.world.probe(r.T, d.name, good)
	if now := r.process.metrics(r.T); now.hash != before.hash || now.values[reloadSuccessful] != 0 {
		r.Errorf("%s: %s is followed, and not the last good rules %s", d.name, now.hash, before.hash)
	}
}

// settle returns the footprint of the process once everything has converged.
func (r *reading) settle() footprint {
	r.Helper()
	r.reload(atRest)
	r.world.converges(r.now())
	// The inventory forgets deleted children some seconds later. The next reload stops
	// the watches that were needed for that.
	e2e.Eventually(r.T, "nothing to be left of former rules", 30*time.Second, func() error { return r.world.remembers("ServiceAccount") })
	r.reload(atRest)
	r.world.converges(r.now())
	var f footprint
	e2e.Eventually(r.T, "the watches to be those that the rules need", 30*time.Second, func() error {
		f = r.footprint()
		if diff := cmp.Diff(r.now().watches(), f.watches); diff != "" {
			return fmt.Errorf("(-needed +open)\n%s", diff)
		}
		return nil
	})
	r.quiet()
	// Events are sent in the background, and may be late after much work.
	e2e.Eventually(r.T, "what runs beside the work to end", time.Minute, func() error {
		const slack = 10
		f = r.footprint()
		if r.goroutines == 0 {
			r.goroutines = f.goroutines
		}
		if f.goroutines > r.goroutines+slack {
			return fmt.Errorf("there are %d goroutines, and there were %d at first", f.goroutines, r.goroutines)
		}
		return nil
	})
	return f
}

// quiet checks that nothing but Events is written for a while.
func (r *reading) quiet() {
	r.Helper()
	since := time.Now()
	e2e.Rest(r.T, 2*time.Second)
	found := r.world.requests(func(q devcluster.Request) bool {
		return q.User == "reconcel" && q.IsWrite() && q.Resource != "events" && q.Resource != "leases" && q.Received.After(since)
	})
	if len(found) > 0 {
		r.Errorf("%d writes at rest: %v", len(found), devcluster.Tally(found))
	}
}

// fromScratch deletes everything, and has a new process create it again with the same
// rules.
func (r *reading) fromScratch() {
	r.Helper()
	r.process.Signal(syscall.SIGTERM)
	if err := r.process.Ends(10 * time.Second); err != nil {
		r.Errorf("it was asked to stop, and ended with %v", err)
	}
	r.world.clear()
	r.world.create()
	r.folder = &folder{path: filepath.Join(r.TempDir())}
	if err := r.folder.rename(r.now().rules()); err != nil {
		r.Fatal(err)
	}
	r.start()
	r.world.converges(r.now())
	r.quiet()
}

// judge compares the writes with the rules.
func (r *reading) judge() {
	r.Helper()
	ofPart := map[string]part{"account": account, "extra": extra}
	removals := map[part]int{} // how often each part was taken out
	for i, p := range r.history[1:] {
		for _, one := range ofPart {
			if r.history[i].has(one) && !p.has(one) {
				removals[one]++
			}
		}
	}
	deleted := map[string]int{}
	for _, q := range r.world.requests(func(q devcluster.Request) bool {
		return q.User == "reconcel" && (q.Verb == "delete" || q.Verb == "deletecollection")
	}) {
		part, known := ofPart[suffix(q.Name)]
		if !known || !r.lacked(part, q.Received) {
			r.Errorf("%s %s was sent at %s, which no rule asked for", q, q.Name, q.Received)
		}
		if q.Code == 200 {
			deleted[q.Name]++
		}
	}
	for name, times := range deleted {
		if asked := removals[ofPart[suffix(name)]]; times > asked {
			r.Errorf("%s was deleted %d times, and %d times taken out of the rules", name, times, asked)
		}
	}
	r.Logf("%d editions and %d bad files, %d changes; %d children taken away", len(r.history), r.damaged, r.world.changes, len(deleted))
	r.Logf("accounts were taken out of the rules %d times, extras %d times", removals[account], removals[extra])
	r.world.judge()
}

// lacked reports whether rules without a part may have been active at a time.
func (r *reading) lacked(p part, at time.Time) bool {
	for i, one := range r.history {
		ended := i+1 < len(r.history) && r.history[i+1].followed.Before(at)
		if !one.has(p) && one.placed.Before(at) && !ended {
			return true
		}
	}
	return false
}

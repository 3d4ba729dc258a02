package rulewatch

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"

	"reconcel/cli/internal/files"
	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/test/e2e"
)

// A follower is what follows the rules that a ruleWatch finds to be right.
type follower struct {
	mu      sync.Mutex
	names   string // of the rules that are followed
	notes   []string
	failing error
}

func (f *follower) follow(_ context.Context, p *rules.Program) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing != nil {
		return f.failing
	}
	var names []string
	for _, primary := range p.Primaries() {
		for _, r := range primary.Rules {
			names = append(names, r.Name)
		}
	}
	f.names = strings.Join(names, " ")
	return nil
}

func (f *follower) refuse(note string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notes = append(f.notes, note)
}

func (f *follower) firstNote() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.notes[0]
}

func (f *follower) said() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.notes)
}

func (f *follower) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failing = err
}

func (f *follower) state() (names string, notes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.names, len(f.notes)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// named are rules of these names.
func named(names ...string) string {
	text := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"
	for _, n := range names {
		text += fmt.Sprintf("- {name: %s, for: {apiVersion: example.com/v1, kind: A}}\n", n)
	}
	return text
}

// watchOf returns the options of a watch of a path.
func watchOf(path string) (Options, *follower, *prometheus.Registry) {
	f, registry := &follower{}, prometheus.NewRegistry()
	return Options{
		Paths: files.Reloadable([]string{path}),
		Read:  func() ([]source.File, source.Errors) { return files.Reader{}.Rules([]string{path}) },
		Check: func(context.Context, *rules.Loaded) error { return nil }, Reload: f.follow, Reject: f.refuse,
		Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(registry),
	}, f, registry
}

// startWatch starts a watch until the test ends.
func startWatch(t *testing.T, options Options) {
	t.Helper()
	active, unread := options.Read()
	if len(unread) > 0 {
		t.Fatal(unread)
	}
	ctx, cancel := context.WithCancel(t.Context())
	running := New(options, rules.Compile(active)).Start(ctx)
	t.Cleanup(func() { cancel(); running.Wait() })
}

// watch watches a path.
func watch(t *testing.T, path string) (*follower, *prometheus.Registry) {
	t.Helper()
	w, f, registry := watchOf(path)
	startWatch(t, w)
	return f, registry
}

// value returns whether the metrics say that the rules of the files are followed.
func value(t *testing.T, metrics *prometheus.Registry) float64 {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "reconcel_rules_last_reload_successful" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("there is no such metric")
	return 0
}

// awaitState waits until these rules are followed and so many notes were given.
func awaitState(t *testing.T, f *follower, names string, notes int) {
	t.Helper()
	var gotNames string
	var gotNotes int
	if !eventually(t, func() bool {
		gotNames, gotNotes = f.state()
		return gotNames == names && gotNotes == notes
	}) {
		t.Fatalf("after %s the rules %q are followed, with %d notes; want %q with %d", e2e.Patience, gotNames, gotNotes, names, notes)
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, so func() bool) bool {
	t.Helper()
	asked := func(context.Context) (bool, error) { return so(), nil }
	return wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, e2e.Patience, true, asked) == nil
}

// TestFileBesideRulesIsReadAgain changes a file that a rule reads. One that is gone leaves the active rules as they are.
func TestFileBesideRulesIsReadAgain(t *testing.T) {
	folder := t.TempDir()
	board := filepath.Join(folder, "board.json")
	write(t, board, "a")
	write(t, filepath.Join(folder, "rules.yaml"), "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+
		"- {name: a, for: {apiVersion: example.com/v1, kind: A}, status: {x: \"${file('board.json')}\"}}\n")
	options, _, _ := watchOf(filepath.Join(folder, "rules.yaml"))
	texts, rejected := make(chan string, 1), make(chan string, 1)
	options.Reload = func(_ context.Context, p *rules.Program) error {
		texts <- p.Sources()[0].Beside[0].Text
		return nil
	}
	options.Reject = func(note string) { rejected <- note }
	startWatch(t, options)
	await := func(news chan string, want string) {
		t.Helper()
		select {
		case got := <-news:
			if !strings.Contains(got, want) {
				t.Fatalf("got %q, want %q", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("after 10 s there is no %q", want)
		}
	}
	write(t, board, "b")
	await(texts, "b")
	if err := os.Remove(board); err != nil {
		t.Fatal(err)
	}
	await(rejected, "there is no such file")
	write(t, board, "c")
	await(texts, "c")
}

func TestRulesAreReadAgain(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(t *testing.T, folder string)
		want   string
	}{
		{"written", func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, "rules.yaml"), named("a", "b"))
		}, "a b"},
		{"renamed, as editors do", func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, ".rules.yaml.swp"), named("b"))
			move(t, filepath.Join(folder, ".rules.yaml.swp"), filepath.Join(folder, "rules.yaml"))
		}, "b"},
		{"a file more", func(t *testing.T, folder string) {
			write(t, filepath.Join(folder, "second.yaml"), named("c"))
		}, "a c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			write(t, filepath.Join(folder, "rules.yaml"), named("a"))
			f, metrics := watch(t, folder)
			test.change(t, folder)
			awaitState(t, f, test.want, 0)
			if got := value(t, metrics); got != 1 {
				t.Errorf("the metric says %v", got)
			}
		})
	}
}

// TestRulesWrittenInTwoParts writes the second part when the first one has been read.
func TestRulesWrittenInTwoParts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, named("a"))
	w, f, _ := watchOf(file)
	all, read := named("a", "b"), w.Read
	half := all[:len(all)-20]
	w.Read = func() ([]source.File, source.Errors) {
		sources, unread := read()
		if len(sources) == 1 && string(sources[0].Data) == half {
			write(t, file, all)
		}
		return sources, unread
	}
	startWatch(t, w)
	write(t, file, half)
	awaitState(t, f, "a b", 0)
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestMountedConfigMap switches the link as the kubelet does: the file itself is
// a link that stays.
func TestMountedConfigMap(t *testing.T) {
	folder := t.TempDir()
	link := func(to, from string) {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	version := func(name, text string) {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, name, "rules.yaml"), text)
	}
	version("..1", named("a"))
	link("..1", filepath.Join(folder, "..data"))
	link(filepath.Join("..data", "rules.yaml"), filepath.Join(folder, "rules.yaml"))
	for name, path := range map[string]string{"the folder": folder, "the file": filepath.Join(folder, "rules.yaml")} {
		t.Run(name, func(t *testing.T) {
			f, _ := watch(t, path)
			next := "..of-" + strings.ReplaceAll(name, " ", "-")
			version(next, named("b", "c"+strings.ReplaceAll(name, " ", "-")))
			link(next, filepath.Join(folder, "..data_tmp"))
			move(t, filepath.Join(folder, "..data_tmp"), filepath.Join(folder, "..data"))
			awaitState(t, f, "b c"+strings.ReplaceAll(name, " ", "-"), 0)
		})
	}
}

func TestInvalidRulesAreNotActivated(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, named("a"))
	f, metrics := watch(t, file)
	write(t, file, named("b"))
	awaitState(t, f, "b", 0)
	write(t, file, named("B!"))
	awaitState(t, f, "b", 1)
	if got := value(t, metrics); got != 0 {
		t.Errorf("the metric says %v", got)
	}
	if note := f.firstNote(); !strings.Contains(note, "rules.yaml:4:") || !strings.Contains(note, "last valid rules") {
		t.Errorf("the note is %q", note)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	awaitState(t, f, "b", 2)
	for i, nothing := range []string{"", "# soon\n", "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"} {
		write(t, file, nothing)
		awaitState(t, f, "b", 3+i)
	}
	write(t, file, named("c"))
	awaitState(t, f, "c", 5)
	if got := value(t, metrics); got != 1 {
		t.Errorf("the metric says %v", got)
	}
}

// awaitValue waits until the metrics say whether the rules of the files are
// followed.
func awaitValue(t *testing.T, metrics *prometheus.Registry, want float64) {
	t.Helper()
	if !eventually(t, func() bool { return value(t, metrics) == want }) {
		t.Fatalf("after %s the metric is %v, want %v", e2e.Patience, value(t, metrics), want)
	}
}

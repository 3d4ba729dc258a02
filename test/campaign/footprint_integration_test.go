//go:build integration

package campaign

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"reconcel/test/devcluster"
	"reconcel/test/soak"
)

// sample is the metrics of a process.
type sample struct {
	values map[string]float64 // of metrics without labels
	hash   string             // of the active rules
}

// What the log says about the addresses of a process.
var (
	listens      = regexp.MustCompile(`\blisten=(127\.0\.0\.1:\d+)`)
	debugListens = regexp.MustCompile(`\bdebugListen=(127\.0\.0\.1:\d+)`)
)

// get sends a request to the process.
func (p *process) get(t *testing.T, path string) (int, string) {
	t.Helper()
	return p.getFrom(t, listens, path)
}

// getFrom sends a request to one of the addresses of the process.
func (p *process) getFrom(t *testing.T, address *regexp.Regexp, path string) (int, string) {
	t.Helper()
	at := address.FindStringSubmatch(p.Log())
	if at == nil {
		t.Fatalf("%s does not say where it listens", p.Name)
	}
	response, err := http.Get("http://" + at[1] + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func (p *process) ready(t *testing.T) error {
	t.Helper()
	if code, body := p.get(t, "/readyz"); code != http.StatusOK {
		return fmt.Errorf("%d: %s", code, body)
	}
	return nil
}

func (p *process) metrics(t *testing.T) sample {
	t.Helper()
	_, body := p.get(t, "/metrics")
	s := sample{values: map[string]float64{}}
	for line := range strings.Lines(body) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if hash, ok := strings.CutPrefix(name, "reconcel_rules_info{hash="); ok {
			s.hash = hash
		}
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			s.values[name] = number
		}
	}
	return s
}

// footprint is the resource use of a process.
type footprint struct {
	goroutines int
	kibibytes  int      // in use
	resident   int      // MiB that the system has allocated, including the last peak for a while
	watches    []string // resources
}

func (f footprint) String() string {
	return fmt.Sprintf("%d goroutines, %d KiB in use, %d MiB resident, %d watches", f.goroutines, f.kibibytes, f.resident, len(f.watches))
}

// footprint measures the process. The API server reports its watches.
func (r *reading) footprint() footprint {
	r.Helper()
	m := r.process.metrics(r.T).values
	f := footprint{goroutines: int(m["go_goroutines"]), kibibytes: inUse(r.T, r.debug) >> 10, resident: int(m["process_resident_memory_bytes"]) >> 20}
	for _, q := range r.world.requests(func(q devcluster.Request) bool {
		return q.User == "reconcel" && q.Verb == "watch" && q.Completed.IsZero()
	}) {
		f.watches = append(f.watches, q.Resource)
	}
	slices.Sort(f.watches)
	return f
}

var heapAlloc = regexp.MustCompile(`# HeapAlloc = (\d+)`)

// inUse returns the bytes that remain in use after a garbage collection of the process
// with this debug address.
func inUse(t *testing.T, debug string) int {
	t.Helper()
	response, err := http.Get("http://" + debug + "/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := heapAlloc.FindSubmatch(body)
	if found == nil {
		t.Fatalf("the profile does not tell of the heap: %.200s", body)
	}
	bytes, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// compare checks that the memory use stops growing. It ignores the first measurements,
// when the process has used hardly any memory.
func compare(t *testing.T, prints []footprint) {
	t.Helper()
	for _, f := range prints {
		t.Logf("at rest: %s", f)
	}
	last, before := prints[len(prints)-1], prints[len(prints)-2]
	if soak.Enabled() && last.kibibytes*10 > before.kibibytes*12 {
		t.Errorf("the last part needed %d KiB, and that before it %d", last.kibibytes, before.kibibytes)
	}
}

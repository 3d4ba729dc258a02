package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[len(hundred)-1-i] = time.Duration(i + 1)
	}
	for _, test := range []struct {
		values []time.Duration
		p      float64
		want   time.Duration
	}{
		{hundred, 50, 50}, {hundred, 99, 99}, {hundred, 100, 100}, {hundred, 0.1, 1},
		{[]time.Duration{7}, 99, 7},
		{[]time.Duration{3, 1, 2}, 50, 2},
		{[]time.Duration{3, 1, 2}, 99, 3},
		{nil, 50, 0},
	} {
		if got := Percentile(test.values, test.p); got != test.want {
			t.Errorf("p%g of %d values: got %d, want %d", test.p, len(test.values), got, test.want)
		}
	}
	if hundred[0] != 100 {
		t.Error("the values are no longer in the order of the caller")
	}
}

// round returns the results of a round in which a machine is slow by a factor: 10 s of the
// baseline, and 8 s of reconcel.
func round(number int, slow time.Duration) []Result {
	result := func(competitor string, seconds time.Duration, writes int) Result {
		step := Step{Children: seconds * time.Second * slow / 2, Statuses: seconds * time.Second * slow,
			CPU: seconds * time.Second, Writes: writes, Requests: map[string]int{"patch deployments.apps": writes}}
		return Result{Competitor: competitor, N: 1000, Round: number, Peak: 50e6, Create: step, Update: step, Delete: step}
	}
	reconcel := result(Reconcel, 8, 2500)
	reconcel.Rest = &Rest{Duration: 20 * time.Second}
	reconcel.Create.Requests["get discovery"] = 5
	return []Result{result(Floor, 5, 2000), result(Baseline, 10, 2000), reconcel}
}

// rows returns the cells of the rows with this name.
func rows(tables, name string) (found []string) {
	for line := range strings.Lines(tables) {
		if cells := strings.Split(line, "|"); len(cells) > 1 && strings.TrimSpace(cells[1]) == name {
			var trimmed []string
			for _, cell := range cells[2 : len(cells)-1] {
				trimmed = append(trimmed, strings.TrimSpace(cell))
			}
			found = append(found, strings.Join(trimmed, " "))
		}
	}
	return found
}

func TestTables(t *testing.T) {
	var all []Result
	for number, slow := range map[int]time.Duration{1: 1, 2: 3, 3: 2} {
		all = append(all, round(number, slow)...)
	}
	tables := Tables(all)
	for name, want := range map[string][]string{
		"create, all statuses (s)": {"10.00 20.00 16.00"},
		// The second round is three times as slow, and its ratios are the same.
		"CPU for each Foo, create, ÷ baseline": {"0.80 ≤ 1 yes"},
		"CPU for each Foo, create (ms)":        {"5.00 10.00 8.00"},
		"CPU for each Foo, create, ÷ kro":      nil,
		// The limit comes before the figure.
		"writes for each Foo, create": {"2.50 ≤ 2 **no**", "2.00 2.00 2.50"},
		"at rest, writes":             {"0 ≤ 0 yes", "– – 0"},
		"drift repair, p99 (ms)":      {"– ≤ 50 not measured", "– – –"},
		"`patch deployments.apps`":    {"2000 / 2000 2000 / 2000 2500 / 2500"},
		"`get discovery`":             {"– – 5 / 5"},
		// Nobody sent one.
		"Events for each Foo, create": nil,
	} {
		if got := rows(tables, name); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, want)
		}
	}
}

// withAll adds the other competitors to a round. They are slow.
func withAll(rs []Result) []Result {
	for _, name := range []string{Metacontroller, Kro, Applier} {
		other := rs[1]
		other.Competitor, other.Create.CPU = name, 40*time.Second
		rs = append(rs, other)
	}
	return rs
}

func TestEachCompetitorHasAColumn(t *testing.T) {
	tables := Tables(withAll(round(1, 1)))
	if head := "| | floor | baseline | applier | reconcel | kro | metacontroller |\n"; strings.Count(tables, head) != 2 {
		t.Errorf("want the figures and the requests of all:\n%s", tables)
	}
	for name, want := range map[string]string{
		"CPU for each Foo, create (ms)":              "5.00 10.00 40.00 8.00 40.00 40.00",
		"CPU for each Foo, create, ÷ kro":            "0.20 ≤ 0.2 yes",
		"CPU for each Foo, update, ÷ metacontroller": "0.80 ≤ 0.6 **no**",
		"create, all statuses, ÷ applier":            "0.80 ≤ 1.15 yes",
	} {
		if got := rows(tables, name); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestWithoutReconcelNothingMustHold(t *testing.T) {
	if tables := Tables(round(1, 1)[:2]); strings.Contains(tables, "must be") {
		t.Errorf("got limits:\n%s", tables)
	}
}

// TestLimitOfManyFoos judges the memory only where the Foos take most of it.
func TestLimitOfManyFoos(t *testing.T) {
	for n, want := range map[int][]string{1000: nil, 10000: {"1.00 ≤ 0.8 **no**"}} {
		rs := round(1, 1)
		for i := range rs {
			rs[i].N = n
		}
		if got := rows(Tables(rs), "peak RSS, ÷ baseline"); !slices.Equal(got, want) {
			t.Errorf("%d Foos: got %q, want %q", n, got, want)
		}
	}
}

func TestEachNHasATable(t *testing.T) {
	small, large := round(1, 1), round(1, 1)
	for i := range small {
		small[i].N = 100
	}
	tables := Tables(append(large, small...))
	first, second := strings.Index(tables, "### 100 Foos"), strings.Index(tables, "### 1000 Foos")
	if first < 0 || second < first {
		t.Errorf("want 100 Foos before 1000 Foos:\n%s", tables)
	}
	if at := strings.Index(tables, "Requests, "); at < first || at > second || strings.Count(tables, "Requests, ") != 1 {
		t.Errorf("want the requests of 100 Foos alone:\n%s", tables)
	}
}

func TestPlots(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "performance")
	markdown, err := Plots(folder, withAll(round(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"time-1000.svg", "cpu-1000.svg", "memory.svg"} {
		if !strings.Contains(markdown, "(performance/"+name+")") {
			t.Errorf("the page does not show %s: %s", name, markdown)
		}
		svg, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range append([]string{"<svg"}, Competitors...) {
			if !strings.Contains(string(svg), text) {
				t.Errorf("%s does not contain %q", name, text)
			}
		}
	}
}

func TestFill(t *testing.T) {
	const page = "<!-- growth: begin -->\n<!-- growth: end -->\n<!-- bench: begin -->\nold\n<!-- bench: end -->\nafter\n"
	const want = "<!-- growth: begin -->\n<!-- growth: end -->\n<!-- bench: begin -->\n\nnew\n\n<!-- bench: end -->\nafter\n"
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // The second time changes nothing.
		if err := Fill(path, "bench", "new\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

func TestFillWithoutMarkers(t *testing.T) {
	for _, page := range []string{"", "<!-- bench: begin -->\n", "<!-- bench: end -->\n<!-- bench: begin -->\n"} {
		if got, err := fill(page, "bench", "new"); err == nil {
			t.Errorf("%q: got %q, want an error", page, got)
		}
	}
}

func TestScalingTable(t *testing.T) {
	table := ScalingTable("rules", "one rule changes", []Scaling{
		{Size: 100, Time: 2 * time.Second, CPU: time.Second, Peak: 50e6, Change: 40 * time.Millisecond, ChangeCPU: 30 * time.Millisecond, ChangeWrites: 2},
	})
	for _, text := range []string{"The change: one rule changes.\n", "| rules | all Deployments (s) |", "| 100 | 2.0 | 1000 | 50 | 40 | 30 | 2 |\n"} {
		if !strings.Contains(table, text) {
			t.Errorf("the table lacks %q:\n%s", text, table)
		}
	}
}

func TestScalingPlots(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "performance")
	markdown, err := ScalingPlots(folder, "lookups", "Foos", []Scaling{{Size: 1, Peak: 1e6}, {Size: 2, Peak: 2e6}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lookups-memory.svg", "lookups-change.svg"} {
		svg, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(markdown, "(performance/"+name+")") || !strings.Contains(string(svg), "Foos") {
			t.Errorf("%s: got %s", name, markdown)
		}
	}
}

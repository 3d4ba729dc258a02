package report

import (
	"os"
	"path/filepath"
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
	return []Result{result(Floor, 5, 2000), result(Baseline, 10, 2000), reconcel}
}

// row returns the cells of a row of the tables.
func row(t *testing.T, tables, name string) []string {
	t.Helper()
	for line := range strings.Lines(tables) {
		if cells := strings.Split(line, "|"); len(cells) > 1 && strings.TrimSpace(cells[1]) == name {
			var trimmed []string
			for _, cell := range cells[2 : len(cells)-1] {
				trimmed = append(trimmed, strings.TrimSpace(cell))
			}
			return trimmed
		}
	}
	t.Fatalf("there is no row %q in\n%s", name, tables)
	return nil
}

func TestTables(t *testing.T) {
	var all []Result
	for number, slow := range map[int]time.Duration{1: 1, 2: 3, 3: 2} {
		all = append(all, round(number, slow)...)
	}
	tables := Tables(all)
	for _, test := range []struct{ name, want string }{
		// The second round is three times as slow, and its ratios are the same.
		{"create, all statuses (s)", "10.00 20.00 16.00 0.80 1.60 ≤ 1 × baseline, ≤ 1.25 × floor yes, **no**"},
		{"CPU for each Foo, create (ms)", "5.00 10.00 8.00 0.80 1.60 ≤ 0.8 × baseline yes"},
		{"writes for each Foo, create", "2.00 2.00 2.50 1.25 1.25 ≤ 2 **no**"},
		{"at rest, writes", "– – 0 – – ≤ 0 yes"},
		{"restart, ready (s)", "– – – – – ≤ 1 × baseline not measured"},
		{"`patch deployments.apps`", "2000 / 2000 2000 / 2000 2500 / 2500"},
	} {
		if got := strings.TrimSpace(strings.Join(row(t, tables, test.name), " ")); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestOptionalCompetitorsHaveColumns has a column for each competitor, also those that are
// measured only where asked.
func TestOptionalCompetitorsHaveColumns(t *testing.T) {
	all := round(1, 1)
	if tables := Tables(all); strings.Contains(tables, Kro) {
		t.Errorf("kro was not measured:\n%s", tables)
	}
	kro := all[1]
	kro.Competitor = Kro
	tables := Tables(append(all, kro))
	if got := strings.Join(row(t, tables, "create, all statuses (s)")[:4], " "); got != "5.00 10.00 10.00 8.00" {
		t.Errorf("got %s", got)
	}
	if got := len(row(t, tables, "`patch deployments.apps`")); got != 4 {
		t.Errorf("the requests have %d columns", got)
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
}

func TestPlots(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "performance")
	markdown, err := Plots(folder, round(1, 1))
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
		for _, text := range []string{"<svg", Floor, Baseline, Reconcel} {
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

// TestGrowthModel finds the line from which the points were made: 40 MB, 10 KiB for each
// Foo, and 2 KiB for each additional Deployment.
func TestGrowthModel(t *testing.T) {
	var grown []Growth
	for _, n := range []int{1000, 5000, 20000} {
		for _, children := range []int{1, 3} {
			grown = append(grown, Growth{N: n, Children: children, Time: time.Second, Peak: 40e6 + int64(n*(10+2*(children-1)))<<10})
		}
	}
	table := GrowthTable(grown)
	for _, line := range []string{
		"- With 1: 40 MB and 10.0 KiB for each Foo.\n",
		"- With 3: 40 MB and 14.0 KiB for each Foo.\n",
		"- Each additional Deployment: 2.0 KiB. Must be ≤ 3: yes.\n",
		"| 1000 | 3 | 1.0 | 0.00 | 54 |\n",
	} {
		if !strings.Contains(table, line) {
			t.Errorf("the table lacks %q:\n%s", line, table)
		}
	}
	for i := range grown {
		grown[i].Peak += int64(grown[i].N*2*(grown[i].Children-1)) << 10
	}
	if table := GrowthTable(grown); !strings.Contains(table, "- Each additional Deployment: 4.0 KiB. Must be ≤ 3: **no**.\n") {
		t.Errorf("the limit does not show:\n%s", table)
	}
	if table := GrowthTable(grown[:2]); strings.Contains(table, "KiB") {
		t.Errorf("one N gives a model:\n%s", table)
	}
}

func TestGrowthPlot(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "performance")
	markdown, err := GrowthPlot(folder, []Growth{{N: 1, Children: 1, Peak: 1e6}, {N: 2, Children: 1, Peak: 2e6}})
	if err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(filepath.Join(folder, "growth.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(markdown, "(performance/growth.svg)") || !strings.Contains(string(svg), "Deployments for each: 1") {
		t.Errorf("got %s", markdown)
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

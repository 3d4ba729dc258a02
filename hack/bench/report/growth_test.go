package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGrowthModel finds the line from which the points were made: 40 MB, 10 KiB for each
// Foo, and 2 KiB for each additional Deployment.
func TestGrowthModel(t *testing.T) {
	var grown []Growth
	for _, n := range []int{1000, 5000, 20000} {
		for _, children := range []int{1, 3} {
			grown = append(grown, Growth{
				N: n, Children: children, Time: time.Second,
				Reconcel:  Used{Peak: 40e6 + int64(n*(10+2*(children-1)))<<10},
				APIServer: Used{CPU: 2 * time.Second, Peak: 900e6}, Etcd: Used{CPU: time.Second, Peak: 300e6},
			})
		}
	}
	table := GrowthTable(grown, "")
	for _, line := range []string{
		"- With 1: 40 MB and 10.0 KiB for each Foo.\n",
		"- With 3: 40 MB and 14.0 KiB for each Foo.\n",
		"- Each additional Deployment: 2.0 KiB. Must be ≤ 3: yes.\n",
		"| 1000 | 3 | 1.0 | 0.00 | 54 | 2.00 | 900 | 1.00 | 300 |\n",
	} {
		if !strings.Contains(table, line) {
			t.Errorf("the table lacks %q:\n%s", line, table)
		}
	}
	for i := range grown {
		grown[i].Reconcel.Peak += int64(grown[i].N*2*(grown[i].Children-1)) << 10
	}
	const judged = "- Each additional Deployment: 4.0 KiB. Must be ≤ 3: **no**.\n"
	if table := GrowthTable(grown, ""); !strings.Contains(table, judged) {
		t.Errorf("the limit does not show:\n%s", table)
	}
	if table := GrowthTable(grown[:2], ""); strings.Contains(table, "KiB") || strings.Contains(table, "ended") {
		t.Errorf("one N gives a model, or the API server has ended:\n%s", table)
	}
	const ended = "\nThe growth ended at 9 Foos: it is full.\n"
	if table := GrowthTable(grown, "9 Foos: it is full"); !strings.Contains(table, ended) {
		t.Errorf("the end does not show:\n%s", table)
	}
}

func TestGrowthPlot(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "performance")
	markdown, err := GrowthPlot(folder, []Growth{
		{N: 1, Children: 1, Reconcel: Used{Peak: 1e6}}, {N: 2, Children: 1, Reconcel: Used{Peak: 2e6}},
	})
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

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	supported   = regexp.MustCompile(`(?m)^reconcel supports Kubernetes ([\d., and]+\d)\.`)
	minor       = regexp.MustCompile(`\d+\.\d+`)
	versionRow  = regexp.MustCompile(`(?m)^\| (\d+\.\d+) \| (v\S+) \| (v\S+) \|$`)
	requirement = regexp.MustCompile(`(?m)^\s(k8s\.io/kubernetes|go\.etcd\.io/etcd/server/v3) (v\S+)$`)
)

// TestSupportedVersions requires the pages to name the versions of Kubernetes that make
// skew runs, and no others.
func TestSupportedVersions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "hack/devcluster/kubernetes/*.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var minors, rows []string
	for _, file := range files {
		minor := strings.TrimSuffix(filepath.Base(file), ".mod")
		versions := map[string]string{}
		for _, m := range requirement.FindAllStringSubmatch(read(t, file), -1) {
			versions[m[1]] = m[2]
		}
		minors = append(minors, minor)
		rows = append(rows, "| "+minor+" | "+versions["k8s.io/kubernetes"]+" | "+versions["go.etcd.io/etcd/server/v3"]+" |")
	}
	if len(minors) == 0 {
		t.Fatal("no minor is pinned")
	}
	claim := supported.FindString(read(t, filepath.Join(root, "README.md")))
	if got := minor.FindAllString(claim, -1); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(minors))) {
		t.Errorf("the README says that reconcel supports %q, and make skew runs %q", got, minors)
	}
	got := versionRow.FindAllString(read(t, filepath.Join(root, "hack/devcluster/README.md")), -1)
	slices.Sort(got)
	slices.Sort(rows)
	if !slices.Equal(got, rows) {
		t.Errorf("the table of hack/devcluster/README.md has\n%s\nand pinned are\n%s", strings.Join(got, "\n"), strings.Join(rows, "\n"))
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

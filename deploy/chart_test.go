package deploy_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reconcel/deploy"
	"reconcel/rules/source"
)

// TestChartIsCheckedIn compares the chart without rules, which a release has, with the
// folder chart.
func TestChartIsCheckedIn(t *testing.T) {
	o := options
	o.Image, o.Replicas = "reconcel:dev", 2
	files, err := o.Chart(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range files {
		if *update {
			if err := os.MkdirAll(filepath.Dir(filepath.Join("chart", path)), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		compare(t, "../chart/"+path, text)
	}
	var checkedIn []string
	err = fs.WalkDir(os.DirFS("chart"), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			checkedIn = append(checkedIn, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := slices.Sorted(maps.Keys(files)); !slices.Equal(checkedIn, want) {
		t.Errorf("in the folder chart: got %q, want %q", checkedIn, want)
	}
}

// TestChartTemplatesAreTheSameForAllRules lets a released chart take the values that
// manifests --chart writes.
func TestChartTemplatesAreTheSameForAllRules(t *testing.T) {
	rules := exampleRules(t, "../examples/foo/rules.yaml")
	files, err := deploy.Files([]source.File{rules})
	if err != nil {
		t.Fatal(err)
	}
	o := options
	o.Name, o.Namespace, o.Namespaced, o.DryRun = "other", "elsewhere", []string{"team"}, true
	written, err := o.Chart(o.Roles(needs(t, deploy.Usual, rules)), files)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range written {
		if path != "values.yaml" {
			compare(t, "../chart/"+path, text)
		}
	}
	if values := string(written["values.yaml"]); !strings.Contains(values, "${self.spec.deploymentName}") || !strings.Contains(values, "kind: RoleBinding") {
		t.Errorf("rules or permissions are missing in\n%s", values)
	}
}

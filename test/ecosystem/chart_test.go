package ecosystem

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/deploy"
)

// usual are the options of an installation as manifests has them by default.
var usual = deploy.Options{Name: "reconcel", Namespace: "reconcel-system", Image: "registry.example.com/reconcel:1", Replicas: 2}

// TestChartEqualsManifests renders the chart of each example, and of each kind of
// installation, and compares the objects with those of manifests.
func TestChartEqualsManifests(t *testing.T) {
	kinds := readKinds(t)
	files, err := filepath.Glob("../../examples/*/rules.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	installations := map[string]deploy.Options{"default": usual, "one": usual, "dry-run": usual, "namespaced": usual, "flags": usual}
	change := func(name string, set func(*deploy.Options)) {
		o := installations[name]
		set(&o)
		installations[name] = o
	}
	change("one", func(o *deploy.Options) { o.Replicas, o.Name, o.Namespace = 1, "yes", "other" })
	change("dry-run", func(o *deploy.Options) { o.DryRun, o.Replicas = true, 1 })
	change("namespaced", func(o *deploy.Options) { o.Namespaced = []string{"team-a", "team-b"} })
	change("flags", func(o *deploy.Options) {
		o.Events, o.AllowedKinds, o.IgnoredChecks = "all", []string{"PriorityClass.scheduling.k8s.io"}, []string{"literal-name"}
	})
	for _, file := range files {
		example := readExample(t, file)
		for name, o := range installations {
			if name != "default" && filepath.Base(filepath.Dir(file)) != "foo" {
				continue
			}
			t.Run(filepath.Base(filepath.Dir(file))+"/"+name, func(t *testing.T) {
				needs, complaints := deploy.Needs(example.program, kinds, deploy.Usual)
				if len(complaints) > 0 {
					t.Fatal(complaints)
				}
				policies := o.Policies(example.program, kinds)
				want := map[string]any{}
				for id, object := range parse(t, printed(t, append(policies, o.Manifests(needs, example.files)...))) {
					if !strings.HasPrefix(id, "Namespace/") { // Helm creates it.
						want[id] = object
					}
				}
				chart := writeChart(t, o, append(policies, o.Roles(needs)...), example.files)
				got, err := render(t, chart, o.Namespace, nil)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
					t.Errorf("-manifests +chart:\n%s", diff)
				}
			})
		}
	}
}

// TestChartIsSound lints a chart as helm lint does.
func TestChartIsSound(t *testing.T) {
	example := readExample(t, "../../examples/foo/rules.yaml")
	needs, _ := deploy.Needs(example.program, readKinds(t), deploy.Usual)
	chart := writeChart(t, usual, usual.Roles(needs), example.files)
	for _, m := range lint.RunAll(chart, nil, usual.Namespace).Messages {
		if m.Severity > support.InfoSev {
			t.Errorf("%s: %v", m.Path, m.Err)
		}
	}
}

// TestChartForRulesObjects installs what runs rules that are not in the chart, and says where they are.
func TestChartForRulesObjects(t *testing.T) {
	example := readExample(t, "../../examples/foo/rules.yaml")
	needs, _ := deploy.Needs(example.program, readKinds(t), deploy.Usual)
	o := usual
	o.RulesObjects = true
	chart := writeChart(t, o, o.Roles(needs), example.files)
	got, err := render(t, chart, o.Namespace, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rules := got["ConfigMap/reconcel-system/reconcel-rules"].(map[string]any)["data"]; len(rules.(map[string]any)) > 0 {
		t.Errorf("the ConfigMap has the rules: %v", rules)
	}
	containers, _, _ := unstructured.NestedSlice(got["Deployment/reconcel-system/reconcel"].(map[string]any), "spec", "template", "spec", "containers")
	if args := containers[0].(map[string]any)["args"].([]any); len(args) < 2 || args[1] != "--rules-objects" {
		t.Errorf("the arguments are %v", args)
	}
	for _, c := range []struct{ chart, want string }{
		{chart, "reconcel runs the Rules in the namespace reconcel-system.\nTo list the resources that are not ready: reconcel status\n"},
		{writeChart(t, usual, usual.Roles(needs), example.files),
			"reconcel runs the rules of ConfigMap reconcel-system/reconcel-rules.\nTo list the resources that are not ready: reconcel status\n"},
	} {
		if got := notes(t, c.chart); got != c.want {
			t.Errorf("the notes are %q, want %q", got, c.want)
		}
	}
}

// notes returns what Helm prints after it has installed a chart.
func notes(t *testing.T, folder string) string {
	t.Helper()
	chart, err := loader.LoadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	all, err := util.ToRenderValues(chart, nil, common.ReleaseOptions{Name: "shop", Namespace: usual.Namespace, IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := engine.Render(chart, all)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range rendered {
		if filepath.Base(path) == "NOTES.txt" {
			return text
		}
	}
	t.Fatal("the chart has no notes")
	return ""
}

// TestValuesOfUsers sets what users set.
func TestValuesOfUsers(t *testing.T) {
	example := readExample(t, "../../examples/foo/rules.yaml")
	needs, _ := deploy.Needs(example.program, readKinds(t), deploy.Usual)
	chart := writeChart(t, usual, usual.Roles(needs), example.files)
	got, err := render(t, chart, usual.Namespace, map[string]any{
		"image": "other:2", "replicas": 1, "flowSchema": false, "podSpec": map[string]any{"nodeSelector": map[string]any{"disk": "ssd"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	spec, _, _ := unstructured.NestedMap(got["Deployment/reconcel-system/reconcel"].(map[string]any), "spec", "template", "spec")
	containers, _, _ := unstructured.NestedSlice(spec, "containers")
	if spec["nodeSelector"].(map[string]any)["disk"] != "ssd" || containers[0].(map[string]any)["image"] != "other:2" {
		t.Errorf("got %v", spec)
	}
	for _, left := range []string{"PodDisruptionBudget/reconcel-system/reconcel", "FlowSchema//reconcel-lease"} {
		if got[left] != nil {
			t.Errorf("%s is still there", left)
		}
	}
	for want, values := range map[string]map[string]any{
		"the chart has no rules":                             {"rules": map[string]any{"rules.yaml": nil}},
		"the permissions are for the namespace somewhere":    {"namespace": "somewhere"},
		"at '/replicas': minimum: got 0, want 1":             {"replicas": 0},
		"at '': additional properties 'replica' not allowed": {"replica": 2},
	} {
		if _, err := render(t, chart, usual.Namespace, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestReleasedChartTakesValues installs the chart of a release with the values of rules.
func TestReleasedChartTakesValues(t *testing.T) {
	example := readExample(t, "../../examples/foo/rules.yaml")
	needs, _ := deploy.Needs(example.program, readKinds(t), deploy.Usual)
	own := writeChart(t, usual, usual.Roles(needs), example.files)
	values, err := common.ReadValuesFile(filepath.Join(own, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := render(t, own, usual.Namespace, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := render(t, "../../deploy/chart", usual.Namespace, values)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := render(t, "../../deploy/chart", usual.Namespace, nil); err == nil || !strings.Contains(err.Error(), "the chart has no rules") {
		t.Errorf("without values: %v", err)
	}
}

// render returns the objects of a chart, as helm template does, by kind, namespace and name.
func render(t *testing.T, folder, namespace string, values map[string]any) (map[string]any, error) {
	t.Helper()
	chart, err := loader.LoadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	all, err := util.ToRenderValues(chart, values, common.ReleaseOptions{Name: "shop", Namespace: namespace, IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	objects := map[string]any{}
	for path, text := range rendered {
		if filepath.Ext(path) == ".yaml" {
			maps.Copy(objects, parse(t, []byte(text)))
		}
	}
	return objects, nil
}

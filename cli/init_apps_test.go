package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/files"
	"reconcel/test/race"
)

// initKinds are the kinds of the applications in testdata/init. NOTICE there says where each one
// comes from.
var initKinds = map[string]string{
	"cockroachdb":            "Database",
	"contour":                "Contour",
	"descheduler":            "Descheduler",
	"flannel":                "Network",
	"guestbook":              "Guestbook",
	"ingress-nginx":          "IngressController",
	"local-path-provisioner": "Provisioner",
	"metrics-server":         "MetricsServer",
	"minio":                  "ObjectStore",
	"monitoring":             "Monitoring",
	"online-shop":            "OnlineShop",
	"otel-collector":         "Collector",
	"podinfo":                "WebApp",
	"rabbitmq":               "Broker",
	"wordpress":              "WordPress",
	"zookeeper":              "Zookeeper",
}

// TestInitOfApplications makes rules of the manifests of real applications. They are valid,
// their tests pass with every expression, the CRD is what the rules say, and they render the
// manifests again: for the example, and for a resource that has only defaults.
func TestInitOfApplications(t *testing.T) {
	race.Skip(t)
	folders, err := filepath.Glob("testdata/init/*/manifests.yaml")
	if err != nil || len(folders) != len(initKinds) {
		t.Fatalf("%d folders, %d kinds, %v", len(folders), len(initKinds), err)
	}
	for name, kind := range initKinds {
		t.Run(name, func(t *testing.T) {
			manifests, err := filepath.Abs(filepath.Join("testdata/init", name, "manifests.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			mustRun(t, "init", "--kind", kind, "-f", manifests)
			mustRun(t, "validate", "-f", ".", "--strict")
			mustRun(t, "test", "--coverage-threshold", "100")
			definition, err := os.ReadFile("crd.yaml")
			if err != nil {
				t.Fatal(err)
			}
			for _, derived := range [][]byte{mustRun(t, "crd", "-f", "rules.yaml"), mustRun(t, "crd", "-f", "rules.yaml", "--merge", "crd.yaml")} {
				if !bytes.Equal(derived, definition) {
					t.Errorf("the CRD of the rules is\n%s, expected\n%s", derived, definition)
				}
			}
			want := objectsIn(t, manifests)
			example := exampleIn(t)
			compareRendered(t, want, example)
			objects, err := files.Reader{}.Objects([]string{example})
			if err != nil {
				t.Fatal(err)
			}
			delete(objects[0].Unstructured.Object, "spec")
			text, err := json.Marshal(objects[0].Unstructured.Object)
			if err == nil {
				err = os.WriteFile("defaults.json", text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			compareRendered(t, want, "defaults.json")
		})
	}
}

// exampleIn returns the file of the example in the folder of a project.
func exampleIn(t *testing.T) string {
	t.Helper()
	all, err := filepath.Glob("[a-z]*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"rules.yaml", "crd.yaml", "tests.yaml", "prerequisites.yaml", "reconcel.yaml"} {
		all = without(all, other)
	}
	if len(all) != 1 {
		t.Fatalf("the examples are %v, expected one", all)
	}
	return all[0]
}

// compareRendered compares what the rules render for a resource with manifests, of which some
// are prerequisites.
func compareRendered(t *testing.T, want map[string]map[string]any, resource string) {
	t.Helper()
	rendered := mustRun(t, "render", "-f", "rules.yaml", "--crd", "crd.yaml", "-r", resource, "-o", "json")
	if err := os.WriteFile("rendered.json", rendered, 0o600); err != nil {
		t.Fatal(err)
	}
	got := objectsIn(t, "rendered.json")
	maps.Copy(got, objectsIn(t, optional("prerequisites.yaml")...))
	for id := range got {
		if want[id] == nil {
			t.Errorf("%s: %s is not in the manifests", resource, id)
		}
	}
	for id, w := range want {
		if !reflect.DeepEqual(got[id], w) {
			t.Errorf("%s: %s is\n%v, expected\n%v", resource, id, got[id], w)
		}
	}
}

// mustRun runs a command that succeeds, and returns what it prints.
func mustRun(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	if code := a.main(args); code != 0 {
		t.Fatalf("reconcel %s: exit code %d\n%s%s", strings.Join(args, " "), code, errs.Bytes(), out.Bytes())
	}
	return out.Bytes()
}

func optional(path string) []string {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	return []string{path}
}

func without(list []string, item string) (out []string) {
	for _, other := range list {
		if other != item {
			out = append(out, other)
		}
	}
	return out
}

// objectsIn returns the objects of files by kind and name, without the marks of reconcel, nulls,
// empty labels and the namespace default, in which the manifests and the rendering may differ.
func objectsIn(t *testing.T, paths ...string) map[string]map[string]any {
	t.Helper()
	objects, err := files.Reader{}.Objects(paths)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]any{}
	for _, o := range objects {
		content := map[string]any{}
		data, err := json.Marshal(o.Unstructured.Object)
		if err == nil {
			err = json.Unmarshal(data, &content)
		}
		if err != nil {
			t.Fatal(err)
		}
		u := unstructured.Unstructured{Object: content}
		dropNulls(content)
		delete(content, "status")
		u.SetOwnerReferences(nil)
		u.SetLabels(others(u.GetLabels()))
		u.SetAnnotations(others(u.GetAnnotations()))
		u.SetNamespace(strings.TrimPrefix(u.GetNamespace(), "default"))
		texts, _, _ := unstructured.NestedStringMap(content, "stringData")
		for key, text := range texts {
			if err := unstructured.SetNestedField(content, base64.StdEncoding.EncodeToString([]byte(text)), "data", key); err != nil {
				t.Fatal(err)
			}
		}
		delete(content, "stringData")
		all[u.GetKind()+"/"+u.GetNamespace()+"/"+u.GetName()] = content
	}
	return all
}

func others(marks map[string]string) map[string]string {
	maps.DeleteFunc(marks, func(key, _ string) bool { return strings.HasPrefix(key, "reconcel.dev/") })
	if len(marks) == 0 {
		return nil
	}
	return marks
}

func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, value any) bool { return value == nil })
		for _, below := range v {
			dropNulls(below)
		}
	case []any:
		for _, below := range v {
			dropNulls(below)
		}
	}
}

package deploy_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/deploy"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
)

// examples returns the rules of each example, by its name.
func examples(t *testing.T) map[string][]source.File {
	t.Helper()
	files, err := filepath.Glob("../examples/*/rules.yaml")
	if err != nil || len(files) < 13 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	all := map[string][]source.File{}
	for _, file := range files {
		all[filepath.Base(filepath.Dir(file))] = []source.File{exampleRules(t, file)}
	}
	all["chain"] = append(all["chain"], all["webapp"]...)
	return all
}

func TestPermissionsOfExamples(t *testing.T) {
	for name, sources := range examples(t) {
		t.Run(name, func(t *testing.T) {
			out := printed(t, options.Roles(needs(t, deploy.Usual, sources...)))
			compare(t, "rbac/"+name+".yaml", out)
			if strings.Contains(string(out), "*") {
				t.Error("there is a wildcard")
			}
			slices.Reverse(sources)
			if again := printed(t, options.Roles(needs(t, deploy.Usual, sources...))); string(again) != string(out) {
				t.Error("the order of the files makes a difference")
			}
		})
	}
}

func TestManifestsOfOneAndOfTwo(t *testing.T) {
	rules := exampleRules(t, "../examples/foo/rules.yaml")
	files, err := deploy.Files([]source.File{rules})
	if err != nil {
		t.Fatal(err)
	}
	permissions := needs(t, deploy.Usual, rules)
	compare(t, "manifests/one.yaml", printed(t, options.Manifests(permissions, files)))
	two := options
	two.Name, two.Namespace, two.Replicas = "other", "elsewhere", 2
	compare(t, "manifests/two.yaml", printed(t, two.Manifests(permissions, files)))
}

// TestManifestsFitTheirSchemas rejects fields that are not in the schema of their kind.
// The API server would reject the apply.
func TestManifestsFitTheirSchemas(t *testing.T) {
	known := kinds(t)
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	for name, sources := range examples(t) {
		for _, replicas := range []int{1, 2} {
			o := options
			o.Replicas = replicas
			files, err := deploy.Files(sources)
			if err != nil {
				t.Fatal(err)
			}
			cluster, err := sim.New(sim.Options{Kinds: kinds})
			if err != nil {
				t.Fatal(err)
			}
			client := cluster.Client("kubectl")
			all := append(o.Policies(program(t, sources...), known), o.Manifests(needs(t, deploy.EnforcedOwners, sources...), files)...)
			for _, u := range parse(t, printed(t, all)) {
				k := kinds.Kind(u.GroupVersionKind())
				if k == nil {
					t.Fatalf("%s: there is no kind %s", name, u.GroupVersionKind())
				}
				resource := client.Resource(k.GVK.GroupVersion().WithResource(k.Resource))
				apply := metav1.ApplyOptions{FieldManager: "kubectl"}
				if k.Namespaced {
					_, err = resource.Namespace(u.GetNamespace()).Apply(t.Context(), u.GetName(), u, apply)
				} else {
					_, err = resource.Apply(t.Context(), u.GetName(), u, apply)
				}
				if err != nil {
					t.Errorf("%s, %d replicas: %s/%s: %v", name, replicas, u.GetKind(), u.GetName(), err)
				}
			}
		}
	}
}

func TestValuesCannotBeMoreThanValues(t *testing.T) {
	o := options
	o.Image = "x:1\n        hostNetwork: true # ${namespace}"
	o.Name = "true"
	for _, u := range parse(t, printed(t, o.Manifests(needs(t, deploy.Usual, exampleRules(t, "../examples/foo/rules.yaml")), nil))) {
		if u.GetName() == "" {
			t.Errorf("%s: the name is no string any more", u.GetKind())
		}
		if u.GetKind() != "Deployment" {
			continue
		}
		spec := u.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
		if spec["hostNetwork"] != nil {
			t.Error("an image has become a field")
		}
		if got := spec["containers"].([]any)[0].(map[string]any)["image"]; got != o.Image {
			t.Errorf("image: got %q, want %q", got, o.Image)
		}
	}
}

// TestWordsStayWords quotes words that YAML 1.1, which kubectl reads, takes for booleans.
func TestWordsStayWords(t *testing.T) {
	o := options
	o.Name, o.Namespace = "yes", "no"
	for _, u := range parse(t, printed(t, o.Manifests(needs(t, deploy.Usual, exampleRules(t, "../examples/foo/rules.yaml")), nil))) {
		if u.GetName() == "" || u.GetName() == o.Name && u.GetKind() != "ClusterRole" && u.GetKind() != "ClusterRoleBinding" && u.GetNamespace() != o.Namespace {
			t.Errorf("%s: got %v", u.GetKind(), u.Object["metadata"])
		}
	}
}

func TestNamesThatCannotBe(t *testing.T) {
	for _, c := range []struct{ name, namespace, want string }{
		{"reconcel", "reconcel-system", ""},
		{"1st", "reconcel-system", `name "1st"`},
		{strings.Repeat("x", 60), "reconcel-system", "must be no more than 63"},
		{"reconcel", "kube.system", `namespace "kube.system"`},
		{"reconcel", "", `namespace ""`},
	} {
		err := deploy.Options{Name: c.name, Namespace: c.namespace}.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in %q: got %v, want %q", c.name, c.namespace, err, c.want)
		}
	}
}

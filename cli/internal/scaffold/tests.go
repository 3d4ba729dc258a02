package scaffold

import (
	"slices"
	"strings"

	"reconcel/cli/internal/format"
	"reconcel/cli/internal/ruletest"
)

// awaitedKinds are ready only when their own controllers say so.
var awaitedKinds = []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job", "Pod", "PersistentVolumeClaim", "PersistentVolume", "PodDisruptionBudget", "APIService"}

// tests writes tests: the example becomes ready with all its objects, a change of a number
// arrives, and a deleted object comes back.
func (a *application) tests() ([]byte, error) {
	var all, awaited []any
	for _, o := range a.objects {
		all = append(all, a.stub(o))
		if slices.Contains(awaitedKinds, o.gvk.Kind) {
			awaited = append(awaited, a.reference(o))
		}
	}
	become := map[string]any{"then": map[string]any{"objects": all, "conditions": map[string]any{"Ready": "True"}}}
	if awaited != nil {
		become["when"] = map[string]any{"ready": awaited}
	}
	cases := []any{a.testCase(a.Kind.Kind+" has all objects, and is ready when they are", become)}
	if name, step := a.change(); step != nil {
		cases = append(cases, a.testCase(name, step))
	}
	last := a.objects[len(a.objects)-1]
	cases = append(cases, a.testCase(last.String()+" comes back after it is deleted", map[string]any{
		"when": map[string]any{"delete": a.reference(last)},
		"then": map[string]any{"objects": a.stub(last)},
	}))
	crds := []any{crdFile}
	if len(a.first) > 0 {
		crds = append(crds, prerequisitesFile)
	}
	text, err := document(map[string]any{"crds": crds, "cases": cases})
	if err != nil {
		return nil, err
	}
	return format.Text(text, ruletest.Schema())
}

func (a *application) testCase(name string, step map[string]any) map[string]any {
	given := []any{a.exampleFile()}
	for _, namespace := range a.others() {
		if a.find("Namespace", namespace) == nil {
			given = append(given, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}})
		}
	}
	return map[string]any{"name": name, "given": given, "steps": []any{step}}
}

// change returns a step in which the first number of the spec grows by one, and its name.
func (a *application) change() (name string, step map[string]any) {
	for _, f := range a.fields {
		n, isNumber := f.Value.(int64)
		if !isNumber || !f.schema.Type.Contains("integer") { // The API server stores a quantity as text.
			continue
		}
		reached := a.stub(f.owner)
		keys := strings.Split(f.places[0].path, ".")
		reached[keys[0]] = nested(keys[1:], n+1)
		return f.Name() + " reaches " + f.owner.String(), map[string]any{
			"when": map[string]any{"patch": a.primary(), "merge": map[string]any{"spec": nested(f.Path, n+1)}},
			"then": map[string]any{"objects": reached},
		}
	}
	return "", nil
}

// nested returns maps within each other.
func nested(path []string, value any) any {
	for _, key := range slices.Backward(path) {
		value = map[string]any{key: value}
	}
	return value
}

// stub returns what identifies an object.
func (a *application) stub(o *object) map[string]any {
	metadata := map[string]any{"name": o.name}
	if namespace := a.namespaceOf(o); !a.isClusterScoped(o) && namespace != defaultNamespace {
		metadata["namespace"] = namespace
	}
	return map[string]any{"apiVersion": o.gvk.GroupVersion().String(), "kind": o.gvk.Kind, "metadata": metadata}
}

// reference names an object as tests do.
func (a *application) reference(o *object) string {
	if a.isClusterScoped(o) {
		return a.named(o.gvk.Kind, "", o.name)
	}
	return a.named(o.gvk.Kind, a.namespaceOf(o), o.name)
}

// primary names the example as tests do.
func (a *application) primary() string {
	if a.cluster {
		return a.named(a.Kind.Kind, "", a.name)
	}
	return a.named(a.Kind.Kind, a.namespace, a.name)
}

func (a *application) named(kind, namespace, name string) string {
	if namespace == "" || namespace == defaultNamespace {
		return kind + "/" + name
	}
	return kind + "/" + namespace + "/" + name
}

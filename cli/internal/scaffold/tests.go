package scaffold

import (
	"slices"
	"strings"

	"reconcel/cli/internal/format"
	"reconcel/cli/internal/ruletest"
)

// awaitedKinds are ready only when their own controllers say so.
var awaitedKinds = []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job",
	"Pod", "PersistentVolumeClaim", "PersistentVolume", "PodDisruptionBudget", "APIService"}

// tests writes tests: the example becomes ready with all its objects, a change of a number
// arrives, and a deleted object comes back.
func (w *writer) tests() ([]byte, error) {
	var all, awaited []any
	for _, o := range w.app.objects {
		all = append(all, w.stub(o))
		if slices.Contains(awaitedKinds, o.gvk.Kind) {
			awaited = append(awaited, w.reference(o))
		}
	}
	become := map[string]any{"then": map[string]any{"objects": all, "conditions": map[string]any{"Ready": "True"}}}
	if awaited != nil {
		become["when"] = map[string]any{"ready": awaited}
	}
	cases := []any{w.testCase(w.app.Kind.Kind+" has all objects, and is ready when they are", become)}
	if name, step := w.change(); step != nil {
		cases = append(cases, w.testCase(name, step))
	}
	last := w.app.objects[len(w.app.objects)-1]
	cases = append(cases, w.testCase(last.String()+" comes back after it is deleted", map[string]any{
		"when": map[string]any{"delete": w.reference(last)},
		"then": map[string]any{"objects": w.stub(last)},
	}))
	crds := []any{crdFile}
	if len(w.app.first) > 0 {
		crds = append(crds, prerequisitesFile)
	}
	text, err := document(map[string]any{"crds": crds, "cases": cases})
	if err != nil {
		return nil, err
	}
	return format.Text(text, ruletest.Schema())
}

func (w *writer) testCase(name string, step map[string]any) map[string]any {
	given := []any{w.app.exampleFile()}
	for _, namespace := range w.app.others() {
		if w.app.find("Namespace", namespace) == nil {
			given = append(given, map[string]any{"apiVersion": "v1", "kind": "Namespace",
				"metadata": map[string]any{"name": namespace}})
		}
	}
	return map[string]any{"name": name, "given": given, "steps": []any{step}}
}

// change returns a step in which the first number of the spec grows by one, and its name.
func (w *writer) change() (name string, step map[string]any) {
	for _, f := range w.fields.all {
		n, isNumber := f.Value.(int64)
		if !isNumber || !f.schema.Type.Contains("integer") { // The API server stores a quantity as text.
			continue
		}
		reached := w.stub(f.owner)
		keys := strings.Split(f.places[0].path, ".")
		reached[keys[0]] = nested(keys[1:], n+1)
		return f.Name() + " reaches " + f.owner.String(), map[string]any{
			"when": map[string]any{"patch": w.primary(), "merge": map[string]any{"spec": nested(f.Path, n+1)}},
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
func (w *writer) stub(o *object) map[string]any {
	metadata := map[string]any{"name": o.name}
	if namespace := w.app.namespaceOf(o); !w.app.isClusterScoped(o) && namespace != defaultNamespace {
		metadata["namespace"] = namespace
	}
	return map[string]any{"apiVersion": o.gvk.GroupVersion().String(), "kind": o.gvk.Kind, "metadata": metadata}
}

// reference names an object as tests do.
func (w *writer) reference(o *object) string {
	if w.app.isClusterScoped(o) {
		return w.named(o.gvk.Kind, "", o.name)
	}
	return w.named(o.gvk.Kind, w.app.namespaceOf(o), o.name)
}

// primary names the example as tests do.
func (w *writer) primary() string {
	if w.cluster {
		return w.named(w.app.Kind.Kind, "", w.app.name)
	}
	return w.named(w.app.Kind.Kind, w.app.namespace, w.app.name)
}

func (w *writer) named(kind, namespace, name string) string {
	if namespace == "" || namespace == defaultNamespace {
		return kind + "/" + name
	}
	return kind + "/" + namespace + "/" + name
}

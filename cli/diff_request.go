package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine"
)

// A target is what a dry run is about. Its manager is the one of run: under another
// one it would meet other conflicts, and leave what run takes away.
type target struct {
	kind            *engine.Kind
	namespace, name string
	manager         string
	subresources    []string
}

func (w *wanted) target() target {
	id := w.desired.Identity
	return target{kind: w.kind, namespace: id.Namespace, name: id.Name, manager: engine.FieldManager}
}

// ofSelf is the primary as a target.
func (p *diffPass) ofSelf(manager string, subresources ...string) target {
	return target{p.kind, p.self.GetNamespace(), p.self.GetName(), manager, subresources}
}

// apply asks what an apply would make of an object.
func (p *diffPass) apply(ctx context.Context, t target, body []byte) (*liveObject, error) {
	force := true
	u, err := p.differ.cluster.resource(t.kind, t.namespace).Patch(ctx, t.name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: t.manager, Force: &force, DryRun: []string{metav1.DryRunAll}}, t.subresources...)
	if err != nil {
		return nil, withhold(t.kind.GVK.GroupKind(), err)
	}
	return newLiveObject(u), nil
}

// createAnew asks what would come of an object if its name were free. It is
// created under a name that the API server makes up. That, and what else the
// API server makes up, is then as in the object that would be replaced.
func (w *wanted) createAnew(ctx context.Context, object map[string]any, o *liveObject) (map[string]any, error) {
	u := &unstructured.Unstructured{Object: object}
	name := u.GetName()
	const longest = 57 // With five characters and a dash more, it still is a label's value.
	u.SetName("")
	u.SetGenerateName(strings.TrimRight(name[:min(len(name), longest)], "-.") + "-")
	created, err := w.differ.cluster.resource(w.kind, w.desired.Identity.Namespace).Create(ctx, u,
		metav1.CreateOptions{FieldManager: engine.FieldManager, DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return nil, withhold(w.kind.GVK.GroupKind(), err)
	}
	unstructured.RemoveNestedField(created.Object, "metadata", "generateName")
	names := []string{created.GetName(), name, string(created.GetUID()), string(o.GetUID())}
	if made, was := tokenVolume(created.Object), tokenVolume(o.Object); made != "" && was != "" {
		names = append(names, made, was)
	}
	renamed, _ := rename(newLiveObject(created).Object, strings.NewReplacer(names...)).(map[string]any)
	return renamed, nil
}

// tokenVolume returns the volume that the API server adds to a Pod, or "".
func tokenVolume(pod map[string]any) string {
	volumes, _, _ := unstructured.NestedSlice(pod, "spec", "volumes")
	for _, v := range volumes {
		volume, _ := v.(map[string]any)
		if name, _ := volume["name"].(string); strings.HasPrefix(name, "kube-api-access-") {
			return name
		}
	}
	return ""
}

// rename replaces names wherever they stand: the API server puts some into
// labels.
func rename(value any, names *strings.Replacer) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, v := range value {
			out[key] = rename(v, names)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = rename(v, names)
		}
		return out
	case string:
		return names.Replace(value)
	}
	return value
}

var secretKind = schema.GroupKind{Kind: "Secret"}

// A withheldError keeps the text of an answer about a Secret to itself: the API
// server quotes what it refuses. The fields that it names are told.
type withheldError struct{ err error }

// Error says what kind of an answer it was.
func (e *withheldError) Error() string {
	var status apierrors.APIStatus
	if !errors.As(e.err, &status) {
		return "the request failed (its error is withheld: it may quote the Secret)"
	}
	s := status.Status()
	var fields []string
	if s.Details != nil {
		for _, c := range s.Details.Causes {
			fields = append(fields, c.Field)
		}
	}
	return fmt.Sprintf("the API server answered %d %s %v (its message is withheld: it may quote the Secret)", s.Code, s.Reason, fields)
}

// Unwrap is for telling errors apart, and not for printing.
func (e *withheldError) Unwrap() error { return e.err }

// withhold takes the text out of an error about a Secret. A request that got no
// answer quotes nothing.
func withhold(gk schema.GroupKind, err error) error {
	var status apierrors.APIStatus
	if gk == secretKind && errors.As(err, &status) {
		return &withheldError{err}
	}
	return err
}

// isRefusal reports whether the API server finds the object itself wrong. What
// does not fit the schema comes back from an apply as 500 without a reason.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	return s.Code == http.StatusUnprocessableEntity || s.Code == http.StatusRequestEntityTooLarge ||
		s.Code == http.StatusInternalServerError && s.Reason == ""
}

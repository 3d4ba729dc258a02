package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine"
	"reconcel/rules"
)

// passAbout returns a pass that keeps changes, and a change of one object.
func passAbout(kind string) (*diffPass, change) {
	self := objectRef{"example.com/v1", "Foo", "ns", "example"}
	return &diffPass{}, change{Primary: self, Rule: "foo", Child: "c", Object: objectRef{"v1", kind, "ns", "x"}}
}

func configMap(data map[string]any, metadata map[string]any) map[string]any {
	m := map[string]any{"name": "x", "namespace": "ns"}
	maps.Copy(m, metadata)
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": m, "data": data}
}

func TestDiffOfAnUpdate(t *testing.T) {
	p, c := passAbout("ConfigMap")
	p.add(c, actionUpdate, configMap(map[string]any{"a": "1", "b": "2"}, nil), configMap(map[string]any{"a": "1", "b": "3"}, nil))
	got, err := formatDiff(p.changes, "unified")
	if err != nil {
		t.Fatal(err)
	}
	want := `# Foo/ns/example: rule "foo", child "c": update
diff -u live/ConfigMap/ns/x rules/ConfigMap/ns/x
--- live/ConfigMap/ns/x
+++ rules/ConfigMap/ns/x
@@ -1,7 +1,7 @@
 apiVersion: v1
 data:
   a: "1"
-  b: "2"
+  b: "3"
 kind: ConfigMap
 metadata:
   name: x
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !differs(p.changes) {
		t.Error("a change is no difference")
	}
}

func TestDiffIgnoresBookkeeping(t *testing.T) {
	p, c := passAbout("ConfigMap")
	before := configMap(map[string]any{"a": "1"}, map[string]any{
		"uid": "1", "resourceVersion": "7", "generation": int64(1), "creationTimestamp": "2026-01-02T03:04:05Z",
		"annotations": map[string]any{rules.AnnotationApplied: "aa"},
	})
	after := configMap(map[string]any{"a": "1"}, map[string]any{
		"uid": "2", "resourceVersion": "8", "generation": int64(2), "managedFields": []any{},
	})
	after["status"] = map[string]any{"phase": "Active"}
	p.add(c, actionUpdate, before, after)
	if len(p.changes) > 0 {
		t.Errorf("a difference: %s", p.changes[0].Diff)
	}
	if before["metadata"].(map[string]any)["uid"] != "1" || after["status"] == nil {
		t.Error("what was compared has been changed")
	}
}

func TestDiffOfWholeObjects(t *testing.T) {
	p, c := passAbout("ConfigMap")
	o := configMap(map[string]any{"a": "1"}, nil)
	p.add(c, actionCreate, nil, o)
	c.Reason = "no rule renders it any more"
	p.add(c, actionDelete, o, nil)
	for i, want := range []string{"@@ -0,0 +1,7 @@\n+apiVersion: v1\n+data:\n+  a: \"1\"\n", "@@ -1,7 +0,0 @@\n-apiVersion: v1\n-data:\n-  a: \"1\"\n"} {
		if !strings.Contains(p.changes[i].Diff, want) {
			t.Errorf("%s lacks %q", p.changes[i].Diff, want)
		}
	}
	if got, want := p.changes[1].title(), `Foo/ns/example: rule "foo", child "c": delete (no rule renders it any more)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDiffShowsLittle has an object whose lines mostly repeat each other.
func TestDiffShowsLittle(t *testing.T) {
	data := func(middle string) map[string]any {
		list := make([]any, 0, 601)
		for range 300 {
			list = append(list, map[string]any{"name": "x", "value": "y"})
		}
		list = append(list, map[string]any{"name": middle})
		for range 300 {
			list = append(list, map[string]any{"name": "x", "value": "y"})
		}
		return map[string]any{"list": list}
	}
	p, c := passAbout("ConfigMap")
	p.add(c, actionUpdate, configMap(data("before"), nil), configMap(data("after"), nil))
	if got := changedLines(p.changes[0].Diff); !cmp.Equal(got, []string{"-  - name: before", "+  - name: after"}) {
		t.Errorf("got %q", got)
	}
}

// changedLines returns the lines of a diff that differ.
func changedLines(diff string) (lines []string) {
	for line := range strings.Lines(diff) {
		if (line[0] == '-' || line[0] == '+') && !strings.HasPrefix(line, "--- ") && !strings.HasPrefix(line, "+++ ") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

func TestSecretsAreMasked(t *testing.T) {
	secret := func(data map[string]any) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Secret", "data": data, "metadata": map[string]any{
			"name": "x", "annotations": map[string]any{annotationLastApplied: "c2VjcmV0LWE="},
		}}
	}
	before := secret(map[string]any{"same": "c2VjcmV0LWE=", "other": "c2VjcmV0LWI=", "gone": "c2VjcmV0LWM="})
	after := secret(map[string]any{"same": "c2VjcmV0LWE=", "other": "c2VjcmV0LWQ=", "new": "c2VjcmV0LWU="})
	after["stringData"] = "c2VjcmV0LWY="
	p, c := passAbout("Secret")
	p.add(c, actionUpdate, before, after)
	p.add(c, actionCreate, nil, after)
	p.add(c, actionDelete, before, nil)
	want := []string{"-  gone: '***'", "-  other: '*** (before)'", "+  new: '***'", "+  other: '*** (after)'", "+stringData: '***'"}
	if diff := cmp.Diff(want, changedLines(p.changes[0].Diff)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, output := range []string{"unified", "json"} {
		text, err := formatDiff(p.changes, output)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "c2Vjcm") {
			t.Errorf("%s shows a value: %s", output, text)
		}
	}
	if before["data"].(map[string]any)["same"] != "c2VjcmV0LWE=" {
		t.Error("the object itself is masked")
	}
}

func TestDiffJSON(t *testing.T) {
	p, c := passAbout("ConfigMap")
	p.add(c, actionUpdate, configMap(map[string]any{"a": "<1>"}, nil), configMap(map[string]any{"a": "2"}, nil))
	p.skip(c, "waits for it")
	text, err := formatDiff(p.changes, "json")
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	ref := func(apiVersion, kind, name string) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": kind, "namespace": "ns", "name": name}
	}
	want := []map[string]any{{
		"primary": ref("example.com/v1", "Foo", "example"), "rule": "foo", "child": "c", "object": ref("v1", "ConfigMap", "x"),
		"action": "update", "before": configMap(map[string]any{"a": "<1>"}, nil), "after": configMap(map[string]any{"a": "2"}, nil),
		"diff": p.changes[0].Diff,
	}, {
		"primary": ref("example.com/v1", "Foo", "example"), "rule": "foo", "child": "c", "object": ref("v1", "ConfigMap", "x"),
		"action": "none", "reason": "waits for it",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if differs(p.changes[1:]) {
		t.Error("what waits is a difference")
	}
	if text, err := formatDiff([]change{}, "json"); err != nil || string(text) != "[]\n" {
		t.Errorf("no changes are %q, %v", text, err)
	}
}

func TestDiffColour(t *testing.T) {
	got := string(colour([]byte("# t\n--- live/x\n+++ rules/x\n@@ -1 +1 @@\n a\n-b\n+c\n")))
	want := bold + "# t" + normal + "\n" + bold + "--- live/x" + normal + "\n" + bold + "+++ rules/x" + normal + "\n" +
		cyan + "@@ -1 +1 @@" + normal + "\n a\n" + red + "-b" + normal + "\n" + green + "+c" + normal + "\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if coloured(&bytes.Buffer{}) {
		t.Error("colours where there is no terminal")
	}
}

func TestPrimaryNames(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Foo"}
	k := &engine.Kind{GVK: gvk, GVR: gvk.GroupVersion().WithResource("foos"), Singular: "foo"}
	for arg, want := range map[string]bool{
		"Foo/a": true, "foo/a": true, "foos/a": true, "foo.example.com/a": true, "foos.example.com/a": true,
		"bar/a": false, "foo.example.org/a": false,
	} {
		name, err := parsePrimaryName(arg)
		if err != nil {
			t.Errorf("%s: %v", arg, err)
		}
		if got := name.of(gvk, k); got != want {
			t.Errorf("%s: %t", arg, got)
		}
	}
	for _, arg := range []string{"foo", "foo/", "/a", "foo/a/b"} {
		if _, err := parsePrimaryName(arg); err == nil {
			t.Errorf("%s: no error", arg)
		}
	}
}

func TestAnswersAboutSecretsAreWithheld(t *testing.T) {
	invalid := &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: `invalid: "hunter2"`,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: "data[.x]", Message: `invalid: "hunter2"`}}},
	}}
	err := withhold(secretKind, invalid)
	if text := err.Error(); strings.Contains(text, "hunter2") || !strings.Contains(text, "data[.x]") || !strings.Contains(text, "422") {
		t.Errorf("got %q", text)
	}
	if !isRefusal(err) || !apierrors.IsInvalid(err) {
		t.Error("it is told for another kind of error")
	}
	if err := withhold(schema.GroupKind{Kind: "ConfigMap"}, invalid); !errors.Is(err, error(invalid)) || err.Error() != invalid.Error() {
		t.Errorf("got %q", err)
	}
}

func TestOwnerOfALiveObject(t *testing.T) {
	foo := schema.GroupKind{Group: "example.com", Kind: "Foo"}
	self := newLiveObject(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Foo",
		"metadata": map[string]any{"namespace": "ns", "name": "a", "uid": "u"}}})
	yes := true
	controlled := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "ns"}}}
	controlled.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Foo", Name: "a", UID: "u", Controller: &yes}})
	tracked := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": []any{map[string]any{
		"manager": "reconcel", "operation": "Apply",
		"fieldsV1": map[string]any{"f:metadata": map[string]any{"f:annotations": map[string]any{"f:" + rules.AnnotationOwner: map[string]any{}}}},
	}}}}}
	tracked.SetAnnotations(map[string]string{rules.AnnotationOwner: "u/Foo.example.com/ns/a", annotationLastApplied: "{}"})
	for name, u := range map[string]*unstructured.Unstructured{"controlled": controlled, "tracked": tracked} {
		o := newLiveObject(u)
		if got, want := o.owner(), (rules.Owner{Kind: foo, Namespace: "ns", Name: "a", UID: "u"}); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if o.GetAnnotations()[annotationLastApplied] != "" {
			t.Errorf("%s: it has kubectl's copy", name)
		}
		if !o.belongsTo(self) {
			t.Errorf("%s: it does not belong to its owner", name)
		}
	}
	forged := newLiveObject(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{rules.AnnotationOwner: "u/Foo.example.com/ns/a"},
	}}})
	if forged.owner().UID != "u" || forged.belongsTo(self) {
		t.Error("a mark that run has not written makes an object its own")
	}
	if got := newLiveObject(&unstructured.Unstructured{Object: map[string]any{}}).owner(); got != (rules.Owner{}) {
		t.Errorf("nobody's: %v", got)
	}
}

func TestIgnoredFieldsThatAreStillOurs(t *testing.T) {
	o := newLiveObject(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": []any{
		map[string]any{"manager": "other", "operation": "Apply", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:paused": map[string]any{}}}},
		map[string]any{"manager": "reconcel", "operation": "Apply", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}}},
	}}}})
	tree := o.owned(engine.FieldManager, "")
	if !ownsField(tree, []string{"spec", "replicas"}) || ownsField(tree, []string{"spec", "paused"}) {
		t.Errorf("owned: %v", tree)
	}
	if o.owned(engine.FieldManager, "status") != nil {
		t.Error("an entry of the status")
	}
	if got, want := o.holder(), `managed by "other, reconcel"`; got != want {
		t.Errorf("holder: %s", got)
	}
}

func TestFormerKinds(t *testing.T) {
	r := &rules.Rule{Name: "r", GVK: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Foo"},
		Children: []*rules.Child{{ID: "a", GVK: schema.GroupVersionKind{Version: "v1", Kind: "Service"}}}}
	got := formerKinds(r, `{"for":"Foo.example.com","children":["apps/v1/Deployment","v1/Service"]}`)
	if want := []schema.GroupVersionKind{{Group: "apps", Version: "v1", Kind: "Deployment"}}; !cmp.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	for _, entry := range []string{"", `{"for":"Bar.example.com","children":["v1/Secret"]}`} {
		if got := formerKinds(r, entry); len(got) > 0 {
			t.Errorf("%q: %v", entry, got)
		}
	}
}

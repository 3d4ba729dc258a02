package change

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/output"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// changeOf returns the change that an action makes to one object.
func changeOf(t *testing.T, kind string, what outcome.Action, before, after map[string]any) Change {
	t.Helper()
	c := Change{Primary: Object{"example.com/v1", "Foo", "ns", "example"}, Rule: "foo", Child: "c",
		Object: Object{"v1", kind, "ns", "x"}, Action: what}
	c.showObject(stateOf(before), stateOf(after))
	if err := c.Print(); err != nil {
		t.Fatal(err)
	}
	return c
}

func configMap(data map[string]any, metadata map[string]any) map[string]any {
	m := map[string]any{"name": "x", "namespace": "ns"}
	maps.Copy(m, metadata)
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": m, "data": data}
}

func TestDiffOfAnUpdate(t *testing.T) {
	changes := []Change{changeOf(t, "ConfigMap", outcome.Configured, configMap(map[string]any{"a": "1", "b": "2"}, nil), configMap(map[string]any{"a": "1", "b": "3"}, nil))}
	got := Unified(changes)
	want := `# Foo/ns/example: rule "foo", child "c": configured
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
}

func TestDiffIgnoresBookkeeping(t *testing.T) {
	managed := func(manager string) []any {
		return []any{map[string]any{"manager": manager, "time": "2026-01-02T03:04:05Z"}}
	}
	before := configMap(map[string]any{"a": "1"}, map[string]any{
		"uid": "1", "resourceVersion": "7", "generation": int64(1), "creationTimestamp": "2026-01-02T03:04:05Z",
		"annotations": map[string]any{rules.AnnotationApplied: "aa"}, "managedFields": managed("reconcel"),
	})
	after := func(mark, manager string) map[string]any {
		o := configMap(map[string]any{"a": "1"}, map[string]any{
			"uid": "2", "resourceVersion": "8", "generation": int64(2), "managedFields": managed(manager),
			"annotations": map[string]any{rules.AnnotationApplied: mark},
		})
		o["status"] = map[string]any{"phase": "Active"}
		return o
	}
	for _, test := range []struct {
		name   string
		after  map[string]any
		action outcome.Action
		lines  []string
		reason string
	}{
		{"nothing that counts", after("aa", "reconcel"), outcome.Unchanged, nil, ""},
		{"the mark", after("bb", "reconcel"), outcome.Configured,
			[]string{"-    reconcel.dev/applied: aa", "+    reconcel.dev/applied: bb"}, "the annotation of the last apply is restored"},
		{"the owner of a field", after("aa", "other"), outcome.Configured, nil, "takes field ownership; the values stay"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := changeOf(t, "ConfigMap", outcome.Configured, before, test.after)
			if c.Action != test.action || c.Reason != test.reason || !cmp.Equal(changedLines(c.Diff), test.lines) {
				t.Errorf("%s (%s): %s", c.Action, c.Reason, c.Diff)
			}
		})
	}
	if before["metadata"].(map[string]any)["uid"] != "1" {
		t.Error("what was compared has been changed")
	}
}

func TestDiffOfWholeObjects(t *testing.T) {
	o := configMap(map[string]any{"a": "1"}, nil)
	created, deleted := changeOf(t, "ConfigMap", outcome.Created, nil, o), changeOf(t, "ConfigMap", outcome.Deleted, o, nil)
	for diff, want := range map[string]string{
		created.Diff: "@@ -0,0 +1,7 @@\n+apiVersion: v1\n+data:\n+  a: \"1\"\n",
		deleted.Diff: "@@ -1,7 +0,0 @@\n-apiVersion: v1\n-data:\n-  a: \"1\"\n",
	} {
		if !strings.Contains(diff, want) {
			t.Errorf("%s lacks %q", diff, want)
		}
	}
	deleted.Reason = "no rule renders it"
	if got, want := deleted.title(), `Foo/ns/example: rule "foo", child "c": deleted (no rule renders it)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDiffShowsLittle has an object with many repeated lines.
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
	c := changeOf(t, "ConfigMap", outcome.Configured, configMap(data("before"), nil), configMap(data("after"), nil))
	if got := changedLines(c.Diff); !cmp.Equal(got, []string{"-  - name: before", "+  - name: after"}) {
		t.Errorf("got %q", got)
	}
}

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
	changes := []Change{changeOf(t, "Secret", outcome.Configured, before, after), changeOf(t, "Secret", outcome.Created, nil, after), changeOf(t, "Secret", outcome.Deleted, before, nil)}
	want := []string{"-  gone: '***'", "-  other: '*** (before)'", "+  new: '***'", "+  other: '*** (after)'", "+stringData: '***'"}
	if diff := cmp.Diff(want, changedLines(changes[0].Diff)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text, err := output.JSON(changes)
	if err != nil {
		t.Fatal(err)
	}
	for format, text := range map[string][]byte{"unified": Unified(changes), "json": text} {
		if strings.Contains(string(text), "c2Vjcm") {
			t.Errorf("%s shows a value: %s", format, text)
		}
	}
	if before["data"].(map[string]any)["same"] != "c2VjcmV0LWE=" {
		t.Error("the object itself is masked")
	}
}

// TestDiffTitles names what a change is about.
func TestDiffTitles(t *testing.T) {
	of := Object{"v1", "Foo", "ns", "x"}
	for want, c := range map[string]Change{
		`Foo/ns/x: rule "a", child "b": created`: {Primary: of, Rule: "a", Child: "b", Action: outcome.Created},
		`Foo/ns/x: rule "a", status: configured`: {Primary: of, Rule: "a", Part: StatusPart, Action: outcome.Configured},
		`Foo/ns/x: status: configured`:           {Primary: of, Part: StatusPart, Action: outcome.Configured},
		`Foo/ns/x: rejected (too long)`:          {Primary: of, Action: outcome.Rejected, Reason: "too long"},
	} {
		if got := c.title(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestDiffJSON(t *testing.T) {
	configured := changeOf(t, "ConfigMap", outcome.Configured, configMap(map[string]any{"a": "<1>"}, nil), configMap(map[string]any{"a": "2"}, nil))
	refused := Change{Primary: configured.Primary, Rule: "foo", Object: configured.Primary, Part: StatusPart, Action: outcome.Rejected, Reason: "too long"}
	skipped := Change{Primary: configured.Primary, Rule: "foo", Child: "c", Object: configured.Object, Action: outcome.Skipped, Reason: "waits for it"}
	text, err := output.JSON([]Change{configured, refused, skipped})
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
		"action": "configured", "before": configMap(map[string]any{"a": "<1>"}, nil), "after": configMap(map[string]any{"a": "2"}, nil),
		"diff": configured.Diff,
	}, {
		"primary": ref("example.com/v1", "Foo", "example"), "rule": "foo", "object": ref("example.com/v1", "Foo", "example"),
		"part": "status", "action": "rejected", "reason": "too long",
	}, {
		"primary": ref("example.com/v1", "Foo", "example"), "rule": "foo", "child": "c", "object": ref("v1", "ConfigMap", "x"),
		"action": "skipped", "reason": "waits for it",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDiffColour(t *testing.T) {
	got := string(Colour([]byte("# t\n--- live/x\n+++ rules/x\n@@ -1 +1 @@\n a\n-b\n+c\n")))
	want := output.Bold + "# t" + output.Normal + "\n" + output.Bold + "--- live/x" + output.Normal + "\n" + output.Bold + "+++ rules/x" + output.Normal + "\n" +
		output.Cyan + "@@ -1 +1 @@" + output.Normal + "\n a\n" + output.Red + "-b" + output.Normal + "\n" + output.Green + "+c" + output.Normal + "\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if output.IsColoured(&bytes.Buffer{}) {
		t.Error("colours where there is no terminal")
	}
}

// stateOf returns an object of an API server, or nil.
func stateOf(content map[string]any) *unstructured.Unstructured {
	if content == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: content}
}

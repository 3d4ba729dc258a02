package world_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
	"reconcel/test/stories"
)

var sharedRules = strings.ReplaceAll(stories.SharedRules, "NAMESPACE", "default")

// TestSharedObjectAndChangesOfItsRules changes the rules of Foos that share a ConfigMap.
func TestSharedObjectAndChangesOfItsRules(t *testing.T) {
	const other = "- name: elsewhere\n  for: {apiVersion: v1, kind: Service}\n"
	head, rule, _ := strings.Cut(sharedRules, "rules:\n")
	head += "rules:\n"
	replace := func(old, with string) string {
		if !strings.Contains(rule, old) {
			t.Fatalf("the rule has no %q", old)
		}
		return strings.Replace(rule, old, with, 1)
	}
	deleting := replace("  children:", "  onRuleRemoval: delete\n  children:")
	for name, c := range map[string]struct {
		rules []string // one after another
		want  string
		same  bool // the ConfigMap is never created again
	}{
		"renamed rule":                       {[]string{rule, replace("name: shared-default", "name: other")}, "one: a b", true},
		"renamed rule that deletes":          {[]string{deleting, strings.Replace(deleting, "name: shared-default", "name: other", 1)}, "one: a b", true},
		"renamed child":                      {[]string{rule, replace("id: settings", "id: config")}, "one: a b", true},
		"removed child":                      {[]string{rule, rule[:strings.Index(rule, "  children:")]}, "", false},
		"removed rule":                       {[]string{rule, other}, "one: a b", true},
		"removed rule that deletes":          {[]string{deleting, other}, "", false},
		"beside a rule, one that is removed": {[]string{deleting + strings.NewReplacer("shared-default", "beside", "${self.spec.deploymentName}", "${self.metadata.name}-own", "    ifExists: share\n", "").Replace(rule), strings.NewReplacer("shared-default", "beside", "${self.spec.deploymentName}", "${self.metadata.name}-own", "    ifExists: share\n", "").Replace(rule)}, "a-own: \nb-own: ", false},
		"shared only later":                  {[]string{replace("    ifExists: share\n", ""), rule}, "one: a b", true},
		"no longer shared":                   {[]string{rule, replace("    ifExists: share\n", "")}, "one: b", true}, // The part of b has no meaning.
		"no longer shared, then again":       {[]string{rule, replace("    ifExists: share\n", ""), rule}, "one: a b", true},
		"adopted later":                      {[]string{rule, replace("ifExists: share", "ifExists: adopt")}, "one: b", true}, // The part of b has no meaning.
		"another name":                       {[]string{rule, replace("${self.spec.deploymentName}", "x-${self.spec.deploymentName}")}, "x-one: a b", false},
		"deselected":                         {[]string{rule, replace("kind: Foo,", "kind: Foo, when: 'false',")}, "", false},
		"orphaned and deselected":            {[]string{replace("    ifExists", "    onDelete: orphan\n    ifExists"), strings.Replace(replace("    ifExists", "    onDelete: orphan\n    ifExists"), "kind: Foo,", "kind: Foo, when: 'false',", 1)}, "one: b", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := shareBy(t, head+c.rules[0])
			w.create("a", "one")
			w.create("b", "one")
			settle(t, w.World)
			from := w.Cluster().ChangeCount()
			for _, text := range c.rules[1:] {
				if err := w.Reload(t.Context(), parsed(t, head+text)); err != nil {
					t.Fatal(err)
				}
				if err := w.Advance(t.Context(), time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			if got := w.shared(); got != c.want {
				t.Errorf("there are\n%s\nwant\n%s", got, c.want)
			}
			for _, change := range w.Cluster().Changes(from) {
				if c.same && change.New == nil && change.Old.GetKind() == "ConfigMap" {
					t.Errorf("%s was deleted", change.Old.GetName())
				}
			}
		})
	}
}

// edit changes the ConfigMap as another writer, by a merge patch.
func (w *sharingWorld) edit(body any) {
	w.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		w.Fatal(err)
	}
	client := w.Cluster().Client("someone").Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	if _, err := client.Patch(w.Context(), "one", types.MergePatchType, text, metav1.PatchOptions{FieldManager: "someone"}); err != nil {
		w.Fatal(err)
	}
}

// TestSharedObjectAndOtherWriters has another writer remove and forge what says to whom a
// ConfigMap belongs, while the controller runs and while none does.
func TestSharedObjectAndOtherWriters(t *testing.T) {
	type object = map[string]any
	metadata := func(field string, value any) object { return object{"metadata": object{field: value}} }
	forged := rules.Share{Owner: rules.Owner{Kind: fooKind, Namespace: "default", Name: "nobody", UID: "f00"}, Hash: "0123"}
	for name, c := range map[string]struct {
		edit func(w *sharingWorld) object
		left bool // the forged part stays
	}{
		"no part of a": {edit: func(w *sharingWorld) object { return metadata("annotations", object{w.key("a"): nil}) }},
		"no parts":     {edit: func(w *sharingWorld) object { return metadata("annotations", object{w.key("a"): nil, w.key("b"): nil}) }},
		"another part of a": {edit: func(w *sharingWorld) object {
			return metadata("annotations", object{w.key("a"): forged.Value()})
		}},
		"no annotations":   {edit: func(*sharingWorld) object { return metadata("annotations", nil) }},
		"no labels":        {edit: func(*sharingWorld) object { return metadata("labels", nil) }},
		"no managedFields": {edit: func(*sharingWorld) object { return metadata("managedFields", []any{object{}}) }},
		"a forged part": {left: true, edit: func(*sharingWorld) object {
			return metadata("annotations", object{rules.ShareKey("f00"): forged.Value()})
		}},
	} {
		for _, runs := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, running %v", name, runs), func(t *testing.T) {
				w := shareBy(t, sharedRules)
				w.create("a", "one")
				w.create("b", "one")
				settle(t, w.World)
				w.edit(c.edit(w))
				restore := w.Restart
				if runs {
					restore = w.Settle
				}
				if err := restore(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := w.Advance(t.Context(), time.Minute); err != nil {
					t.Fatal(err)
				}
				want := "one: a b"
				if c.left {
					want += " nobody"
				}
				if got := w.shared(); got != want {
					t.Errorf("there is %q, want %q", got, want)
				}
				for _, foo := range []string{"a", "b"} {
					if got := condition(w.Cluster().Find(fooKind, "default", foo), "Ready"); got != "True Reconciled" {
						t.Errorf("%s is Ready %s", foo, got)
					}
				}
				w.remove("a")
				settle(t, w.World)
				if got := w.shared(); got != strings.Replace(want, "a ", "", 1) {
					t.Errorf("after a has gone there is %q", got)
				}
				w.remove("b")
				settle(t, w.World)
				if got := w.shared(); got != "" {
					t.Errorf("after all have gone there is %q", got)
				}
			})
		}
	}
}

func (w *sharingWorld) key(foo string) string {
	w.Helper()
	return rules.ShareKey(w.Cluster().Find(fooKind, "default", foo).GetUID())
}

// TestOthersAreNotShared creates ConfigMaps that look like a shared one. None of them is touched.
func TestOthersAreNotShared(t *testing.T) {
	for name, manager := range map[string]string{"a copy by a user": "someone", "an empty one": ""} {
		t.Run(name, func(t *testing.T) {
			w := shareBy(t, sharedRules)
			u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "one", "namespace": "default"}}}
			if manager != "" {
				u.SetLabels(map[string]string{rules.LabelRule: "shared-default", rules.LabelChild: "settings"})
				u.SetAnnotations(map[string]string{rules.AnnotationShared: "true", rules.ShareKey("x"): rules.Share{Owner: rules.Owner{Kind: fooKind, Namespace: "default", Name: "x", UID: "x"}, Hash: "1"}.Value()})
			}
			if _, err := w.Cluster().Put(u); err != nil {
				t.Fatal(err)
			}
			before := w.Cluster().Find(schema.GroupKind{Kind: "ConfigMap"}, "default", "one").GetResourceVersion()
			w.create("a", "one")
			if err := w.Advance(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			if got := condition(w.Cluster().Find(fooKind, "default", "a"), "Ready"); got != "False ErrResourceExists" {
				t.Errorf("the Foo is Ready %s", got)
			}
			w.remove("a")
			settle(t, w.World)
			if after := w.Cluster().Find(schema.GroupKind{Kind: "ConfigMap"}, "default", "one"); after == nil || after.GetResourceVersion() != before {
				t.Errorf("the ConfigMap was changed: %v", after)
			}
			if foo := w.Cluster().Find(fooKind, "default", "a"); foo != nil {
				t.Error("the Foo is still there")
			}
		})
	}
}

// TestSharedObjectOfAnotherInstallation gives a shared ConfigMap the mark of another
// installation. Its rule is inactive then: no Foo joins or leaves.
func TestSharedObjectOfAnotherInstallation(t *testing.T) {
	w := shareBy(t, sharedRules)
	w.create("a", "one")
	w.create("b", "one")
	settle(t, w.World)
	client := w.Cluster().Client("another").Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	u, err := client.Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	u.SetAnnotations(map[string]string{rules.AnnotationInstallation: "elsewhere/reconcel", rules.AnnotationApplied: u.GetAnnotations()[rules.AnnotationApplied], rules.AnnotationShared: "true"})
	body, err := applied(u, strings.NewReplacer())
	if err != nil {
		t.Fatal(err)
	}
	force := true
	if _, err := client.Patch(t.Context(), "one", types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "reconcel", Force: &force}); err != nil {
		t.Fatal(err)
	}
	if u, err = client.Get(t.Context(), "one", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.create("c", "one")
	w.remove("b")
	if err := w.Advance(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if now, err := client.Get(t.Context(), "one", metav1.GetOptions{}); err != nil || now.GetResourceVersion() != u.GetResourceVersion() {
		t.Errorf("the ConfigMap was changed: %v, %v", now, err)
	}
}

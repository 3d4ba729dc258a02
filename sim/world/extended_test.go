package world_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
)

var extendingRules = strings.Replace(sharedRules, "ifExists: share", "ifExists: extend", 1)

// put creates a ConfigMap of others.
func (w *sharingWorld) put(name string) {
	w.Helper()
	body := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + name + `","labels":{"app":"web"}},"data":{"mine":"yes"}}`)
	client := w.Cluster().Client("someone").Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	if _, err := client.Patch(w.Context(), name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "someone"}); err != nil {
		w.Fatal(err)
	}
	w.foreign = append(w.foreign, name)
}

// foreignAsWanted fails unless the ConfigMaps of others have what others wrote, and what the rule adds exactly while a
// Foo wants it.
func (w *sharingWorld) foreignAsWanted() {
	w.Helper()
	for _, name := range w.foreign {
		u := w.Cluster().Find(schema.GroupKind{Kind: "ConfigMap"}, "default", name)
		if u == nil {
			w.Fatalf("%s was deleted", name)
		}
		wanted := 0
		for _, object := range w.foos {
			if object == name {
				wanted++
			}
		}
		data, _, _ := unstructured.NestedStringMap(u.Object, "data")
		want := map[string]string{"mine": "yes"}
		if wanted > 0 {
			want["kept"], want["replicas"] = "yes", "1"
		}
		if !maps.Equal(data, want) {
			w.Fatalf("%d Foos want %s, which has %v", wanted, name, data)
		}
		if labels := u.GetLabels(); labels["app"] != "web" || wanted == 0 && len(labels)+len(u.GetAnnotations()) > 1 {
			w.Fatalf("%d Foos want %s, which has the labels %v and annotations %v", wanted, name, labels, u.GetAnnotations())
		}
	}
}

// TestExtendedObjectAndChangesOfItsRules changes the rules of Foos that extend a ConfigMap of others. It is never
// deleted.
func TestExtendedObjectAndChangesOfItsRules(t *testing.T) {
	const other = "- name: elsewhere\n  for: {apiVersion: v1, kind: Service}\n"
	head, rule, _ := strings.Cut(extendingRules, "rules:\n")
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
		want  string   // its owners
		data  string   // the keys of its data
		ready string   // of Foo a
	}{
		"renamed rule":              {[]string{rule, replace("name: shared-default", "name: other")}, "a b", "kept mine replicas", "True Reconciled"},
		"renamed rule that deletes": {[]string{deleting, strings.Replace(deleting, "name: shared-default", "name: other", 1)}, "a b", "kept mine replicas", "True Reconciled"},
		"renamed child":             {[]string{rule, replace("id: settings", "id: config")}, "a b", "kept mine replicas", "True Reconciled"},
		"removed child":             {[]string{rule, rule[:strings.Index(rule, "  children:")]}, "", "mine", "True Reconciled"},
		"removed rule":              {[]string{rule, other}, "a b", "kept mine replicas", ""},
		"removed rule that deletes": {[]string{deleting, other}, "", "mine", ""},
		"a field less":              {[]string{rule, replace(`, kept: "yes"`, "")}, "a b", "mine replicas", "True Reconciled"},
		"no longer extended":        {[]string{rule, replace("    ifExists: extend\n", "")}, "a b", "kept mine replicas", "False ErrResourceExists"},
		"shared":                    {[]string{rule, replace("ifExists: extend", "ifExists: share")}, "a b", "kept mine replicas", "False ErrResourceExists"},
		"adopted":                   {[]string{rule, replace("ifExists: extend", "ifExists: adopt")}, "a b", "kept mine replicas", "False ErrResourceExists"},
		"shared, and then again":    {[]string{rule, replace("ifExists: extend", "ifExists: share"), rule}, "a b", "kept mine replicas", "True Reconciled"},
		"shared, and then removed":  {[]string{rule, replace("ifExists: extend", "ifExists: share"), rule[:strings.Index(rule, "  children:")]}, "", "mine", "True Reconciled"},
		"extended only later":       {[]string{replace("    ifExists: extend\n", ""), rule}, "a b", "kept mine replicas", "True Reconciled"},
		"another name":              {[]string{rule, replace("${self.spec.deploymentName}", "x-${self.spec.deploymentName}")}, "", "mine", "True Reconciled"},
		"deselected":                {[]string{rule, replace("kind: Foo,", "kind: Foo, when: 'false',")}, "", "mine", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := shareBy(t, head+c.rules[0])
			w.put("one")
			w.create("a", "one")
			w.create("b", "one")
			settle(t, w.World)
			uid := w.Cluster().Find(schema.GroupKind{Kind: "ConfigMap"}, "default", "one").GetUID()
			for _, text := range c.rules[1:] {
				if err := w.Reload(t.Context(), parsed(t, head+text)); err != nil {
					t.Fatal(err)
				}
				if err := w.Advance(t.Context(), time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			u := w.Cluster().Find(schema.GroupKind{Kind: "ConfigMap"}, "default", "one")
			if u == nil || u.GetUID() != uid {
				t.Fatal("the ConfigMap was deleted")
			}
			var owners []string
			for _, s := range rules.SharesOf(u.Object) {
				owners = append(owners, s.Owner.Name)
			}
			slices.Sort(owners)
			data, _, _ := unstructured.NestedStringMap(u.Object, "data")
			if got := strings.Join(owners, " "); got != c.want {
				t.Errorf("it belongs to %q, want %q", got, c.want)
			}
			if got := strings.Join(slices.Sorted(maps.Keys(data)), " "); got != c.data {
				t.Errorf("it has %q, want %q", got, c.data)
			}
			if got := condition(w.Cluster().Find(fooKind, "default", "a"), "Ready"); c.ready != "" && got != c.ready {
				t.Errorf("a is Ready %s, want %s", got, c.ready)
			}
			if foo := w.Cluster().Find(fooKind, "default", "a"); strings.Contains(fmt.Sprint(foo.Object["status"]), "delete") {
				t.Errorf("it advises to delete an object of others: %v", foo.Object["status"])
			}
			w.remove("a")
			w.remove("b")
			if err := w.Advance(t.Context(), time.Minute); err != nil {
				t.Fatal(err)
			}
			if u := w.Cluster().Find(schema.GroupKind{Kind: "ConfigMap"}, "default", "one"); u == nil || u.GetUID() != uid {
				t.Error("the ConfigMap was deleted with the Foos")
			}
		})
	}
}

// TestExtendedObjectAndOtherWriters has another writer remove what says that a ConfigMap is one of others, while no
// controller runs, and the Foo goes, or the rule changes. The ConfigMap stays in any case.
func TestExtendedObjectAndOtherWriters(t *testing.T) {
	type object = map[string]any
	metadata := func(field string, value any) object { return object{"metadata": object{field: value}} }
	fails := strings.Replace(extendingRules, "    ifExists: extend\n", "", 1)
	for name, edit := range map[string]func(w *sharingWorld) object{
		"no mark": func(*sharingWorld) object { return metadata("annotations", object{rules.AnnotationShared: nil}) },
		"mark of a shared one": func(*sharingWorld) object {
			return metadata("annotations", object{rules.AnnotationShared: rules.SharedOwn})
		},
		"mark of a creation": func(*sharingWorld) object {
			return metadata("annotations", object{rules.AnnotationCreated: "true"})
		},
		"no part":          func(w *sharingWorld) object { return metadata("annotations", object{w.key("a"): nil}) },
		"no annotations":   func(*sharingWorld) object { return metadata("annotations", nil) },
		"no labels":        func(*sharingWorld) object { return metadata("labels", nil) },
		"no managedFields": func(*sharingWorld) object { return metadata("managedFields", []any{object{}}) },
	} {
		for _, then := range []string{"runs", "goes", "other rules"} {
			t.Run(name+", "+then, func(t *testing.T) {
				w := shareBy(t, extendingRules)
				w.put("one")
				w.create("a", "one")
				settle(t, w.World)
				w.edit(edit(w))
				if then == "goes" {
					w.remove("a")
				}
				if err := w.Restart(t.Context()); err != nil {
					t.Fatal(err)
				}
				if then == "other rules" {
					if err := w.Reload(t.Context(), parsed(t, fails)); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Advance(t.Context(), time.Minute); err != nil {
					t.Fatal(err)
				}
				if then != "goes" {
					w.remove("a")
				}
				if err := w.Advance(t.Context(), time.Minute); err != nil {
					t.Fatal(err)
				}
				u := w.Cluster().Find(schema.GroupKind{Kind: "ConfigMap"}, "default", "one")
				if u == nil {
					t.Fatal("the ConfigMap was deleted")
				}
				if data, _, _ := unstructured.NestedStringMap(u.Object, "data"); data["mine"] != "yes" {
					t.Errorf("it has %v", data)
				}
				if foo := w.Cluster().Find(fooKind, "default", "a"); foo != nil {
					t.Error("the Foo is still there")
				}
			})
		}
	}
}

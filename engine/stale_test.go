package engine

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

func TestInventoryRemembersFinalizers(t *testing.T) {
	widget := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Widget"}
	rule := func(ordered bool) *rules.Rule { return &rules.Rule{Name: "r", GVK: widget, Ordered: ordered} }
	none := []string{}
	for _, c := range []struct {
		name string
		old  inventoryEntry
		rule *rules.Rule
		want inventoryEntry
	}{
		{"a rule that needs none", inventoryEntry{}, rule(false), inventoryEntry{For: "Widget.g", Children: none}},
		{"one that does", inventoryEntry{}, rule(true), inventoryEntry{For: "Widget.g", Children: none, Finalizer: true}},
		{"one that does no more", inventoryEntry{For: "Widget.g", Finalizer: true}, rule(false), inventoryEntry{For: "Widget.g", Children: none, Finalizer: true}},
		{"one that was for another kind", inventoryEntry{For: "Other.g", Finalizer: true}, rule(false),
			inventoryEntry{For: "Widget.g", Children: none, Former: []string{"Other.g"}}},
		{"one that is for its old kind again", inventoryEntry{For: "Other.g", Former: []string{"Widget.g"}}, rule(false),
			inventoryEntry{For: "Widget.g", Children: none, Finalizer: true}},
		{"one that needs none any more and was for another kind, twice",
			inventoryEntry{For: "Other.g", Former: []string{"Third.g"}}, rule(false),
			inventoryEntry{For: "Widget.g", Children: none, Former: []string{"Third.g"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := merged(c.old, c.rule)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStaleFinalizers(t *testing.T) {
	entries := map[string]inventoryEntry{
		"loaded":  {For: "Widget.g", Finalizer: true},
		"removed": {For: "Widget.g", Finalizer: true, Former: []string{"Other.g"}},
		"moved":   {For: "Widget.g", Former: []string{"Other.g"}},
		"clean":   {For: "Widget.g"},
	}
	got := staleFinalizers(entries, map[string]bool{"loaded": true, "moved": true})
	want := []staleFinalizer{{"moved", "Other.g"}, {"removed", "Widget.g"}, {"removed", "Other.g"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(staleFinalizer{})); diff != "" {
		t.Error(diff)
	}
}

func TestAbsence(t *testing.T) {
	gr := schema.GroupResource{Group: "g", Resource: "widgets"}
	unserved := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", gr, "one", "404 page not found", 0, true)
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"an object that is gone", apierrors.NewNotFound(gr, "one"), true},
		{"a kind that is not served", unserved, false},
		{"an error", errors.New("no"), false},
		{"none", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := isAbsent(c.err); got != c.want {
				t.Errorf("isAbsent is %t", got)
			}
		})
	}
}

func TestStagesOfTheEnd(t *testing.T) {
	rule := &rules.Rule{Name: "r", Ordered: true, Children: []*rules.Child{{ID: "db"}, {ID: "app"}, {ID: "backup", Timeout: 1}, {ID: "kept", OnDelete: rules.Orphan}}}
	child := func(id, annotations string) *object {
		return decodeObject(t, []byte(`{"metadata":{"name":"x","labels":{"reconcel.dev/child":"`+id+`"},"annotations":{`+annotations+`}}}`))
	}
	former, app, db, backup := stageOf(rule, child("former", "")), stageOf(rule, child("app", "")), stageOf(rule, child("db", "")), stageOf(rule, child("backup", ""))
	if former >= app || app >= db || db >= backup {
		t.Errorf("former %d, app %d, db %d, backup %d", former, app, db, backup)
	}
	for _, c := range []struct {
		child *object
		want  bool
	}{
		{child("db", ""), false}, {child("kept", ""), true}, {child("former", ""), false}, {child("former", `"reconcel.dev/orphan":"true"`), true},
	} {
		if got := stays(rule, c.child); got != c.want {
			t.Errorf("%v stays: %t", c.child.Object, got)
		}
	}
}

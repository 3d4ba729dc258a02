package engine

import (
	"testing"

	"reconcel/engine/decide"
	"reconcel/engine/watch"
	"reconcel/rules"
)

func TestTeardownStages(t *testing.T) {
	rule := &rules.Rule{Name: "r", Ordered: true, Children: []*rules.Child{{ID: "db"}, {ID: "app"}, {ID: "backup", Timeout: 1}, {ID: "kept", OnDelete: rules.Orphan}}}
	child := func(id, annotations string) *watch.Object {
		return decodeObject(t, []byte(`{"metadata":{"name":"x","labels":{"reconcel.dev/child":"`+id+`"},"annotations":{`+annotations+`}}}`))
	}
	former, app, db, backup := decide.StageOf(rule, "former"), decide.StageOf(rule, "app"), decide.StageOf(rule, "db"), decide.StageOf(rule, "backup")
	if former >= app || app >= db || db >= backup {
		t.Errorf("former %d, app %d, db %d, backup %d", former, app, db, backup)
	}
	for _, c := range []struct {
		child *watch.Object
		want  bool
	}{
		{child("db", ""), false}, {child("kept", ""), true}, {child("former", ""), false}, {child("former", `"reconcel.dev/orphan":"true"`), true},
	} {
		if got := decide.OutlivesPrimary(rule, c.child); got != c.want {
			t.Errorf("%v stays: %t", c.child.Content(), got)
		}
	}
}

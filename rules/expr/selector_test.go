package expr

import (
	"strings"
	"testing"
	"time"

	"reconcel/rules/source"
	"reconcel/test/cputime"
)

// TestSelects selects objects by selectors in all of their forms.
func TestSelects(t *testing.T) {
	vars := world()
	labelled := func(labels any) object { return object{"metadata": object{"name": "x", "labels": labels}} }
	vars["self"] = object{"metadata": object{"labels": object{"app": "web", "tier": "front"}}, "spec": object{
		"exact": object{"matchLabels": object{"app": "web"}},
		"some": object{"matchExpressions": list{object{"key": "tier", "operator": "In", "values": list{"front", "back"}},
			object{"key": "legacy", "operator": "DoesNotExist"}}},
		"plain": object{"app": "web", "tier": "front"}, "text": "app=web,tier in (front)", "all": object{}, "none": nil,
		"nulls": object{"matchLabels": nil, "matchExpressions": nil}, "nil": object{"matchLabels": object{"app": nil}},
		"mixed": object{"matchLabels": object{"app": "web"}, "app": "web"}, "number": object{"app": int64(1)},
		"operator": object{"matchExpressions": list{object{"key": "a", "operator": "Near"}}},
		"key":      object{"matchLabels": object{"a b": "c"}}, "list": list{"app"}, "bad": "app in", "less": "a<1", "empty": "",
		"template": object{"metadata": object{"labels": object{"app": "web"}}}, "bare": object{"spec": object{}},
		"unlabelled": labelled(nil), "odd": labelled(object{"app": int64(1)}), "objects": list{labelled(object{"app": "web"}), labelled(object{})},
	}}
	const wrong = "error rules.yaml:1:8 selects(): the selector "
	for src, want := range map[string]string{
		`selects(self.spec.exact, self)`:                                 "true",
		`selects(self.spec.some, self)`:                                  "true",
		`selects(self.spec.plain, self)`:                                 "true",
		`selects(self.spec.text, self)`:                                  "true",
		`selects(self.spec.all, self)`:                                   "true",
		`selects(self.spec.nulls, self)`:                                 "true",
		`selects(self.spec.empty, self)`:                                 "true",
		`selects({"matchLabels": {"app": "api"}}, self)`:                 "false",
		`selects({"app": "api"}, self)`:                                  "false",
		`selects("app!=web", self)`:                                      "false",
		`selects("!app", self)`:                                          "false",
		`selects("tier notin (back)", self)`:                             "true",
		`selects({"app": self.spec.template.metadata.labels.app}, self)`: "true",
		`self.spec.objects.filter(o, selects("app", o)).size()`:          "1",
		`self.spec.objects.map(o, selects("!app", o))`:                   "[false,true]",
		`selects(self.spec.exact, self.spec.template)`:                   "true",
		`selects(self.spec.exact, self.spec.bare)`:                       "false",
		`selects(self.spec.all, self.spec.unlabelled)`:                   "true",
		`selects(self.spec.exact, self.spec.unlabelled)`:                 "false",
		// An object that does not exist is not selected, also by a selector that accepts one without labels.
		`selects({}, service)`:     "false",
		`selects("!app", service)`: "false",
		`selects(self.spec.?nope.?selector.orValue("app=web"), self)`: "true",
		`selects(service.spec.selector, self)`:                        "waits service.spec.selector",
		`selects(self.spec.none, self)`:                               wrong + "must be a label selector with matchLabels or matchExpressions, or a text such as app=web",
		`selects(self.spec.list, self)`:                               wrong + "must be a label selector with matchLabels or matchExpressions, or a text such as app=web",
		`selects(self.spec.mixed, self)`:                              wrong + "must be a label selector with matchLabels or matchExpressions, or a text such as app=web",
		`selects(self.spec.number, self)`:                             wrong + "must be a label selector with matchLabels or matchExpressions, or a text such as app=web",
		`selects(self.spec.nil, self)`:                                wrong + `matchLabels["app"] must be text, got null`,
		`selects(self.spec.operator, self)`:                           wrong + "is not a valid label selector",
		`selects(self.spec.key, self)`:                                wrong + "is not a valid label selector",
		`selects(self.spec.bad, self)`:                                wrong + "is not a label selector such as app=web,tier in (a, b)",
		`selects(self.spec.less, self)`:                               wrong + "is not a label selector such as app=web,tier in (a, b)",
		`selects(self.spec.exact, self.spec.odd)`:                     "error rules.yaml:1:8 selects(): the labels of the object must be texts",
	} {
		if got := eval(t, compile(t, src, shapes()), vars); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

// TestSelectorsThatNoObjectHas expects an error for each selector that is written out and that no labels can meet.
func TestSelectorsThatNoObjectHas(t *testing.T) {
	scope, err := NewScope("self")
	if err != nil {
		t.Fatal(err)
	}
	for _, selector := range []string{`{b"a": "b"}`, `{1: "b"}`, `{[b"a"]: "b"}`, `{"a": b"b"}`, `{"matchLabels": {b"a": "b"}}`,
		`{"matchExpressions": [{b"key": "a"}]}`, `b"a"`, `{b"a": {b"a": 1}}`} {
		src := "selects(" + selector + ", self)"
		_, issues := scope.Check(&source.Expr{Text: src, Pos: source.Pos{File: "rules.yaml", Line: 1, Column: 1}}, Any)
		if len(issues) != 1 || !strings.HasPrefix(issues[0].Message, "selects(): the selector ") {
			t.Errorf("%s: %+v", src, issues)
		}
	}
}

// TestBytesAsKeys expects an error for each map whose key is of type bytes, where CEL itself would panic.
func TestBytesAsKeys(t *testing.T) {
	scope, err := NewScope("self")
	if err != nil {
		t.Fatal(err)
	}
	for src, at := range map[string]int{`{b"a": 1}`: 2, `[1].map(i, {"a": {bytes("b"): i}})`: 24, `{"a": 1, bytes(self.spec.x): 2}.size()`: 15} {
		_, issues := scope.Check(&source.Expr{Text: src, Pos: source.Pos{File: "rules.yaml", Line: 1, Column: 1}}, Any)
		if len(issues) != 1 || issues[0].Message != "a key of a map cannot be of type bytes" || issues[0].Pos.Column != at {
			t.Errorf("%s: %+v", src, issues)
		}
	}
}

// TestManySelectors matches a large selector again and again, until the budget of the rule is spent.
func TestManySelectors(t *testing.T) {
	vars := world()
	vars["self"] = object{"metadata": object{"labels": object{}}, "spec": object{"text": "a in (" + strings.Repeat("b,", 50_000) + "c)"}}
	start := cputime.Used()
	got := eval(t, compile(t, `lists.range(500).map(i, selects(self.spec.text, self))`, shapes()), vars)
	if !strings.Contains(got, "cost more than their budget") && !strings.Contains(got, "selects() has too much to process") {
		t.Errorf("got %.200s", got)
	}
	if took := cputime.Used() - start; took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

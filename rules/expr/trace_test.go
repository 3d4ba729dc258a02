package expr

import (
	"encoding/json"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/rules/projection"
	"reconcel/rules/source"
)

// traced returns what an expression keeps of an object, as JSON.
func traced(t *testing.T, expression, object string) string {
	t.Helper()
	scope, err := NewScope("self", "named", "objects")
	if err != nil {
		t.Fatal(err)
	}
	checked, issues := scope.Check(&source.Expr{Text: expression}, Any)
	if issues != nil {
		t.Fatalf("%s: %v", expression, issues)
	}
	p, wrong := checked.Program(nil)
	if wrong != nil {
		t.Fatal(wrong)
	}
	var b projection.Builder
	p.Trace(func(name string) *Origin {
		switch name {
		case "self":
			return ObjectOrigin(&b)
		case "named":
			return MapOrigin(map[string]*Origin{"list": ListOrigin(ObjectOrigin(b.Field("a")), ObjectOrigin(b.Field("b")))})
		case "objects":
			return ListOrigin(ObjectOrigin(&b))
		}
		t.Fatalf("no variable %q", name)
		return nil
	}).Keep()
	var o any
	if err := utiljson.Unmarshal([]byte(object), &o); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(b.Projection().Of(o))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTrace(t *testing.T) {
	const object = `{"a":{"x":1,"y":{"p":1,"q":2}},"b":{"x":3,"y":4},"k":"x","l":[{"x":5,"y":6},"s"]}`
	for _, c := range []struct{ expression, want string }{
		{`1`, `{}`},
		{`self`, object},
		{`self.a.x`, `{"a":{"x":1}}`},
		{`self.a`, `{"a":{"x":1,"y":{"p":1,"q":2}}}`},
		{`self.a.?y.?p.orValue(1)`, `{"a":{"y":{"p":1}}}`},
		{`has(self.a.y)`, `{"a":{"y":{}}}`},
		{`self.?l.hasValue()`, `{"l":[]}`},
		{`self.a == null`, `{"a":{}}`},
		{`self.a == self.b`, `{"a":{"x":1,"y":{"p":1,"q":2}},"b":{"x":3,"y":4}}`},
		{`self.a["x"]`, `{"a":{"x":1}}`},
		{`self[self.k].x`, `{"a":{"x":1},"b":{"x":3},"k":"x","l":[]}`},
		{`self.l[0].x`, `{"l":[{"x":5},"s"]}`},
		{`size(self.l)`, `{"l":[{},"s"]}`},
		{`size(self.a)`, `{"a":{"x":1,"y":{}}}`},
		{`self.l.map(e, e.x)`, `{"l":[{"x":5},"s"]}`},
		{`self.l.filter(e, e.x == 5).map(e, e.y)`, `{"l":[{"x":5,"y":6},"s"]}`},
		{`self.l.filter(e, e.x == 5)`, `{"l":[{"x":5,"y":6},"s"]}`},
		{`self.l.exists(e, e.x == 5)`, `{"l":[{"x":5},"s"]}`},
		{`self.l.sortBy(e, e.x)[0].y`, `{"l":[{"x":5,"y":6},"s"]}`},
		{`self.l.first().value().x`, `{"l":[{"x":5},"s"]}`},
		{`self.l.reverse()[0].x`, `{"l":[{"x":5},"s"]}`},
		{`(self.l + [self.a])[0].x`, `{"a":{"x":1},"l":[{"x":5},"s"]}`},
		{`self.a.transformMap(k, v, k)`, `{"a":{"x":1,"y":{}}}`},
		{`self.a.transformList(k, v, v.p)`, `{"a":{"x":1,"y":{"p":1}}}`},
		{`(self.k == "x" ? self.a : self.b).x`, `{"a":{"x":1},"b":{"x":3},"k":"x"}`},
		{`{"one": self.a, "two": self.b}.one.y.p`, `{"a":{"y":{"p":1}},"b":{}}`},
		{`cel.bind(v, self.a, v.x)`, `{"a":{"x":1}}`},
		{`self.?a.optMap(v, v.x).orValue(0)`, `{"a":{"x":1}}`},
		{`json.marshal(self.a)`, `{"a":{"x":1,"y":{"p":1,"q":2}}}`},
		{`merge(self.a, self.b).x`, `{"a":{"x":1,"y":{"p":1,"q":2}},"b":{"x":3,"y":4}}`},
		{`named.list.map(e, e.x)`, `{"a":{"x":1},"b":{"x":3}}`},
		{`size(objects)`, `{}`},
		{`objects.map(o, o.k)`, `{"k":"x"}`},
		{`type(self.a)`, `{"a":{"x":1,"y":{"p":1,"q":2}}}`},
		{`"x" in self.a`, `{"a":{"x":1,"y":{"p":1,"q":2}}}`},
	} {
		if got := traced(t, c.expression, object); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.expression, got, c.want)
		}
	}
}

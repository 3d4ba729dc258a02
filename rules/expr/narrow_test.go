package expr

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/interpreter"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/rules/source"
)

// A replayed evaluation reads one object, self.
type replayed struct {
	self any
	all  *[]string // nil: it forgets
}

func (r *replayed) ResolveName(name string) (any, bool) {
	if name != "self" {
		return nil, false
	}
	return Follow(r.self, "self", r), true
}

func (r *replayed) Parent() interpreter.Activation { return nil }

func (r *replayed) Read(of any, path []any, use Use, _ any) {
	if use != UsedPresence && r.all != nil {
		*r.all = append(*r.all, strings.TrimPrefix(string(use)+" "+Path("", path), "value "))
	}
}

func (r *replayed) Silently(do func()) {
	outer := r.all
	r.all = nil
	do()
	r.all = outer
}

// narrowed returns what a part of the result of an expression depends on.
func narrowed(t *testing.T, expression, object string, path []any, use Use) string {
	t.Helper()
	scope, err := NewScope("self")
	if err != nil {
		t.Fatal(err)
	}
	checked, issues := scope.Check(&source.Expr{Text: expression}, Any)
	if issues != nil {
		t.Fatalf("%s: %v", expression, issues)
	}
	p, wrong := checked.Program(map[string]*Shape{"self": Self("self")})
	if wrong != nil {
		t.Fatal(wrong)
	}
	var all []string
	r := &replayed{all: &all}
	if err := utiljson.Unmarshal([]byte(object), &r.self); err != nil {
		t.Fatal(err)
	}
	if !p.Narrow(r, path, use) {
		return "everything"
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

func TestNarrow(t *testing.T) {
	const object = `{"a":{"x":1,"y":2},"b":{"x":3,"z":4},"k":"x","n":2,"yes":true,"no":false,
		"l":[{"n":"p","v":1},{"n":"q","v":2},{"n":"r","v":3}],"s":["p","q"],"e":[],"m":[{"s":["p"]},{"s":["q","r"]}],
		"t":{"spec":{"nodeSelector":{"zone":"z"},"containers":[{"name":"a","image":"i"},{"name":"b","image":"j"}]}}}`
	const template = `mergePodTemplate({"spec": {
		"containers": [{"name": "a", "image": self.k, "command": self.s}], "nodeName": self.n, "nodeSelector": {"x": self.k}}}, self.t)`
	for _, c := range []struct {
		expression string
		path       []any
		want       string
	}{
		{`self.a`, nil, `.a`},
		{`self.a`, []any{"x"}, `.a.x`},
		// Branches.
		{`self.yes ? self.a.x : self.b.x`, nil, `.a.x, .yes`},
		{`(self.no ? self.a : self.b).x`, nil, `.b.x, .no`},
		{`self.no && self.yes`, nil, `.no`},
		{`self.yes && self.no`, nil, `.no, .yes`},
		{`self.yes || self.no`, nil, `.yes`},
		{`self.?k.orValue(self.n)`, nil, `.k`},
		{`self.?missing.orValue(self.n)`, nil, `.n, absence .missing`},
		{`self.?missing.?more.orValue(self.n)`, nil, `.n, absence .missing`},
		// An element that is the same wherever it is.
		{`self.l`, []any{Member(1)}, `.l[1]`},
		{`[self.n] + self.s`, []any{Member(0)}, `.n`},
		{`[self.n] + self.s`, []any{Member(2)}, `.s[1]`},
		{`self.l.filter(e, e.n in self.s)`, []any{Member(1), "v"}, `.l[1].n, .l[1].v, .s[1]`},
		{`self.l.map(e, e.v + self.n)`, []any{Member(2)}, `.l[2].v, .n`},
		{`self.l.map(e, e.n != "p", e.v)`, []any{Member(0)}, `.l[1].n, .l[1].v`},
		{`self.l.filter(e, e.v > 1).map(e, e.n)`, []any{Member(0)}, `.l[1].n, .l[1].v`},
		{`self.l.transformList(i, e, i + e.v)`, []any{Member(1)}, `.l[1].v`},
		{`self.m.map(e, e.s).flatten()`, []any{Member(2)}, `.m[1].s[1]`},
		{`self.l.map(e, e.n).distinct().sort()`, []any{Member(1)}, `.l[1].n`},
		// An element at an index.
		{`self.m.map(e, e.s).flatten()`, []any{1}, `.m[1].s[0], extent .m[0].s`},
		{`self.m.map(e, e.s).flatten()`, []any{2}, `.m[1].s[1], extent .m[0].s`},
		{`[self.n, self.l.map(e, e.v)].flatten()`, []any{1}, `.l[0].v, .n`},
		{`self.l.map(e, e.n).sort()`, []any{1}, `.l[0].n, .l[1].n, .l[2].n, extent .l`},
		{`self.l.filter(e, e.v > 1)`, []any{0, "n"}, `.l[0].v, .l[1].n, .l[1].v`},
		{`self.l.filter(e, e.v > 1)[0].n`, nil, `.l[0].v, .l[1].n, .l[1].v`},
		{`self.l.map(e, e.n).first()`, nil, `.l[0].n`},
		{`self.e.first().orValue(self.n)`, nil, `.n, extent .e`},
		{`(self.s + self.l.map(e, e.n)).first()`, nil, `.s[0]`},
		{`(self.e + self.s)[0]`, nil, `.s[0], extent .e`},
		{`self.l.map(e, e.n).last()`, nil, `.l[2].n, extent .l`},
		{`[?self.?missing, self.n]`, []any{0}, `.n, absence .missing`},
		{`[?self.?missing, self.n]`, []any{Member(0)}, `.n`},
		// A search.
		{`"q" in self.s`, nil, `.s[1]`},
		{`self.k in self.s`, nil, `.k, .s`},
		{`self.l.exists(e, e.n == "q")`, nil, `.l[1].n`},
		{`self.l.exists(e, e.n == "z")`, nil, `.l[0].n, .l[1].n, .l[2].n, extent .l`},
		{`self.l.all(e, e.v < 2)`, nil, `.l[1].v`},
		{`self.l.exists(i, e, i == 1 && e.v == 2)`, nil, `.l[1].v`},
		// Numbers of elements.
		{`size(self.l.map(e, e.v))`, nil, `extent .l`},
		{`size(self.l.filter(e, e.v > 1))`, nil, `.l[0].v, .l[1].v, .l[2].v, extent .l`},
		{`size(self.s + self.e)`, nil, `extent .e, extent .s`},
		{`size(self.m.map(e, e.s).flatten())`, nil, `extent .m, extent .m[0].s, extent .m[1].s`},
		// Maps.
		{`merge(self.a, self.b)`, []any{"y"}, `.a.y, absence .b.y`},
		{`merge(self.a, self.b)`, []any{"x"}, `.b.x`},
		{`{"p": self.n, "q": self.k}`, []any{"q"}, `.k`},
		{`{"p": self.n, self.k: self.yes}`, []any{"p"}, `.k, .n, .yes`},
		{`self.a[self.k]`, nil, `.a.x, .k`},
		// Pod templates.
		{template, []any{"spec", "nodeName"}, `.n, absence .t.spec.nodeName`},
		{template, []any{"spec", "containers", 0, "image"}, `.t.spec.containers[0].image, .t.spec.containers[0].name, extent .t.spec.containers`},
		{template, []any{"spec", "containers", 0, "name"}, `extent .t.spec.containers`},
		{template, []any{"spec", "containers", 0, "command"}, `.s, absence .t.spec.containers[0].command, extent .t.spec.containers`},
		{template, []any{"spec", "containers", 1, "image"}, `.t.spec.containers[0].name, .t.spec.containers[1].image, extent .t.spec.containers`},
		{template, []any{"spec", "containers", 1, "name"}, `.t.spec.containers[0].name, .t.spec.containers[1].name, extent .t.spec.containers`},
		{template, []any{"spec", "nodeSelector"}, `.t.spec.nodeSelector`},
		{template, []any{"spec", "nodeSelector", "zone"}, `.t.spec.nodeSelector.zone`},
		{`mergePodTemplate({"spec": {"containers": [{"name": "c", "image": self.k}]}}, self.t)`, []any{"spec", "containers", 0, "image"},
			`.k, .t.spec.containers[0].name, .t.spec.containers[1].name, extent .t.spec.containers`},
		{`mergePodTemplate({"spec": {"nodeName": self.k}}, self.?u.orValue({}))`, []any{"spec", "nodeName"}, `.k, absence .u`},
		// What is read in the arguments of a call.
		{`string(self.l.filter(e, e.v > 1)[0].v) + self.k`, nil, `.k, .l[0].v, .l[1].v`},
		{`cel.bind(f, self.l.filter(e, e.v > 1), f[1].n + self.k)`, nil, `.k, .l[0].v, .l[1].v, .l[2].n, .l[2].v`},
		{`self.?k.optMap(k, k + "1").orValue("")`, nil, `.k`},
		{`json.marshal(self.a)`, nil, `.a`},
		{`self.a == self.b`, nil, `.a, .b`},
		// An evaluation that fails.
		{`self.l[7].n`, nil, `extent .l`},
	} {
		if got := narrowed(t, c.expression, object, c.path, UsedValue); got != c.want {
			t.Errorf("%s at %v\n got %s\nwant %s", c.expression, c.path, got, c.want)
		}
	}
	if got := narrowed(t, `self.l.filter(e, e.v > 1).map(e, e.n)`, object, nil, UsedExtent); got != ".l[0].v, .l[1].v, .l[2].v, extent .l" {
		t.Error(got)
	}
}

// TestNarrowIsBounded merges lists that are too long to tell which elements decide.
func TestNarrowIsBounded(t *testing.T) {
	var volumes []string
	for i := range 200 {
		volumes = append(volumes, fmt.Sprintf(`{"name":"v%d"}`, i))
	}
	list := "[" + strings.Join(volumes, ",") + "]"
	expression := `mergePodTemplate({"spec": {"volumes": self.a}}, {"spec": {"volumes": self.b}})`
	object := `{"a":` + list + `,"b":` + list + `}`
	started := time.Now()
	if got := narrowed(t, expression, object, []any{"spec", "volumes", 7, "emptyDir"}, UsedValue); got != "everything" {
		t.Error(got)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

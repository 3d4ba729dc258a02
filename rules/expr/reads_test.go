package expr

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"reconcel/rules/source"
)

// withLets adds the shapes of some lets to those of the variables. It assembles a data
// let as the compiler of rules does.
func withLets(t *testing.T) map[string]*Shape {
	t.Helper()
	known := shapes()
	known["items"] = Items("items")
	for _, l := range []struct{ name, src string }{
		{"gen", `self.metadata.generation`},
		{"mixed", `self.metadata.name + string(self.metadata.generation)`},
		{"named", `"web-" + self.metadata.name`},
		{"meta", `self.metadata`},
		{"both", `{"name": self.metadata.name, "gen": string(self.metadata.generation)}`},
		{"picked", `items.filter(i, i.spec.role == "main")`},
		{"hashed", `hash.sha256(json.marshal(self))`},
		{"count", `size(items)`},
	} {
		known[l.name] = compile(t, l.src, known).Shape()
	}
	name, text := compile(t, `self.metadata.name`, known).Shape(), compile(t, `self.metadata.resourceVersion`, known).Shape()
	known["data"] = Fields(map[string]*Shape{"name": name, "text": Computed(name, nil, text), "list": Elements([]*Shape{name, Computed(text)})})
	known["each"] = compile(t, `items.filter(i, i.spec.role == "main")`, known).Shape().Any()
	known["worker"] = compile(t, `self.spec.workers`, known).Shape().Any()
	known["nth"] = compile(t, `lists.range(self.metadata.generation)`, known).Shape().Any()
	known["index"] = nil
	return known
}

func TestPaths(t *testing.T) {
	known := withLets(t)
	for src, want := range map[string]string{
		`1`:                                 ``,
		`"a" + "b"`:                         ``,
		`self`:                              `self`,
		`self.metadata.name`:                `self.metadata.name`,
		`self.metadata.?name`:               `self.metadata.name`,
		`self["metadata"]["name"]`:          `self.metadata.name`,
		`self.metadata.labels["a/b"]`:       `self.metadata.labels["a/b"]`,
		`self.spec.?a.orValue(self.spec.b)`: `self.spec.a self.spec.b`,
		`has(self.spec.x)`:                  `self.spec.x`,
		`self.spec.?x.hasValue()`:           `self.spec.x`,
		`self.spec.a == 1 ? "a" : "b"`:      `self.spec.a`,
		`self.spec.a > 1 ? self.spec.b : self.spec.c`:             `self.spec.a self.spec.b self.spec.c`,
		`string(self.spec.a) + "-" + self.spec.a`:                 `self.spec.a`,
		`!self.spec.a && self.spec.b || self.spec.c`:              `self.spec.a self.spec.b self.spec.c`,
		`self.spec[self.spec.key]`:                                `self.spec.key self.spec[]`,
		`self.spec.list[0].x`:                                     `self.spec.list[0].x`,
		`size(self.spec.list)`:                                    `self.spec.list`,
		`self.spec.list.map(x, x.a)`:                              `self.spec.list self.spec.list[].a`,
		`self.spec.list.map(x, "y")`:                              `self.spec.list`,
		`self.spec.list.filter(x, x.a == self.spec.b)[0].c`:       `self.spec.b self.spec.list self.spec.list[].a self.spec.list[].c`,
		`self.spec.list.exists(x, x.a)`:                           `self.spec.list self.spec.list[].a`,
		`self.spec.m.transformMap(k, v, v.a)`:                     `self.spec.m self.spec.m[].a`,
		`self.spec.list.sortBy(x, x.a)[0].b`:                      `self.spec.list self.spec.list[].a self.spec.list[].b`,
		`{"a": self.spec.a, "b": self.spec.b}.a`:                  `self.spec.a`,
		`{self.spec.k: self.spec.v}`:                              `self.spec.k self.spec.v`,
		`[self.spec.a, ?self.spec.?b]`:                            `self.spec.a self.spec.b`,
		`cel.bind(s, self.spec, s.a)`:                             `self.spec.a`,
		`cel.bind(s, self.spec.a, "x")`:                           ``,
		`merge(self.spec.a, {"b": self.spec.b}).b`:                `self.spec.a.b self.spec.b`,
		`self.spec.?a.optMap(a, a.b).orValue("")`:                 `self.spec.a self.spec.a.b`,
		`shortName(self.metadata.name, deployment.metadata.name)`: `deployment.metadata.name self.metadata.name`,
		`json.unmarshal(self.spec.text).a.b`:                      `self.spec.text`,
		`"%s-%d".format([self.spec.a, self.spec.b])`:              `self.spec.a self.spec.b`,
		`gen`:                               `self.metadata.generation`,
		`mixed`:                             `self.metadata.generation self.metadata.name`,
		`named + self.spec.x`:               `self.metadata.name self.spec.x`,
		`both.name`:                         `self.metadata.name`,
		`data.name`:                         `self.metadata.name`,
		`data.text`:                         `self.metadata.name self.metadata.resourceVersion`,
		`meta.name`:                         `self.metadata.name`,
		`picked[0].metadata.name`:           `items items[].metadata.name items[].spec.role`,
		`each.metadata.name`:                `items items[].metadata.name items[].spec.role`,
		`worker.name`:                       `self.spec.workers[].name`,
		`worker.name + "-" + string(index)`: `self.spec.workers[].name`,
	} {
		if got := strings.Join(compile(t, src, known).Paths(), " "); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

func TestVolatile(t *testing.T) {
	known := withLets(t)
	for want, sources := range map[string][]string{
		"self.metadata.generation": {
			`self.metadata.generation`, `self.metadata.?generation`, `self["metadata"]["generation"]`, `self.?metadata.?generation.orValue(0)`,
			`self[?"metadata"][?"generation"].orValue(1)`, "self.metadata.`generation`",
			`string(self.metadata.generation)`, `"a-" + string(self.metadata.generation)`, `shortName("a", string(self.metadata.generation))`,
			`hash.sha256(string(self.metadata.generation))`, `randomString(string(self.metadata.generation), 5)`,
			`"%d".format([self.metadata.generation])`, `["a", string(self.metadata.generation)].join("-")`,
			`self.metadata.generation == 1 ? "a" : "b"`, `self.metadata.generation > 1 && true ? "a" : "b"`,
			`{"a": self.metadata.generation}.a`, `{"a": {"b": [self.metadata.generation]}}.a.b[0]`, `{"a": 1, "b": self.metadata.generation}`,
			`{string(self.metadata.generation): "x"}.map(k, k)[0]`, `["a", "b", "c"][self.metadata.generation]`,
			`self.spec.list[self.metadata.generation].name`, `self.spec.m[string(self.metadata.generation)]`,
			`[1, 2, 3].filter(x, x > self.metadata.generation).size()`, `[1, 2, 3].map(x, x + self.metadata.generation)[0]`,
			`lists.range(self.metadata.generation).map(x, "a").join()`, `[1].exists(x, x == self.metadata.generation) ? "a" : "b"`,
			`["a", "b"].slice(0, self.metadata.generation)[0]`, `["b", "a"].sortBy(x, self.metadata.generation)[0]`,
			`cel.bind(g, self.metadata.generation, "x" + string(g))`, `cel.bind(m, self.metadata, cel.bind(g, m.generation, g))`,
			`optional.of(self.metadata.generation).value()`, `self.metadata.?generation.optMap(g, g + 1).orValue(0)`,
			`{"a": 1}.transformMapEntry(k, v, {k + string(self.metadata.generation): v})`,
			`merge({"a": 1}, {"g": self.metadata.generation}).g`, `merge(self.metadata, {}).generation`, `dyn(self).metadata.generation`,
			`json.unmarshal(json.marshal([self.metadata.generation]))[0]`, `math.greatest(1, self.metadata.generation)`,
			`"abc".substring(self.metadata.generation)`, `duration(string(self.metadata.generation) + "s")`,
			`(has(self.spec.a) ? self.metadata : self.spec).generation`, `[self.metadata][0].generation`, `has(self.metadata.generation) ? "a" : "b"`,
			`gen`, `mixed`, `mixed + "x"`, `shortName(mixed)`, `both.gen`, `both`, `both["gen"]`, `{"x": mixed}.x`, `meta.generation`, `meta.?generation`,
			`nth`, `string(nth)`, `[?self.metadata.?generation]`, `{?"a": self.metadata.?generation}.?a.orValue(1)`,
		},
		"self.metadata.resourceVersion": {
			`self.metadata.resourceVersion`, `size(self.metadata.resourceVersion)`, `data.text`, `data`, `data.list[0]`,
			`self.metadata.resourceVersion.split("")[0]`,
		},
		"self.metadata.resourceVersion[]": {
			`self.metadata.resourceVersion.reverse()`,
		},
		"self.metadata.managedFields":            {`string(self.metadata.managedFields.size())`, `self.metadata.managedFields.map(m, "x").join()`},
		"self.metadata.managedFields[0].manager": {`self.metadata.managedFields[0].manager`},
		"self.metadata": {`self.metadata`, `meta`, `json.marshal(self.metadata)`, `hash.md5(json.marshal(meta))`, `yaml.marshal({"m": self.metadata})`,
			`self.metadata == {}`, `"x" in self.metadata`, `"%s".format([self.metadata])`},
		"self":                           {`self`, `string(self)`, `hashed`, `json.marshal(self)`, `hash.sha256(json.marshal({"a": [self]}))`, `json.unmarshal(json.marshal(self)).metadata.name`},
		"self.metadata[]":                {`self.metadata[self.spec.key]`, `self.metadata["gener" + "ation"]`, `self.metadata.map(k, k)[0]`},
		"self[].generation":              {`self["meta" + "data"].generation`},
		"deployment.metadata.generation": {`deployment.metadata.generation`, `string(deployment.metadata.generation)`, `(self.spec.a ? deployment : self).metadata.generation`},
		"deployment":                     {`hash.md5(json.marshal(deployment))`},
		"items":                          {`items`, `json.marshal(items)`},
		"items[]":                        {`items[items.size() - 1]`, `items.filter(i, i.spec.a)`, `each`, `json.marshal(picked)`, `picked[0]`, `items.map(i, json.marshal(i))`},
		"items[0].metadata.generation":   {`items[0].metadata.generation`},
		"items[].metadata.generation": {`items.map(i, i.metadata.generation)[0]`, `items.filter(i, i.metadata.generation > 1)[0].metadata.name`,
			`items.exists(i, i.metadata.generation > 1) ? "a" : "b"`, `items.sortBy(i, i.metadata.generation)[0].metadata.name`, `each.metadata.generation`,
			`items.all(i, i.metadata.generation == 1)`, `picked[0].metadata.generation`, `items.map(i, i.metadata).map(m, m.generation).sum()`},
	} {
		for _, src := range sources {
			if got, ok := compile(t, src, known).Volatile(); !ok || got != want {
				t.Errorf("%s\n got %q\nwant %q", src, got, want)
			}
		}
	}
}

func TestNotVolatile(t *testing.T) {
	known := withLets(t)
	for _, src := range []string{
		`"a"`, `self.metadata.name`, `self.metadata.?name`, `self.metadata.namespace + "-" + self.metadata.name`, `self.metadata.uid`,
		`self.metadata.labels`, `self.metadata.labels["a/b"]`, `json.marshal(self.metadata.annotations)`,
		`has(self.spec.x)`, `has(self.metadata)`, `has(self.metadata.labels)`, `self.?metadata.hasValue()`, `has(self.spec.x) ? "a" : "b"`,
		`self.spec.foo == 1 ? "a" : "b"`, `self.spec.generation`, `self.generation`, `self.spec.metadata.generation`,
		`self.status.observedGeneration`, `string(deployment.status.observedGeneration)`,
		`hash.sha256(json.marshal(self.spec))`, `json.marshal(self.status)`, `self.spec`, `self.apiVersion`,
		`self.spec.template.metadata.generation`, `{"metadata": {"generation": 1}}.metadata.generation`,
		`size(items)`, `items.size()`, `size(items) == 0 ? "a" : "b"`, `count`, `items.map(i, i.metadata.name)`, `items[0].metadata.name`,
		`items.filter(i, i.spec.role == "main")[0].metadata.name`, `items.exists(i, has(i.metadata)) ? "a" : "b"`,
		`items.sortBy(i, i.metadata.name)[0].metadata.uid`, `items.map(i, "x")`, `items[?0].hasValue()`, `items.first().metadata.name`,
		`both.name`, `data.name`, `named`, `meta.name`, `picked[0].metadata.name`, `picked.size()`, `each.metadata.name`, `worker.name`, `worker`, `index`,
		`cel.bind(m, self.metadata, m.name)`, `cel.bind(s, self, s.metadata.name)`, `(has(self.spec.a) ? self : deployment).metadata.name`,
		`merge(self.metadata, {"a": 1}).name`, `[self.metadata][0].name`, `optional.of(self).?metadata.?name.orValue("")`,
	} {
		if got, ok := compile(t, src, known).Volatile(); ok {
			t.Errorf("%s: %q", src, got)
		}
	}
}

func TestReadsAreBounded(t *testing.T) {
	known := shapes()
	known["l0"] = compile(t, `{"a": self.metadata.name, "b": self.metadata.name}`, known).Shape()
	for i := range 40 { // Expanded, this would be too large for any machine.
		known[fmt.Sprintf("l%d", i+1)] = compile(t, fmt.Sprintf(`{"a": l%d, "b": l%d}`, i, i), known).Shape()
	}
	if got := compile(t, `string(l40)`, known).Paths(); !slices.Equal(got, []string{"self.metadata.name"}) {
		t.Error(got)
	}
	many := func(format string) string {
		var out []string
		for i := range 100 {
			out = append(out, fmt.Sprintf(format, i))
		}
		return strings.Join(out, " + ")
	}
	for _, src := range []string{
		"string(" + many("self.spec.f%d") + " + self.metadata.generation)",
		"self.metadata.generation + " + many("self.spec.f%d"),
		many("self.spec.f%d") + " + self.metadata.generation",
		many("string(self.spec.f%d)") + " + string(self.metadata.generation)",
	} {
		p := compile(t, src, known)
		if n := len(p.Paths()); n > maxReads+maxPaths {
			t.Errorf("%s: %d", src, n)
		}
		if got, ok := p.Volatile(); !ok || got != "self.metadata.generation" {
			t.Errorf("%s: %q", src, got)
		}
	}
}

func TestReadsOfAProgram(t *testing.T) {
	if got := compile(t, `cel.bind(x, deployment, self.spec.a + self.spec.b)`, shapes()).Reads(); !slices.Equal(got, []string{"deployment", "self"}) {
		t.Error(got)
	}
}

func TestTypesThatPlacesAskFor(t *testing.T) {
	scope, err := NewScope("self")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		src  string
		want Type
		says string
	}{
		{`1`, Int, ``},
		{`self.spec.replicas`, Int, ``},
		{`self.spec.?replicas.orValue(1)`, Int, ``},
		{`size(self.spec.list)`, Int, ``},
		{`"a"`, Int, `must be a whole number, but is of type string`},
		{`1.5`, Int, `must be a whole number, but is of type number`},
		{`1u`, Int, `must be a whole number, but is of type unsigned integer (write int(...))`},
		{`true`, Int, `must be a whole number, but is of type boolean`},
		{`null`, Int, `must be a whole number, but is of type null`},
		{`self.spec.?replicas`, Int, `must be a whole number, but is of type optional any (give it a default with orValue())`},
		{`[1]`, List, ``},
		{`[]`, List, ``},
		{`self.spec.list`, List, ``},
		{`self.spec.list.map(x, x.a)`, List, ``},
		{`{"a": 1}`, List, `must be a list, but is of type map of integer`},
		{`"a,b"`, List, `must be a list, but is of type string`},
		{`self.spec.?list`, List, `must be a list, but is of type optional any (give it a default with orValue())`},
		{`{"a": [1]}.a`, List, ``},
		{`1`, Bool, `must be true or false, but is of type integer`},
		{`1`, Any, ``},
	} {
		_, issues := scope.Check(&source.Expr{Text: c.src, Pos: source.Pos{File: "rules.yaml", Line: 1, Column: 1}}, c.want)
		var got string
		for _, i := range issues {
			got += i.Message
			if i.Hint != "" {
				got += " (" + i.Hint + ")"
			}
		}
		if got != c.says {
			t.Errorf("%s\n got %s\nwant %s", c.src, got, c.says)
		}
	}
}

package rules

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// fuzzRule puts one expression into all fields of a rule.
func fuzzRule(expression string) string {
	bare, data := quoteJSON(expression), quoteJSON("${"+expression+"}")
	text := quoteJSON("a-${" + expression + "}-b")
	typeless := quoteJSON("dyn(" + expression + ")") // of any type, where the field requires one
	return `
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  let: {x: ` + bare + `, d: {x: ` + data + `, l: [` + data + `]}}
  allow: {namespaces: ["*"], read: {namespaces: ["*"]}}
  lookups:
  - {id: look, apiVersion: v1, kind: ConfigMap, namespace: "n", name: look}
  - {id: all, apiVersion: v1, kind: ConfigMap, namespace: "", selector: {matchLabels: {a: "${string(self.?spec.?x.orValue(1))}"}}}
  validate:
  - {expression: has(self.spec), message: ` + text + `}
  children:
  - id: a
    when: has(self.spec)
    template: {apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: ` + data + `}
  - id: b
    readyWhen: ` + quoteJSON("x == child") + `
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: ` + text + `, labels: ` + data + `, annotations: {a: ` + data + `}}
      spec: {x: ` + data + `, limits: ` + data + `, list: [` + data + `, ` + text + `], d: "${d}"}
  - id: c
    template: {apiVersion: example.com/v1, kind: C, metadata: {name: c, annotations: ` + data + `}, spec: ` + data + `}
  - id: every
    forEach: [{name: e, index: i, in: ` + typeless + `}]
    failWhen: ` + quoteJSON("e == child") + `
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "every-${i}", namespace: "${e.?n.orValue('ns')}"}, data: {x: "${string(i)}"}}
  - id: many
    replicas: ` + typeless + `
    onChange: replace
    maxUnavailable: ` + typeless + `
    ignoreFields: [spec.x, metadata.annotations.b]
    template: {apiVersion: v1, kind: Pod, metadata: {generateName: many-, annotations: {a: ` + data + `, b: ` + text + `}}, spec: {x: ` + data + `, y: "${size(every)}"}}
  patch: {metadata: {labels: ` + data + `, annotations: {a: ` + text + `}}, spec: {x: ` + data + `}}
  finalize:
  - id: end
    timeout: 1m
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: end}, data: {x: ` + data + `}}
  status: {x: ` + data + `, l: [` + data + `], t: ` + text + `, d: "${d}"}
  conditions:
  - {type: Up, when: ` + quoteJSON("dyn("+expression+") == true") + `, reason: ` + data + `, message: ` + text + `}
  - {forEach: [{name: z, index: i, in: ` + typeless + `}], type: "Z-${i}-${z}", when: has(self.spec), reason: ` + data + `, message: ` + text + `}
`
}

// readingRule puts one expression into fields that may read children and all of self,
// unlike other fields.
func readingRule(expression string) string {
	data, typeless := quoteJSON("${"+expression+"}"), quoteJSON("dyn("+expression+")")
	return `
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  let: {x: ` + typeless + `, d: {x: ` + data + `}}
  lookups:
  - {id: look, apiVersion: v1, kind: ConfigMap, name: look}
  - {id: all, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {a: "b"}}}
  children:
  - {id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "y"}}}
  - {id: b, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: b}, spec: {}}}
  - {id: many, replicas: 2, onChange: replace, template: {apiVersion: v1, kind: Pod, metadata: {generateName: many-}, spec: {}}}
  - id: every
    forEach: [{name: e, index: i, in: ` + typeless + `}]
    readyWhen: e == child || x == child
    template: {apiVersion: example.com/v1, kind: E, metadata: {name: "every-${i}"}, spec: {e: "${e}", x: ` + data + `}}
  - id: c
    when: ` + quoteJSON("dyn("+expression+") != true") + `
    template: {apiVersion: example.com/v1, kind: C, metadata: {name: c, annotations: ` + data + `}, spec: {x: ` + data + `, d: "${d}"}}
  status: {x: ` + data + `, l: [` + data + `], n: "${size(every)}"}
  conditions:
  - {type: Up, when: ` + quoteJSON("dyn("+expression+") == true") + `}
`
}

// loadFuzzed loads a rule with the expression in all fields, or else in those that may
// read more. It returns nil if neither is valid.
func loadFuzzed(t *testing.T, expression string) *Program {
	t.Helper()
	for _, rule := range []string{fuzzRule(expression), readingRule(expression)} {
		p, err := Load(rulesFile(rule))
		if err == nil {
			return p
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if !strings.HasPrefix(line, "rules.yaml:") {
				t.Fatalf("no place: %s", line)
			}
		}
	}
	return nil
}

// TestFuzzRules requires that almost any expression loads in these rules. Fuzzing rules
// that do not load would test nothing.
func TestFuzzRules(t *testing.T) {
	for _, leaf := range leaves {
		if leaf == `v` {
			continue // It exists only inside a loop.
		}
		if loadFuzzed(t, leaf) == nil {
			_, err := Load(rulesFile(readingRule(leaf)))
			t.Errorf("%s: %v", leaf, err)
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, e := range []string{
		`self.spec.map`, `self.spec.image`, `self.spec.?nope`, `self.spec.nope`, `self.status.x`, `self.spec.list.map(i, i)`,
		`{"a": self.spec.image, ?"b": self.spec.?nope}`, `merge(self.spec.map, {"x": "y"})`, `json.marshal(self)`, `1.0 / 0.0`,
		"self.metadata.labels.`a/b`", `self.spec.map.transformMap(k, v, v + k)`, `[null, [], {}]`, `dyn(1) + dyn("x")`,
		`yaml.unmarshal(self.spec.image)`, `json.tryUnmarshal(self.spec.image)`, `selects(self.spec.map, look)`, `fail(self.spec.image)`, `regex.replace(self.spec.image, "(n)", r"\1\1")`, `[quantity("1Gi")].sum()`, `lists.setAtIndex(self.spec.list, 0, look)`, `url.escape(self.spec.image)`,
		`timestamp("2024-01-01T00:00:00Z")`, `cel.bind(x, self, x.spec)`, `"a".replace("a", self.spec.image)`, `b"x"`, `type(1)`,
		`has(self.spec.nope) ? 1 : 2`, `self.spec.list`, `[{"n": "a"}, {"n": "b"}]`, `3`, `all.map(o, o.data)`, `look.data.x`, `every.size()`, `many`, `"\u0000\ud7ff"`, `optional.of(optional.none())`, `a.data.x`, `b.?spec.?x.orValue("y")`,
	} {
		f.Add(e, `{"map":{"b":"2","a":"1"},"image":"nginx","list":[1,"x",null]}`, `{"data":{"x":"y"}}`)
	}
	f.Fuzz(func(t *testing.T, expression, spec, live string) {
		var s, l any
		if utiljson.Unmarshal([]byte(spec), &s) != nil || utiljson.Unmarshal([]byte(live), &l) != nil {
			t.Skip()
		}
		p := loadFuzzed(t, expression)
		if p == nil {
			t.Skip()
		}
		child, _ := l.(object)
		checkTwice(t, p, Input{
			Self:     object{"metadata": object{"name": "p", "namespace": "ns", "uid": "u"}, "spec": s},
			Observed: func(Identity) Live { return Live{Object: child} },
			Owned: func(*Rule, *Child) ([]Live, error) {
				return []Live{podOf("a", "Running", "1"), podOf("b", "Failed", "2"), podOf("c", "", "3")}, nil
			},
			Lookup: func(*Lookup, Query) ([]map[string]any, error) { return []map[string]any{child}, nil },
		})
	})
}

// checkTwice checks that a primary renders the same each time, both live and in deletion.
func checkTwice(t *testing.T, p *Program, in Input) {
	t.Helper()
	metadata, _ := in.Self["metadata"].(object)
	for _, deletion := range []string{"", "2026-01-01T00:00:00Z"} {
		if deletion != "" {
			metadata["deletionTimestamp"] = deletion
		}
		var once, again Rendering
		p.Primaries()[0].Render(in, &once)
		p.Primaries()[0].Render(in, &again)
		if a, b := strings.Join(seen(&once), "\n"), strings.Join(seen(&again), "\n"); a != b {
			t.Fatalf("%s\n%s", a, b)
		}
		checkRendering(t, &once)
		checkProjected(t, p, in)
	}
}

// checkRendering checks the invariants of any rendering.
func checkRendering(t *testing.T, out *Rendering) {
	t.Helper()
	r := &out.Rules[0]
	for _, f := range []*Failure{r.Err, r.StatusErr} {
		if f != nil && f.Reason == RuleError && (!strings.HasPrefix(f.Message, "rules.yaml:") || strings.Contains(f.Message, "internal error")) {
			t.Fatal(f.Message)
		}
	}
	if len(r.Status) > 0 && !json.Valid(r.Status) {
		t.Fatalf("%s", r.Status)
	}
	if len(r.Patch) > 0 && !json.Valid(r.Patch) {
		t.Fatalf("%s", r.Patch)
	}
	for i := range r.Children {
		c := &r.Children[i]
		if (c.State == Failed) != (c.Err != nil) || c.State == Waiting && len(c.Waits) == 0 || len(c.Objects) > maxChildren {
			t.Fatalf("%+v", c)
		}
		checkObjects(t, c)
	}
}

func checkObjects(t *testing.T, c *ChildResult) {
	t.Helper()
	for i := range c.Objects {
		d := &c.Objects[i]
		if (d.State == Failed) != (d.Err != nil) || d.State == Waiting && len(d.Waits) == 0 {
			t.Fatalf("%+v", d)
		}
		if d.State != Rendered {
			continue
		}
		var o struct {
			Metadata struct {
				Name, Namespace, UID, ResourceVersion string
				Labels, Annotations                   map[string]string
			}
		}
		apply := d.AppendApply(nil, "u", "1")
		if err := json.NewDecoder(bytes.NewReader(apply)).Decode(&o); err != nil {
			t.Fatalf("%v: %s", err, apply)
		}
		m := o.Metadata
		if m.Name != d.Identity.Name || m.Namespace != d.Identity.Namespace || m.UID != "u" || m.ResourceVersion != "1" ||
			m.Labels[LabelRule] != "r" || m.Labels[LabelChild] != d.Child.ID || m.Annotations[AnnotationApplied] != d.HashString() {
			t.Fatalf("%s", apply)
		}
		if _, err := d.Whole(); err != nil {
			t.Fatal(err)
		}
	}
}

// grower builds an expression from bytes, so that mutations of the bytes stay
// expressions.
type grower struct {
	data  []byte
	depth int
}

var (
	leaves = []string{
		`self`, `self.spec`, `self.spec.map`, `self.spec.list`, `self.spec.image`, `self.spec.nope`, `self.status`, `self.status.x`, `a`, `b`, `a.data`,
		`a.data.x`, `a.data.nope`, `b.status.x`, `1`, `-1`, `2.5`, `2u`, `"x"`, `""`, `b"x"`, `null`, `true`, `{}`, `[]`, `optional.none()`,
		`timestamp("2024-01-01T00:00:00Z")`, `duration("1s")`, `int`, `v`, `exists(a)`, `exists(look)`, `included(b)`,
	}
	branches = []string{
		`(? + ?)`, `(? == ?)`, `(? && ?)`, `(? || ?)`, `!?`, `(? ? ? : ?)`, `[?, ?]`, `[??]`, `{"a": ?, "b": ?}`, `{?"a": ?, "x": ?}`, `{?: ?}`, `?.x`, `?.?x`,
		`?[?]`, `?[??]`, `?["x"]`, `?.map(v, ?)`, `?.filter(v, ?)`, `?.exists(v, ?)`, `?.all(v, ?)`, `?.transformMap(k, v, ?)`, `?.transformList(k, v, ?)`,
		`?.orValue(?)`, `?.or(?)`, `?.hasValue()`, `optional.of(?)`, `?.optMap(v, ?)`, `has(?.x)`, `cel.bind(v, ?, ?)`, `size(?)`, `string(?)`, `int(?)`,
		`?.sort()`, `?.first()`, `merge(?, ?)`, `deepMerge(?, ?)`, `mergeBy(?, ?, "name")`, `json.marshal(?)`, `?.replace(?, ?)`, `?.join(?)`, `"%s".format([?])`, `lists.range(?)`,
		`(? in ?)`, `(? < ?)`, `dyn(?)`, `?.sortBy(v, ?)`, `?.flatten()`, `?[0]`, `?.value()`, `type(?)`, `shortName(?, ?)`, `sets.contains(?, ?)`,
		`when(?, ?)`, `isTrue(?, ?)`, `condition(?, ?)`, `label(?, ?)`, `annotation(?, "x")`,
	}
)

func (g *grower) expression() string {
	if len(g.data) == 0 || g.depth > 6 {
		return leaves[g.depth%len(leaves)]
	}
	n := int(g.data[0])
	g.data = g.data[1:]
	if n < 100 {
		return leaves[n%len(leaves)]
	}
	g.depth++
	defer func() { g.depth-- }()
	out := branches[n%len(branches)]
	// Some question marks belong to CEL. Any other one is a hole.
	var b strings.Builder
	for i := 0; i < len(out); i++ {
		own := strings.HasPrefix(out[i:], `??`) || strings.HasPrefix(out[i:], `?"`) || strings.HasPrefix(out[i:], `?x`) || strings.HasPrefix(out[i:], `? ? ? :`) && i > 1
		switch {
		case out[i] != '?':
			b.WriteByte(out[i])
		case own:
			b.WriteByte('?')
		default:
			b.WriteString(g.expression())
		}
	}
	return b.String()
}

func FuzzGrown(f *testing.F) {
	for i := range branches {
		f.Add([]byte{byte(100 + i), 2, 3, 4}, "x")
		f.Add([]byte{byte(100 + i), byte(101 + i), 11, 7, 12, 13}, "y")
	}
	f.Fuzz(func(t *testing.T, data []byte, value string) {
		g := &grower{data: data}
		p := loadFuzzed(t, g.expression())
		if p == nil {
			t.Skip()
		}
		live := Live{Object: object{"data": object{"x": value}}}
		checkTwice(t, p, Input{
			Self: object{"metadata": object{"name": "p", "namespace": "ns", "uid": "u"}, "spec": object{
				"map": object{"b": value, "a": "1", "x": int64(1)}, "image": value, "list": list{int64(1), "x", nil, object{"x": value}}}},
			Observed: func(id Identity) Live {
				if id.Name == "a" {
					return live
				}
				return Live{}
			},
			Lookup: func(*Lookup, Query) ([]map[string]any, error) { return []map[string]any{live.Object}, nil },
		})
	})
}

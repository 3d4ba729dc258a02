package check

import (
	"fmt"
	"strings"
	"testing"

	"reconcel/rules/source"
)

// TestGuards expects the steps of single expressions that have no guard.
func TestGuards(t *testing.T) {
	const (
		title = "self.spec.title"
		inner = "self.spec.inner"
		hosts = "self.spec.hosts"
	)
	set := load(t, "testdata/crds/*.yaml")
	for _, c := range []struct {
		expression string
		absent     string // what may be absent, or ""
	}{
		{`self.spec.name == ""`, ""},
		{`self.spec.active`, ""},
		{`self.metadata.name == self.metadata.namespace`, ""},
		{`self.status.phase == "Open"`, ""},
		{`self.spec.title == ""`, title},
		{`self.spec.?title.orValue("") == ""`, ""},
		{`self.spec.?inner.must.orValue("") == ""`, ""},
		{`has(self.spec.title)`, ""},
		{`has(self.spec.inner.may)`, inner},
		{`has(self.spec.title) && self.spec.title == ""`, ""},
		{`self.spec.title == "" && has(self.spec.title)`, ""},
		{`self.spec.title == "" && self.spec.title == "a"`, title},
		{`has(self.spec.title) || self.spec.title == ""`, title},
		{`!has(self.spec.title) || self.spec.title == ""`, ""},
		{`self.spec.title == "" || !has(self.spec.title)`, ""},
		{`!(has(self.spec.title) && self.spec.title == "")`, ""},
		{`has(self.spec.title) ? self.spec.title == "" : true`, ""},
		{`has(self.spec.title) ? true : self.spec.title == ""`, title},
		{`!has(self.spec.title) ? true : self.spec.title == ""`, ""},
		{`self.spec.active && (has(self.spec.title) && has(self.spec.code)) && self.spec.code + self.spec.title == ""`, ""},
		{`(has(self.spec.title) || has(self.spec.code)) && self.spec.title == ""`, title},
		{`(has(self.spec.title) ? self.spec.active : false) && self.spec.title == ""`, ""},
		{`has(self.spec.title) == true && self.spec.title == ""`, ""},
		{`has(self.spec.title) != false && self.spec.title == ""`, ""},
		{`has(self.spec.title) == false || self.spec.title == ""`, ""},
		{`self.spec.?title.hasValue() && self.spec.title == ""`, ""},
		{`self.spec.?title.hasValue() && self.spec.?title.value() == ""`, ""},
		{`self.spec.?title.value() == ""`, title},
		{`self.spec.?title.orValue("") != "" && self.spec.title == "a"`, ""},
		{`"" != self.spec.?title.orValue("") && self.spec.title == "a"`, ""},
		{`self.spec.?title.orValue("a") != "" && self.spec.title == "a"`, title},
		{`self.spec.?title.orValue("a") == "a" || self.spec.title == ""`, ""},
		{`self.spec.?title != optional.none() && self.spec.title == ""`, ""},
		{`optional.none() != self.spec.?title && self.spec.title == ""`, ""},
		{`self.spec.?title == optional.none() || self.spec.title == ""`, ""},
		{`self.spec.?title == optional.none() && self.spec.title == ""`, title},
		{`self.spec.?title == optional.of("a") && self.spec.title == "a"`, ""},
		{`self.spec.?title != optional.of("a") && self.spec.title == "a"`, title},
		{`self.spec.?title.orValue("") in ["a", "b"] && self.spec.title == "a"`, ""},
		{`!(self.spec.?title.orValue("") in ["", "b"]) && self.spec.title == "a"`, ""},
		{`self.spec.?title.orValue("") in ["", "b"] && self.spec.title == "a"`, title},
		{`self.spec.?title.orValue("") in [self.spec.name] && self.spec.title == "a"`, title},
		{`self.spec.?title.orValue("").startsWith("a") && self.spec.title == "a"`, ""},
		{`self.spec.?title.orValue("a").startsWith("a") && self.spec.title == "a"`, title},
		{`self.spec.?title.orValue("").contains(self.spec.name) && self.spec.title == "a"`, title},
		{`self.spec.?title.optMap(v, v == "a").orValue(false) && self.spec.title == "a"`, ""},
		{`self.spec.?title.optMap(v, v == "a").orValue(true) && self.spec.title == "a"`, title},
		{`optional.of(has(self.spec.title)).hasValue() && self.spec.title == "a"`, title},
		{`optional.of(has(self.spec.title)).orValue(false) && self.spec.title == "a"`, ""},
		{`self.spec.title != null && self.spec.title == "a"`, title},
		{`has(self.spec.title) && self.spec.title != null && self.spec.title == "a"`, ""},
		{`self.spec.?title.orValue(null) != null && self.spec.title == "a"`, ""},
		{`given != "" && self.spec.title == "a"`, ""},
		{`given == "" && self.spec.title == "a"`, title},
		{`flags.title && self.spec.title == "a"`, ""},
		{`!flags.title || self.spec.title == "a"`, ""},
		{`flags.title || self.spec.title == "a"`, title},
		{`flags.both && self.spec.title == "a"`, ""},
		{`flags.code && self.spec.title == "a"`, title},
		{`self.spec.?parts.orValue([]).all(p, has(p.image)) && self.spec.?parts.orValue([]).exists(q, q.image == "")`, ""},
		{`has(self.spec.parts) && self.spec.parts.all(p, has(p.image)) && self.spec.parts.map(q, q.image).size() > 0`, ""},
		{`has(self.spec.parts) && !self.spec.parts.exists(p, !has(p.image)) && self.spec.parts.map(q, q.image).size() > 0`, ""},
		{`has(self.spec.parts) && self.spec.parts.all(p, has(p.image)) && self.spec.parts[0].image == ""`, ""},
		{`has(self.spec.parts) && self.spec.parts.exists(p, has(p.image)) && self.spec.parts.map(q, q.image).size() > 0`, "q.image"},
		{`has(self.spec.parts) && !self.spec.parts.all(p, has(p.image)) && self.spec.parts.map(q, q.image).size() > 0`, "q.image"},
		{`has(self.spec.parts) && self.spec.parts.all(p, !has(p.image)) && self.spec.parts.map(q, q.image).size() > 0`, "q.image"},
		{`has(self.spec.parts) && self.spec.parts.all(p, has(p.image) || self.spec.active) && self.spec.parts.map(q, q.image).size() > 0`, "q.image"},
		{`has(self.spec.parts) && (self.spec.active || self.spec.parts.all(p, has(p.image))) && self.spec.parts.map(q, q.image).size() > 0`, "q.image"},
		{`has(self.spec.parts) && self.spec.parts.all(p, has(p.image)) && self.spec.parts.map(q, q.ports).size() > 0`, "q.ports"},
		{`self.spec.?ratio.orValue(0.0) > 0.0 && self.spec.ratio < 1.0`, ""},
		{`self.spec.?ratio.orValue(0.0) >= 0.0 && self.spec.ratio < 1.0`, "self.spec.ratio"},
		{`size(self.spec.?hosts.orValue([])) > 0 && self.spec.hosts[0] == ""`, ""},
		{`self.spec.?hosts.orValue([]).size() != 0 && self.spec.hosts[0] == ""`, ""},
		{`size(self.spec.?hosts.orValue([])) >= 0 && self.spec.hosts[0] == ""`, hosts},
		{`self.spec.?hosts.orValue([]).exists(h, h == "") && self.spec.hosts[0] == ""`, ""},
		{`self.spec.?hosts.orValue([]).all(h, h == "") || self.spec.hosts[0] == ""`, ""},
		{`self.spec.hosts.exists(h, h == "")`, hosts},
		{`self.spec.labels.a == ""`, "self.spec.labels"},
		{`has(self.spec.labels) && self.spec.labels.a == ""`, "self.spec.labels.a"},
		{`has(self.spec.labels) && "a" in self.spec.labels && self.spec.labels.a == ""`, ""},
		{`"a" in self.spec.?labels.orValue({}) && self.spec.labels["a"] == ""`, ""},
		{`has(self.spec.labels) && self.spec.labels["x.y/z"] == ""`, "self.spec.labels.`x.y/z`"},
		{`has(self.spec.labels) && self.spec.labels[?"a"].orValue("") == ""`, ""},
		{`self.spec.?inner.optMap(i, i.must == "").orValue(false)`, ""},
		{`self.spec.?inner.optMap(i, i.may == "").orValue(false)`, "self.spec.inner.may"},
		{`has(self.spec.inner) && self.spec.inner.must == ""`, ""},
		{`has(self.spec.inner) && self.spec.inner.deep.may == ""`, "self.spec.inner.deep"},
		{`has(self.spec.inner) && has(self.spec.inner.deep.may) && self.spec.inner.deep.may == ""`, "self.spec.inner.deep"},
		{`has(self.spec.inner) && has(self.spec.inner.deep) && has(self.spec.inner.deep.may) && self.spec.inner.deep.may == ""`, ""},
		{`cel.bind(i, self.spec.inner, i.must == "")`, inner},
		{`has(self.spec.inner) && cel.bind(i, self.spec.inner, has(i.may) && i.may == "")`, ""},
		{`has(self.spec.inner) && cel.bind(i, self.spec.inner, has(i.may)) && self.spec.inner.may == ""`, ""},
		{`self.spec.?parts.orValue([]).exists(p, p.name == "")`, ""},
		{`self.spec.?parts.orValue([]).exists(p, p.image == "")`, "p.image"},
		{`self.spec.?parts.orValue([]).exists(p, has(p.image) && p.image == "")`, ""},
		{`self.spec.?parts.orValue([]).filter(p, has(p.image)).exists(q, q.image == "")`, ""},
		{`self.spec.?parts.orValue([]).filter(p, has(p.image)).filter(p, has(p.ports)).exists(q, q.image == "" && q.ports[0].number == 1)`, ""},
		{`self.spec.?parts.orValue([]).filter(p, has(p.image)).exists(q, q.ports[0].number == 1)`, "q.ports"},
		{`self.spec.?parts.orValue([]).map(p, has(p.image), p.image).exists(i, i == "")`, ""},
		{`self.spec.?parts.orValue([]).exists(p, has(p.image) && self.spec.parts.exists(q, q.image == ""))`, "q.image"},
		{`self.spec.?parts.orValue([]).map(p, p.?ports.orValue([])).flatten().exists(q, q.name == "")`, "q.name"},
		{`has(self.spec.parts) && self.spec.parts.size() > 0 && has(self.spec.parts[0].image) && self.spec.parts[0].image == ""`, ""},
		{`has(self.spec.parts) && self.spec.parts.size() > 0 && has(self.spec.parts[1].image) && self.spec.parts[0].image == ""`, "self.spec.parts[0].image"},
		{`has(self.spec.free) && self.spec.free.x.y == 1`, "self.spec.free.x"},
		{`has(self.spec.free) && has(self.spec.free.x) && self.spec.free.x.y == 1`, ""},
		{`viaLet == ""`, title},
		{`has(self.spec.title) && viaLet == ""`, ""},
		{`isSet && viaLet == ""`, ""},
		{`viaLet == "" && isSet`, ""},
		{`data.title == ""`, title},
		{`isSet && data.title == ""`, ""},
		{`part.must == ""`, inner},
		{`has(part.may)`, inner},
		{`has(self.spec.inner) && has(part.may) && self.spec.inner.may == ""`, ""},
		{`other[0].data.x == "" && one.data.y == ""`, ""},
	} {
		t.Run(c.expression, func(t *testing.T) {
			source := source.File{Name: "rules.yaml", Data: fmt.Appendf(nil, `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: guards
  for: {apiVersion: example.com/v1, kind: Thing}
  let:
    viaLet: self.spec.title
    isSet: has(self.spec.title)
    part: self.spec.inner
    data: {title: "${self.spec.title}"}
    given: self.spec.?title.orValue("")
    flags: {title: "${has(self.spec.title)}", code: "${has(self.spec.code)}", both: "${title && code}"}
  lookups:
  - {id: one, apiVersion: v1, kind: ConfigMap, name: a}
  - {id: other, apiVersion: v1, kind: ConfigMap, selector: {}}
  children:
  - id: config
    when: >-
      %s
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}
`, c.expression)}
			f := found(t, set, source)
			var got []string
			for _, w := range f.Warnings {
				got = append(got, w.Message)
			}
			all := strings.Join(got, "\n")
			switch {
			case len(f.Errors) > 0:
				t.Error(f.Errors)
			case c.absent == "" && all != "", c.absent != "" && !strings.Contains(all, ": "+c.absent+" may be absent"):
				t.Errorf("want %q, got %q", c.absent, all)
			}
		})
	}
}

package check

import (
	"fmt"
	"strings"
	"testing"

	"reconcel/rules/lint"
	"reconcel/rules/source"
)

// TestExcludedReaders has a child, cache, that a when excludes, and one that reads it.
func TestExcludedReaders(t *testing.T) {
	set := load(t, "testdata/crds/*.yaml")
	for _, c := range []struct {
		when   string // of cache
		reader string // keys of the reader
		value  string // that the reader reads
		found  bool
	}{
		{`self.spec.active`, "", `cache.metadata.name`, true},
		{`self.spec.active`, "", `cache["metadata"].name`, true},
		{`self.spec.active`, "", `has(self.spec.title) ? cache.metadata.name : ""`, true},
		{`self.spec.active`, "", `self.spec.active ? "" : cache.metadata.name`, true},
		{`self.spec.active`, "", `self.spec.active || has(self.spec.title) ? cache.metadata.name : ""`, true},
		{`self.spec.active`, "", `[cache].map(c, c.metadata.name)[0]`, true},
		{`self.spec.active`, "", `cel.bind(c, cache, c.metadata.name)`, true},
		{`self.spec.active`, "", `cache != null ? "a" : "b"`, true},
		{`self.spec.active`, "", `nameOf(cache)`, true},
		{`self.spec.active`, "", `(has(self.spec.title) ? cache : twin).metadata.name`, true},
		{`self.spec.active`, "", `whole.metadata.name`, true},
		{`self.spec.active`, "", `parts.name`, true},
		{`self.spec.active`, "", `parts.title`, true},
		{`self.spec.active`, "", `dyn(cache.metadata).?name.orValue("")`, true},
		{`self.spec.active`, "", `selected.map(s, s.metadata.name).join(",")`, true},
		{`self.spec.active`, `forEach: {e: '["a", "b"]'}`, `cache.metadata.name + e`, true},
		{`self.spec.active`, `forEach: {e: "[cache.metadata.name]"}`, `e`, true},
		{`self.spec.active`, `replicas: size(self.spec.?hosts.orValue([]))`, `cache.metadata.name`, true},
		{`self.spec.code == "a" || self.spec.code == "b"`, "", `self.spec.?code.orValue("") == "a" ? cache.metadata.name : ""`, true},

		{`self.spec.active`, "", `cache.?metadata.?name.orValue("")`, false},
		{`self.spec.active`, "", `cache.metadata.?name.orValue("")`, false},
		{`self.spec.active`, "", `(has(self.spec.title) ? cache : twin).?metadata.?name.orValue("")`, false},
		{`self.spec.active`, "", `(self.spec.active ? cache : pods[0]).metadata.name`, false},
		{`self.spec.active`, "", `cache.metadata[?"name"].orValue("")`, false},
		{`self.spec.active`, "", `has(cache.metadata.labels) ? "a" : "b"`, false},
		{`self.spec.active`, "", `has(cache.metadata.labels) ? cache.metadata.name : "b"`, false},
		{`self.spec.active`, "", `cache.?metadata.hasValue() ? cache.metadata.name : ""`, false},
		{`self.spec.active`, "", `cache.?metadata.optMap(m, cache.metadata.name).orValue("")`, false},
		{`self.spec.active`, "", `included(cache) ? cache.metadata.name : ""`, false},
		{`self.spec.active`, "", `!included(cache) ? "" : cache.metadata.name`, false},
		{`self.spec.active`, "", `exists(cache) ? cache.metadata.name : ""`, false},
		{`self.spec.active`, "", `included(twin) ? cache.metadata.name : ""`, false},
		{`self.spec.active`, "", `self.spec.active ? cache.metadata.name : ""`, false},
		{`self.spec.active`, "", `self.spec.active && has(self.spec.title) ? cache.metadata.name : ""`, false},
		{`self.spec.active`, "", `!self.spec.active ? "" : cache.metadata.name`, false},
		{`self.spec.active`, "", `self.spec.active == true ? cache.metadata.name : ""`, false},
		{`self.spec.active`, "", `isActive ? cache.metadata.name : ""`, false},
		{`self.spec.active`, "", `!self.spec.active || cache.metadata.name == "" ? "a" : "b"`, false},
		{`self.spec.active`, "when: self.spec.active", `cache.metadata.name`, false},
		{`self.spec.active`, "when: self.spec.active && has(self.spec.title)", `cache.metadata.name`, false},
		{`self.spec.active`, "when: has(self.spec.title)", `cache.metadata.name`, false},
		{`self.spec.active`, "", `cel.bind(c, cache, c.?metadata.?name.orValue(""))`, false},
		{`self.spec.active`, "", `whole.?metadata.?name.orValue("")`, false},
		{`self.spec.active`, "", `existing(pods).map(p, p.metadata.name).join(",")`, false},
		{`self.spec.active`, "after: [cache]", `"a"`, false},
		{`isActive`, "", `self.spec.active ? cache.metadata.name : ""`, false},
		{`isActive`, "", `isActive ? cache.metadata.name : ""`, false},
		{`!self.spec.active`, "", `self.spec.active ? "" : cache.metadata.name`, false},
		{`self.spec.active && has(self.spec.title)`, "", `self.spec.active && has(self.spec.title) ? cache.metadata.name : ""`, false},
		{`self.spec.active && has(self.spec.title)`, "", `has(self.spec.title) && self.spec.active && has(self.spec.code) ? cache.metadata.name : ""`, false},
		{`self.spec.active && has(self.spec.title)`, "", `self.spec.active ? cache.metadata.name : ""`, true},
		{`self.spec.active || has(self.spec.title)`, "", `self.spec.active ? cache.metadata.name : ""`, false},
		{`has(self.spec.title)`, "", `has(self.spec.title) ? cache.metadata.name : ""`, false},
		{`has(self.spec.title)`, "", `self.spec.?title.hasValue() ? cache.metadata.name : ""`, false},
		{`has(self.spec.title)`, "", `self.spec.?title.optMap(t, cache.metadata.name).orValue("")`, false},
		{`self.spec.?title.hasValue()`, "", `has(self.spec.title) ? cache.metadata.name : ""`, false},
		{`self.spec.?code.orValue("") != ""`, "", `self.spec.?code.orValue("") == "a" ? cache.metadata.name : ""`, false},
		{`self.spec.?code.orValue("") in ["a", "b"]`, "", `self.spec.?code.orValue("") == "a" ? cache.metadata.name : ""`, false},
		{`self.spec.?code.orValue("") != "c"`, "", `self.spec.?code.orValue("") != "c" ? cache.metadata.name : ""`, false},
		{`self.spec.?code.orValue("") == "a"`, "", `self.spec.?code.orValue("") == "b" ? cache.metadata.name : ""`, true},
		{`size(self.spec.?hosts.orValue([])) > 0`, `forEach: {e: "self.spec.?hosts.orValue([])"}`, `cache.metadata.name + e`, false},
		{`self.spec.?active.orValue(false)`, "", `has(self.spec.active) && self.spec.active ? cache.metadata.name : ""`, false},
		{`self.spec.?active.orValue(false)`, "", `has(self.spec.active) ? cache.metadata.name : ""`, true},
		{`self.spec[?"active"].orValue(true)`, "", `self.spec["active"] ? cache.metadata.name : ""`, false},
		{`!self.spec.?active.orValue(true)`, "", `self.spec.active ? "" : cache.metadata.name`, false},
		{`has(self.spec.active) && self.spec.active`, "", `self.spec.?active.orValue(false) ? cache.metadata.name : ""`, false},
		{`has(self.spec.active) && self.spec.active`, "", `self.spec.?active.orValue(true) ? cache.metadata.name : ""`, true},
		{`self.spec.?code.orValue("") == "a"`, "", `self.spec.code == "a" ? cache.metadata.name : ""`, false},
		{`self.spec.?code.orValue("") == "a"`, "", `self.spec.code == "b" ? cache.metadata.name : ""`, true},
		{`size(self.spec.hosts) > 0`, "", `self.spec.hosts.size() > 0 ? cache.metadata.name : ""`, false},
		{`self.spec.labels["x"] == "a"`, "", `self.spec.labels.x == "a" ? cache.metadata.name : ""`, false},
		{`has(self.spec.hosts)`, `replicas: size(self.spec.?hosts.orValue([]))`, `cache.metadata.name`, false},
	} {
		t.Run(c.when+" "+c.reader+" "+c.value, func(t *testing.T) {
			name := "metadata: {name: reader}"
			switch {
			case strings.Contains(c.reader, "forEach"):
				name = `metadata: {name: "reader-${e}"}`
			case strings.Contains(c.reader, "replicas"):
				name = "metadata: {generateName: reader-}"
			}
			text := fmt.Sprintf(`apiVersion: reconcel.dev/v1alpha1
kind: Rules
define:
  nameOf(o dyn): o.metadata.name
rules:
- name: r
  for: {apiVersion: example.com/v1, kind: Thing}
  let:
    isActive: self.spec.active
    whole: cache
    parts: {name: "${cache.metadata.name}", title: a}
  lookups:
  - {id: selected, apiVersion: v1, kind: ConfigMap, names: ["${cache.metadata.name}"]}
  children:
  - id: reader
    %s
    template:
      apiVersion: v1
      kind: ConfigMap
      %s
      data:
        a: |-
          ${%s}
  - {id: pods, forEach: {e: '["a"]'}, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "pod-${e}"}}}
  - id: cache
    when: &when >-
      %s
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: cache, labels: {a: b}}}
  - {id: twin, when: *when, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: twin}}}
`, c.reader, name, c.value, c.when)
			var got []string
			for _, e := range found(t, set, source.File{Name: "rules.yaml", Data: []byte(text)}).Errors {
				if e.Check != lint.ExcludedReader {
					t.Errorf("unexpected: %v", e)
					continue
				}
				got = append(got, e.Message)
			}
			if (len(got) > 0) != c.found || c.found && !strings.Contains(got[0], `"reader", which reads it, is not created`) {
				t.Errorf("found %q", got)
			}
		})
	}
}

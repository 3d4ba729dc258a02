package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestEntriesReadEachOther computes the entries of a let from each other.
func TestEntriesReadEachOther(t *testing.T) {
	const children = `
  children:
  - id: web
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}
`
	for _, s := range []story{
		{name: "in any order, and deeper", rule: `
  let:
    db:
      url: postgres://${host}:${string(port)}/${self.spec.name}
      host: ${name}.${self.metadata.namespace}
      name: ${self.spec.name}-db
      port: 5432
      options: {pool: {of: "${host}", sizes: ["${port}", "${port + 1}"]}}
  status: {db: "${db}"}
`, spec: object{"name": "shop"}, want: []string{`status {"db":{"host":"shop-db.ns","name":"shop-db","options":{"pool":{"of":"shop-db.ns","sizes":[5432,5433]}},"port":5432,"url":"postgres://shop-db.ns:5432/shop"}}`}},
		{name: "two maps with the same keys", rule: `
  let:
    a: {x: "1", y: "${x}-a"}
    b: {x: "2", y: "${x}-b"}
  status: {a: "${a.y}", b: "${b.y}"}
`, want: []string{`status {"a":"1-a","b":"2-b"}`}},
		{name: "a loop has names of its own", rule: `
  let:
    looped: {item: 7, all: "${[1, 2].map(item, item * 2)}", more: "${[1, 2].map(i, i + item)}"}
  status: {looped: "${looped}"}
`, want: []string{`status {"looped":{"all":[2,4],"item":7,"more":[8,9]}}`}},
		{name: "the own key is a name of the rule", rule: `
  let:
    image: self.spec.image
    web: {image: "${image}", text: "image"}
  status: {web: "${web.image}"}
`, spec: object{"image": "nginx"}, want: []string{`status {"web":"nginx"}`}},
		{name: "a name of the rule is not that of an entry", rule: `
  let:
    name: self.spec.name
    m: {name: x, other: "${name}", more: "${other}"}
  status: {m: "${m}"}
`, spec: object{"name": "shop"}, want: []string{`status {"m":{"more":"shop","name":"x","other":"shop"}}`}},
		{name: "an absent entry is absent", rule: `
  let:
    m: {a: "${self.spec.?nope}", b: "${a.orValue('none')}"}
  status: {m: "${m}"}
`, want: []string{`status {"m":{"b":"none"}}`}},
		{name: "an entry that waits", rule: `
  let:
    m: {ip: "${web.data.ip}", url: "http://${ip}", fixed: x}
  status: {m: "${m}", fixed: "${m.fixed}"}
` + children, want: []string{"web rendered; progressing: not created yet", "status {}"}},
		{name: "an entry that fails", rule: `
  let:
    m: {a: "${self.spec.nope}", b: "${a}-b"}
  status: {b: "${m.b}"}
`, want: []string{"status {}", `status error rules.yaml:9:24: rule "r": status.b: let.m.a: no such key: nope`}},
		{name: "written out in a template", rule: `
  let:
    m: {a: "${self.spec.name}-a", labels: {full: "${a}"}}
  children:
  - id: web
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: "${m.labels}"}
  - id: all1
    template: {apiVersion: example.com/v1, kind: Any, metadata: {name: any}, spec: "${m}"}
  status: {seen: "${m.labels.full}"}
`, spec: object{"name": "shop"}, want: []string{"web rendered; progressing: not created yet", "all1 rendered; progressing: not created yet", `status {"seen":"shop-a"}`}},
	} {
		t.Run(s.name, s.run)
	}
}

func TestEntriesThatAreReadAreLimited(t *testing.T) {
	var b strings.Builder
	for i := range maxEntries + 1 {
		fmt.Fprintf(&b, ", a%d: '${a%d}'", i+1, i)
	}
	rule := "- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n  let:\n    m: {a0: x" + b.String() + "}\n"
	if got := report(t, rulesFile(rule)); !strings.Contains(got, "more than 500 entries of lets that others read") {
		t.Errorf("got %s", got)
	}
	if got := report(t, rulesFile(strings.Replace(rule, ", a501: '${a500}'", "", 1))); got != "" {
		t.Errorf("got %s", got)
	}
}

package rules

import (
	"strings"
	"testing"
)

func TestWhenLeavesOut(t *testing.T) {
	s := scene{rule: `
  let:
    extra: {kept: "${when(self.spec.on, 'x')}", gone: "${when(!self.spec.on, 'x')}"}
  children:
  - id: c
    template:
      apiVersion: example.com/v1
      kind: Custom
      metadata: {name: c, labels: {a: "${when(!self.spec.on, 'x')}", b: "${when(self.spec.on, 'x')}"}}
      spec:
        a: ${when(!self.spec.on, self.spec.nope)}
        b: ${when(self.spec.on, 1)}
        items: ["${when(!self.spec.on, 1)}", "${when(self.spec.on, 2)}"]
        list: ${[?when(self.spec.on, 1), ?when(false, 2)]}
        extra: ${extra}
  - id: text
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: text}, data: {a: "a-${when(false, 'x')}"}}
  status: {a: "${when(false, 1)}", b: "${when(self.spec.on, 1)}"}
`, self: object{"spec": object{"on": true}}}
	s.check(t, "c: c", `text: text failed rules.yaml:23:88: rule "r": child "text": data.a: an absent value cannot be part of text: give it a default with orValue()`,
		`status {"b":1}`)
	got := body(t, first(&s.render(t).Children[0]))
	for _, want := range []string{`"spec":{"b":1,"extra":{"kept":"x"},"items":[2],"list":[1]}`, `"labels":{"b":"x",`} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

package rules

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// saysNo calls fail() in each part of a rule that has expressions.
const saysNo = `
  let:
    image: 'self.spec.?image.orValue("") != "" ? self.spec.image : fail("spec.image must be set for " + self.metadata.name)'
  validate:
  - {expression: 'self.spec.?n.orValue(0) < 5', reason: QuotaExceeded, message: "n is ${self.spec.n}"}
  - expression: '!has(self.spec.bad) || fail(self.spec.bad)'
    message: not this
  children:
  - id: a
    when: '!has(self.spec.when) || fail("not like this")'
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {image: "${image}"}}
  - id: b
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: b}
      data: {x: '${self.spec.?x.orValue("") == "x" ? fail(" x is taken ") : "x"}'}
  status: {y: '${self.spec.?y.orValue(1) > 1 ? fail("too many of y") : self.spec.?y.orValue(1)}', z: 1}
  conditions:
  - {type: Up, when: '!has(self.spec.down) || fail("it is down")'}
`

// reasonsOf prints the reasons of what failed.
func reasonsOf(r *RuleResult) (all []string) {
	for _, f := range append([]*Failure{r.Err, r.StatusErr, r.PatchErr}, func() (of []*Failure) {
		for i := range r.Children {
			of = append(of, r.Children[i].Err)
			for j := range r.Children[i].Objects {
				of = append(of, r.Children[i].Objects[j].Err)
			}
		}
		return of
	}()...) {
		if f != nil {
			all = append(all, string(f.Reason))
		}
	}
	return slices.Compact(all)
}

// TestFail expects the words of the author first and a reason of its own, wherever fail() stands. The rest of the rule
// goes on.
func TestFail(t *testing.T) {
	const (
		a, b   = "a rendered; progressing: not created yet", "b rendered; progressing: not created yet"
		status = `status {"y":1,"z":1}`
		up     = "condition Up True Up"
	)
	for name, s := range map[string]struct {
		spec    object
		reasons []string
		want    []string
	}{
		"nothing fails": {spec: object{"image": "x"}, want: []string{a, b, status, up}},
		"in a let that a child reads": {reasons: []string{"Failed"}, want: []string{
			`a failed [spec.image must be set for p (rules.yaml:9:72: rule "r": child "a": data.image)]`, b, status, up}},
		"in when": {spec: object{"image": "x", "when": true}, reasons: []string{"Failed"}, want: []string{
			`a failed [not like this (rules.yaml:16:40: rule "r": child "a": when)]`, b, status, up}},
		"in a template, with space around it": {spec: object{"image": "x", "x": "x"}, reasons: []string{"Failed"}, want: []string{
			a, `b failed [x is taken (rules.yaml:23:58: rule "r": child "b": data.x)]`, status, up}},
		"in a field of the status": {spec: object{"image": "x", "y": int64(2)}, reasons: []string{"Failed"}, want: []string{
			a, b, `status {"z":1}`, up, `status error too many of y (rules.yaml:24:52: rule "r": status.y)`}},
		"in a condition": {spec: object{"image": "x", "down": true}, reasons: []string{"Failed"}, want: []string{
			a, b, status, `condition Up Unknown Failed it is down (rules.yaml:26:51: rule "r": condition "Up": when)`,
			`status error it is down (rules.yaml:26:51: rule "r": condition "Up": when)`}},
		"a check with a reason": {spec: object{"image": "x", "n": int64(7)}, reasons: []string{"QuotaExceeded"},
			want: []string{"QuotaExceeded: n is 7"}},
		"in a check": {spec: object{"image": "x", "bad": "worse"}, reasons: []string{"InvalidSpec"},
			want: []string{"InvalidSpec: worse"}},
		"two checks": {spec: object{"image": "x", "n": int64(7), "bad": "worse"}, reasons: []string{"QuotaExceeded"},
			want: []string{"QuotaExceeded: n is 7; worse"}},
		"without words": {spec: object{"image": "x", "bad": " "}, reasons: []string{"RuleError"},
			want: []string{`RuleError: rules.yaml:12:45: rule "r": validate[1]: fail() needs a message`}},
		"with no text": {spec: object{"image": "x", "bad": int64(1)}, reasons: []string{"RuleError"},
			want: []string{`RuleError: rules.yaml:12:45: rule "r": validate[1]: fail() does not take (integer)`}},
	} {
		t.Run(name, func(t *testing.T) {
			st := story{rule: saysNo, spec: s.spec, want: s.want}
			st.run(t)
			self := object{"metadata": object{"name": "p", "namespace": "ns", "uid": "u1"}, "spec": s.spec}
			if s.spec == nil {
				self["spec"] = object{}
			}
			r := one(t, "- name: r\n  for:\n    apiVersion: example.com/v1\n    kind: Primary"+saysNo, self, cluster{})
			if diff := cmp.Diff(s.reasons, reasonsOf(r)); diff != "" {
				t.Errorf("reasons (-want +got)\n%s", diff)
			}
		})
	}
}

// TestFailInLookup expects the words of the author where the name of a looked-up object is computed.
func TestFailInLookup(t *testing.T) {
	(&scene{self: object{"spec": object{}}, rule: `
  lookups:
  - {id: found, apiVersion: v1, kind: ConfigMap, name: '${has(self.spec.name) ? self.spec.name : fail("no name")}'}
  status: {x: '${found.data.x}'}
`}).check(t, "status {}", `error no name (rules.yaml:9:102: rule "r": status.x)`)
}

package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// zonesRule has a condition for each zone. Its list is unknown until the ConfigMap is
// there, if the resource names no zones.
const zonesRule = `
  children:
  - id: source
    when: self.spec.?source.orValue(true)
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: source}}
  conditions:
  - type: Available
    when: 1 < 2
  - forEach: {zone: 'self.spec.?zones.orValue(source.data.zones.split(","))'}
    type: Zone-${zone}
    when: zone in self.spec.?up.orValue([])
    message: zone ${zone}
`

func TestConditionOfEachElement(t *testing.T) {
	stories := []story{
		{name: "one for each element, in the order of the list", rule: zonesRule, spec: object{"zones": list{"b", "a"}, "up": list{"a"}},
			want: []string{"source rendered; progressing: not created yet", "condition Available True Available",
				"condition Zone-b False NotZone_b zone b", "condition Zone-a True Zone_a zone a"}},
		{name: "none without elements", rule: zonesRule, spec: object{"zones": list{}},
			want: []string{"source rendered; progressing: not created yet", "condition Available True Available"}},
		{name: "none while the list is unknown", rule: zonesRule,
			want: []string{"source rendered; progressing: not created yet", "condition Available True Available"}},
		{name: "the list is no list", rule: zonesRule, spec: object{"zones": "a"},
			want: []string{"source rendered; progressing: not created yet", "condition Available True Available",
				`status error rules.yaml:15:22: rule "r": condition "Zone-${zone}": forEach: must be a list, got string`}},
		{name: "a type is invalid", rule: zonesRule, spec: object{"zones": list{"a b", "b"}},
			want: []string{"source rendered; progressing: not created yet", "condition Available True Available",
				"condition Zone-b False NotZone_b zone b",
				`status error rules.yaml:16:11: rule "r": condition "Zone-${zone}"[0]: type: must be letters, digits, -, _ and ., with a letter or digit at both ends`}},
		{name: "a type is too long", rule: zonesRule, spec: object{"zones": list{strings.Repeat("a", 59)}},
			want: []string{"source rendered; progressing: not created yet", "condition Available True Available",
				`status error rules.yaml:16:11: rule "r": condition "Zone-${zone}"[0]: type: is longer than 63 characters`}},
		{name: "two elements give one type", rule: zonesRule, spec: object{"zones": list{"a", "b", "a"}, "up": list{"a"}},
			want: []string{"source rendered; progressing: not created yet", "condition Available True Available",
				`condition Zone-a Unknown RuleError rules.yaml:16:11: rule "r": condition "Zone-${zone}"[0]: type: condition "Zone-${zone}"[2] of rule "r" has the same type`,
				"condition Zone-b False NotZone_b zone b",
				`status error rules.yaml:16:11: rule "r": condition "Zone-${zone}"[2]: type: condition "Zone-${zone}"[0] of rule "r" has the same type; ` +
					`rules.yaml:16:11: rule "r": condition "Zone-${zone}"[0]: type: condition "Zone-${zone}"[2] of rule "r" has the same type`}},
		{name: "with an index and several lists", spec: object{"zones": list{object{"name": "a", "racks": list{"x", "y"}}, object{"name": "b", "racks": list{"z"}}}}, rule: `
  conditions:
  - forEach:
    - {name: zone, index: i, in: self.spec.zones}
    - {name: rack, in: zone.racks}
    type: example.com/Rack-${i}-${rack}
    when: zone.name == "a"
    reason: '${rack == "z" ? "Last" : "Other"}'
`, want: []string{"condition example.com/Rack-0-x True Other", "condition example.com/Rack-0-y True Other", "condition example.com/Rack-1-z False Last"}},
		{name: "a reserved type, and a type that is a number", spec: object{"names": list{"Ready", "5"}}, rule: `
  conditions:
  - {forEach: {n: self.spec.names}, type: "${n}", when: 1 < 2}
`, want: []string{"condition 5 True Is5", `status error rules.yaml:9:43: rule "r": condition "${n}"[0]: type: Ready is reserved for reconcel`}},
		{name: "a when that fails", spec: object{"names": list{"a", "b"}}, rule: `
  conditions:
  - {forEach: {n: self.spec.names}, type: "${n}", when: 'n == "a" || self.spec.nope'}
`, want: []string{"condition a True a", `condition b Unknown RuleError rules.yaml:9:79: rule "r": condition "${n}"[1]: when: no such key: nope`,
			`status error rules.yaml:9:79: rule "r": condition "${n}"[1]: when: no such key: nope`}},
		{name: "a name that a child uses, too", spec: object{"names": list{"a"}}, rule: `
  children:
  - id: all
    forEach: {n: self.spec.names}
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${n}"}}
  conditions:
  - {forEach: {n: 'self.spec.names.map(n, n + "b")'}, type: "${n}", when: size(existing(all)) > 0, message: "${n}"}
`, cluster: cluster{"ConfigMap x-a": exists(object{"metadata": object{"name": "x-a", "namespace": "ns"}})},
			want: []string{"all rendered; ready", "condition ab True ab ab"}},
	}
	for _, s := range stories {
		t.Run(s.name, s.run)
	}
}

// TestUndecidedConditions asks which existing conditions stay.
func TestUndecidedConditions(t *testing.T) {
	live := []string{"Zone-a", "Zone-", "Zone", "xZone-a", "Stalled", "Available", "Zone-a/b/c"}
	for name, c := range map[string]struct {
		spec object
		want []string
	}{
		"the list is known":            {object{"zones": list{"b"}}, nil},
		"the list is unknown":          {object{}, []string{"Zone-a"}},
		"the list fails":               {object{"zones": "b"}, []string{"Zone-a"}},
		"a type fails":                 {object{"zones": list{"b", 5.5, "c d"}}, []string{"Zone-a"}},
		"something else fails":         {object{"zones": list{"b"}, "up": 5}, nil},
		"the list's child is excluded": {object{"source": false}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := one(t, "- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}"+zonesRule,
				object{"metadata": object{"name": "p", "namespace": "ns", "uid": "u1"}, "spec": c.spec}, nil)
			var got []string
			for _, typ := range live {
				if r.MayRenderCondition(typ) {
					got = append(got, typ)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if !r.Rule.MayRenderCondition("Zone-a") || !r.Rule.MayRenderCondition("Available") || r.Rule.MayRenderCondition("Other") {
				t.Error("the rule sets Available and the conditions of zones, and no other")
			}
		})
	}
}

// TestTypesThatMayBe asks which types an undecided condition may have.
func TestTypesThatMayBe(t *testing.T) {
	for _, c := range []struct{ typ, yes, no string }{
		{"${n}", "a ab Zone-a", "Ready Stalled Kept -a"},
		{"a${n}", "a ab aab", "b ba"},
		{"${n}aa", "aa aaa baa aaaa", "a aab"},
		{"a${n}a", "aa aba aaa", "a ab baa"},
		{"a${n}b${n}c", "abc axbxc abbcc", "ac acb abcx"},
		{"a${n}${n}", "a ab", "b"},
		{"a/${n}", "a/b", "a b a/"},
	} {
		rule := mustLoad(t, "- name: r\n  for: {apiVersion: v1, kind: A}\n  conditions: [{forEach: {n: self.x}, type: '"+c.typ+"', when: self.y}]").primaries[0].Rules[0]
		for typ := range strings.FieldsSeq(c.yes) {
			if !rule.MayRenderCondition(typ) {
				t.Errorf("%s may be %s", c.typ, typ)
			}
		}
		for typ := range strings.FieldsSeq(c.no) {
			if rule.MayRenderCondition(typ) {
				t.Errorf("%s cannot be %s", c.typ, typ)
			}
		}
	}
}

// TestSameConditionInTwoRules renders a type that the literal of another rule has.
func TestSameConditionInTwoRules(t *testing.T) {
	const rules = `
- name: a
  for: {apiVersion: example.com/v1, kind: Primary}
  conditions: [{type: Up, when: 1 < 2}]
- name: b
  for: {apiVersion: example.com/v1, kind: Primary}
  conditions: [{forEach: {n: self.spec.names}, type: "${n}", when: 1 < 2}]
`
	out := render(mustLoad(t, rules), object{"metadata": object{"name": "p"}, "spec": object{"names": list{"Up", "Down"}}}, nil)
	const ofA = `rules.yaml:6:23: rule "a": condition "Up": type: condition "${n}"[0] of rule "b" has the same type`
	const ofB = `rules.yaml:9:54: rule "b": condition "${n}"[0]: type: condition "Up" of rule "a" has the same type`
	want := []string{"condition Up Unknown RuleError " + ofA, "status error " + ofA, "condition Down True Down", "status error " + ofB}
	if diff := cmp.Diff(want, slices.Concat(outline(&out.Rules[0]), outline(&out.Rules[1]))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

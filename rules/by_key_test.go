package rules

import (
	"strings"
	"testing"
)

const keyRule = `
  children:
  - id: pods
    when: self.spec.?on.orValue(true)
    onChange: keep
    forEach:
      w: self.spec.workers
    template: {apiVersion: v1, kind: Pod, metadata: {name: "pod-${w.name}"}}
  status:
    b: ${byKey(pods)["b"].status.podIP}
    maybe: ${byKey(pods)[?"b"].?status.?podIP.orValue("-")}
    keys: ${byKey(pods).map(k, k)}
    workers: '${self.spec.workers.map(w, {"name": w.name, "ready": isTrue(byKey(pods)[?w.name], "Ready")})}'
`

func TestByKey(t *testing.T) {
	workers := object{"spec": object{"workers": list{object{"name": "b"}, object{"name": "a"}}}}
	ready := exists(object{"metadata": object{"name": "pod-b"}, "status": object{
		"podIP": "10.0.0.1", "conditions": list{object{"type": "Ready", "status": "True"}}}})
	t.Run("none exists", func(t *testing.T) {
		s := scene{rule: keyRule, self: workers}
		s.check(t, "pods: pod-b", "pods: pod-a", `status {"keys":[],"maybe":"-","workers":[{"name":"b","ready":false},{"name":"a","ready":false}]}`)
	})
	t.Run("one exists", func(t *testing.T) {
		s := scene{rule: keyRule, self: workers, observed: cluster{"Pod pod-b": ready}}
		s.check(t, "pods: pod-b exists", "pods: pod-a",
			`status {"b":"10.0.0.1","keys":["b"],"maybe":"10.0.0.1","workers":[{"name":"b","ready":true},{"name":"a","ready":false}]}`)
	})
	t.Run("loops are in the order of the keys", func(t *testing.T) {
		var workers list
		observed, keys := cluster{}, `"a"`
		for i := range 20 {
			name := string(rune('a' + i*7%20))
			workers = append(workers, object{"name": name})
			observed["Pod pod-"+name] = exists(named("pod-" + name))
			if i > 0 {
				keys += `,"` + string(rune('a'+i)) + `"`
			}
		}
		s := scene{rule: `
  children:
  - id: pods
    onChange: keep
    forEach: {w: self.spec.workers}
    template: {apiVersion: v1, kind: Pod, metadata: {name: "pod-${w.name}"}}
  status:
    map: ${byKey(pods).map(k, k)}
    list: ${byKey(pods).transformList(k, v, k)}
    merged: ${merge(byKey(pods), {}).map(k, k)}
`, self: object{"spec": object{"workers": workers}}, observed: observed}
		for range 10 {
			want := `{"list":[` + keys + `],"map":[` + keys + `],"merged":[` + keys + `]}`
			if got := string(s.render(t).Status); got != want {
				t.Fatalf("\n got %s\nwant %s", got, want)
			}
		}
	})
	t.Run("when excludes them", func(t *testing.T) {
		s := scene{rule: keyRule, self: object{"spec": object{"workers": list{}, "on": false}}}
		s.check(t, "pods: excluded", `status {"keys":[],"maybe":"-","workers":[]}`)
	})
	t.Run("the elements are not known", func(t *testing.T) {
		s := scene{rule: strings.ReplaceAll(keyRule, "self.spec.workers", "self.status.workers")}
		s.check(t, "pods: waiting self.status.workers", `status {}`)
	})
}

func TestKeysOfElements(t *testing.T) {
	const rule = `
  lookups: [{id: teams, apiVersion: v1, kind: Secret, selector: {}}]
  children:
  - id: c
    forEach: FOREACH
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "NAME"}}
  status: {keys: "${byKey(c).map(k, k)}"}
`
	for _, c := range []struct{ forEach, name, want string }{
		{`{a: '["x"]'}`, `${a}`, `{"keys":["x"]}`},
		{`{a: '[7]'}`, `c${a}`, `{"keys":["7"]}`},
		{`{a: '[{"name": "x"}]'}`, `${a.name}`, `{"keys":["x"]}`},
		{`{a: teams}`, `${a.metadata.name}`, `{"keys":["x"]}`},
		{`[{name: a, index: i, in: '["x"]'}, {name: b, in: '[{"name": 1}]'}]`, `${a}${b.name}`, `{"keys":["x/1"]}`},
		{`{a: '[{"id": "x"}]'}`, `${a.id}`, `{}: an element has no key: it must be a text or whole number, or have a name`},
		{`{a: '[{"name": "y", "id": "x"}, {"name": "y", "id": "z"}]'}`, `${a.id}`, `{}: two elements have the same key`},
	} {
		s := scene{
			rule:     strings.NewReplacer("FOREACH", c.forEach, "NAME", c.name).Replace(rule),
			observed: cluster{"ConfigMap x": exists(named("x")), "ConfigMap c7": exists(named("c7")), "ConfigMap x1": exists(named("x1"))},
			lookup:   map[string][]object{"Secret": {named("x")}},
		}
		r := s.render(t)
		got := string(r.Status)
		if r.StatusErr != nil {
			_, why, _ := strings.Cut(r.StatusErr.Message, "byKey(c)")
			got += why
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.forEach, got, c.want)
		}
	}
}

func TestByKeyTakesTheIDOfForEach(t *testing.T) {
	got := report(t, rulesFile(`
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  children:
  - id: pods
    replicas: 2
    onChange: keep
    template: {apiVersion: v1, kind: Pod, metadata: {generateName: p-}}
  status:
    a: ${byKey(pods)["a"]}
`))
	if want := "status.a: byKey() takes the id of a child with forEach (only the objects of forEach have elements)"; !strings.Contains(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

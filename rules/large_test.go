package rules

import (
	"fmt"
	"testing"

	"reconcel/test/race"
)

// TestLargeCollection renders 2,000 objects, with a status that goes through all of them several times.
func TestLargeCollection(t *testing.T) {
	race.Skip(t)
	p := mustLoad(t, `
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  let:
    labels: {app: pool, pool: "${self.metadata.name}"}
    ready: existing(pods).filter(p, isTrue(p, "Ready"))
    missing: self.spec.workers.map(w, w.name).filter(n, !isTrue(byKey(pods)[?n], "Ready")).sort()
  children:
  - id: pods
    forEach: {worker: self.spec.workers}
    maxObjects: 2000
    onChange: replace
    template:
      apiVersion: v1
      kind: Pod
      metadata:
        name: ${self.metadata.name}-${worker.name}
        labels: '${merge(labels, {"worker": worker.name})}'
      spec:
        containers:
        - name: worker
          image: ${self.spec.image}
          env: '${worker.env.map(e, {"name": e.name, "value": e.value})}'
  status:
    ready: ${size(ready)}
    missing: ${missing}
  conditions:
  - {type: Available, when: 'pods.all(p, isTrue(p, "Ready"))'}
`)
	workers, live := list{}, map[string]Live{}
	for i := range 2000 {
		name := fmt.Sprintf("w%04d", i)
		workers = append(workers, object{"name": name, "env": list{object{"name": "A", "value": name}, object{"name": "B", "value": "b"}, object{"name": "C", "value": "c"}}})
		o := named("p-" + name)
		o["status"] = object{"conditions": list{object{"type": "Initialized", "status": "True"}, object{"type": "ContainersReady", "status": "True"}, object{"type": "Ready", "status": "True"}}}
		live["Pod p-"+name] = Live{Object: o}
	}
	self := object{"metadata": object{"name": "p", "namespace": "ns", "uid": "u"}, "spec": object{"image": "i", "workers": workers}}
	in := Input{Self: self, Observed: cluster(live).observed}
	var out Rendering
	cpu, memory := measure(mostLargeCPU, func() { p.Primaries()[0].Render(in, &out) })
	if got := complaint(&out); got != "" {
		t.Fatal(got)
	}
	r := &out.Rules[0]
	if want := `{"missing":[],"ready":2000}`; string(r.Status) != want || r.Conditions[0].Status != True || len(r.Children[0].Objects) != 2000 {
		t.Errorf("status %s, %v, %d objects", r.Status, r.Conditions, len(r.Children[0].Objects))
	}
	t.Logf("%v, %d MiB allocated", cpu, memory>>20)
	if cpu > mostLargeCPU || memory > mostMemory {
		t.Errorf("took %v and %d MiB", cpu, memory>>20)
	}
}

package world_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/sim"
	"reconcel/sim/recording"
	"reconcel/sim/world"
)

const recordedRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: parts
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  teardown: ordered
  requeueAfter: 40s
  lookups:
  - {id: zones, apiVersion: v1, kind: ConfigMap, name: zones}
  patch: {metadata: {labels: {parts: "${string(self.spec.replicas)}"}}}
  children:
  - id: deployment
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.spec.deploymentName}"}
      spec:
        replicas: ${self.spec.replicas}
        selector: {matchLabels: {app: "${self.metadata.name}"}}
        template:
          metadata: {labels: {app: "${self.metadata.name}"}}
          spec: {containers: [{name: web, image: nginx}]}
  - id: part
    forEach: {n: "lists.range(self.spec.replicas)"}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-${string(n)}"}
      data: {zone: '${zones.data.?zone.orValue("none")}'}
  - id: password
    generate:
      password: {length: 12}
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${self.metadata.name}"}
  status:
    availableReplicas: ${deployment.status.?availableReplicas.orValue(0)}
`

// files returns one version of the recorded rules.
func files(image string) []source.File {
	return []source.File{{Name: "rules.yaml", Data: []byte(strings.Replace(recordedRules, "nginx", image, 1))}}
}

// A campaign is a random sequence of what users, other controllers and failures do.
type campaign struct {
	*testing.T
	*world.World
	random *rand.Rand
}

var (
	foosResource        = schema.GroupVersionResource{Group: "samplecontroller.k8s.io", Version: "v1alpha1", Resource: "foos"}
	configMapsResource  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deploymentsResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

func (c *campaign) apply(gvr schema.GroupVersionResource, object map[string]any) {
	u := &unstructured.Unstructured{Object: object}
	body, err := u.MarshalJSON()
	if err != nil {
		c.Fatal(err)
	}
	force := true
	// A Foo that is being deleted rejects a new finalizer, for example: whatever happens is part of the campaign.
	_, _ = c.Cluster().Client("someone").Resource(gvr).Namespace("default").Patch(c.Context(), u.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "someone", Force: &force})
}

func (c *campaign) remove(gvr schema.GroupVersionResource, name string) {
	_ = c.Cluster().Client("someone").Resource(gvr).Namespace("default").Delete(c.Context(), name, metav1.DeleteOptions{})
}

func (c *campaign) step() {
	name := fmt.Sprintf("foo-%d", c.random.IntN(3))
	switch c.random.IntN(12) {
	case 0, 1, 2, 3:
		c.apply(foosResource, map[string]any{"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"deploymentName": fmt.Sprintf("web-%d", c.random.IntN(4)), "replicas": int64(c.random.IntN(4))}})
	case 4:
		c.apply(configMapsResource, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "zones"},
			"data": map[string]any{"zone": fmt.Sprint(c.random.IntN(5))}})
	case 5:
		c.remove(foosResource, name)
	case 6:
		c.remove(configMapsResource, fmt.Sprintf("%s-%d", name, c.random.IntN(3)))
	case 7:
		c.apply(deploymentsResource, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": fmt.Sprintf("web-%d", c.random.IntN(4))},
			"spec": map[string]any{"replicas": int64(7)}})
	case 8:
		_ = c.Cluster().MarkReady(deploymentKind, "default", fmt.Sprintf("web-%d", c.random.IntN(4)))
	case 9:
		c.Cluster().Fail(sim.Failure{By: world.Controller, Verb: []string{"apply", "delete", "get"}[c.random.IntN(3)], Namespace: "default", Times: 1 + c.random.IntN(2), Lost: c.random.IntN(2) == 0})
	case 10:
		if err := c.Restart(c.Context()); err != nil {
			c.Fatal(err)
		}
	case 11:
		if err := c.ReloadFiles(c.Context(), files(fmt.Sprintf("nginx:%d", c.random.IntN(3)))); err != nil {
			c.Fatal(err)
		}
	}
	if err := c.Advance(c.Context(), time.Duration(c.random.IntN(60))*time.Second); err != nil {
		c.Fatal(err)
	}
}

// recorded plays a campaign, and returns its recording and the number of its writes.
func recorded(t *testing.T, seed uint64, kinds *sim.Kinds) ([]byte, int) {
	t.Helper()
	var out bytes.Buffer
	first := files("nginx")
	program, err := rules.Load(first)
	if err != nil {
		t.Fatal(err)
	}
	recorder := recording.NewWriter(&out)
	w, err := world.New(world.Options{Program: program, Files: first, Kinds: kinds, Record: recorder})
	if err != nil {
		t.Fatal(err)
	}
	c := &campaign{t, w, rand.New(rand.NewPCG(seed, 7))}
	for range 30 {
		c.step()
	}
	recorder.End()
	if err := recorder.Err(); err != nil {
		t.Fatal(err)
	}
	writes := 0
	for _, write := range w.Cluster().Writes() {
		if write.By == world.Controller {
			writes++
		}
	}
	return out.Bytes(), writes
}

// TestRecordedCampaigns replays random campaigns: each write of the recording is made again, byte for byte.
func TestRecordedCampaigns(t *testing.T) {
	kinds := exampleKinds(t)
	total := 0
	for seed := range uint64(40) {
		text, writes := recorded(t, seed, kinds)
		r, err := recording.Replay(t.Context(), bytes.NewReader(text), recording.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if d := r.Difference; d != nil {
			t.Fatalf("seed %d, line %d, %s:\nrecorded %v\nreplayed %v", seed, d.Line, d.Step, d.Recorded, d.Replayed)
		}
		if r.CutOff || r.Writes != writes {
			t.Errorf("seed %d: %d writes are replayed, %d were made", seed, r.Writes, writes)
		}
		total += writes
	}
	if total < 1000 {
		t.Errorf("only %d writes were made", total)
	}
	t.Logf("%d writes", total)
}

// TestReplayFindsDifferences replays with other rules, and a recording in which one write is another one or
// is missing.
func TestReplayFindsDifferences(t *testing.T) {
	text, _ := recorded(t, 3, exampleKinds(t))
	lines := strings.SplitAfter(string(text), "\n")
	at := -1
	for i, line := range lines {
		if strings.Contains(line, `"verb":"patch"`) && strings.Contains(line, `"resource":"apps/v1/deployments"`) {
			at = i
			break
		}
	}
	if at < 0 {
		t.Fatal("no Deployment is written")
	}
	edited := func(i int, text string) string {
		return strings.Join(lines[:i], "") + text + strings.Join(lines[i+1:], "")
	}
	for name, c := range map[string]struct {
		text    string
		options recording.Options
		says    func(*recording.Difference) bool
	}{
		"other rules": {string(text), recording.Options{Files: files("other")}, func(d *recording.Difference) bool {
			return strings.Contains(d.Replayed.Body, `"image":"other"`) && strings.Contains(d.Recorded.Body, `"image":"nginx"`)
		}},
		"another write": {edited(at, strings.Replace(lines[at], `\"image\":\"nginx\"`, `\"image\":\"nginx \"`, 1)), recording.Options{}, func(d *recording.Difference) bool {
			return d.Recorded.Name == d.Replayed.Name && d.Recorded.Body != d.Replayed.Body
		}},
		"no such write":               {edited(at, ""), recording.Options{}, func(d *recording.Difference) bool { return d.Recorded == nil }},
		"a recording that is cut off": {text: strings.Join(lines[:len(lines)-4], "") + `{"at":`},
		"one write more": {edited(at, lines[at]+strings.Replace(lines[at], "web-", "more-", 1)), recording.Options{}, func(d *recording.Difference) bool {
			return d.Replayed == nil && strings.HasPrefix(d.Recorded.Name, "more-")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := recording.Replay(t.Context(), strings.NewReader(c.text), c.options)
			if err != nil {
				t.Fatal(err)
			}
			if c.says == nil {
				if r.Difference != nil || !r.CutOff {
					t.Errorf("the result is %+v", r)
				}
				return
			}
			if d := r.Difference; d == nil || d.Line > at || !strings.HasPrefix(d.Step, "reconciliation of Foo/default/") || !c.says(d) {
				t.Errorf("the difference is %+v", d)
			}
		})
	}
}

package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// linesOf returns the graph of the only rule as text.
func linesOf(g Graph) (lines []string) {
	name := func(i int) string {
		p := g.Parts[i]
		return strings.TrimSuffix(string(p.Kind)+" "+p.ID, " ")
	}
	for _, e := range g.Edges {
		line := name(e.Reader) + " <- " + name(e.Read)
		for _, role := range []struct {
			word string
			is   bool
		}{{"when", e.When}, {"ready", e.Ready}, {"waits", e.Waits}, {"previous", e.Previous}, {"owns", e.Owns}} {
			if role.is {
				line += " " + role.word
			}
		}
		if len(e.Fields) > 0 {
			line += fmt.Sprint(" ", e.Fields)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestGraph(t *testing.T) {
	program := mustLoad(t, `
- name: shop
  for: {apiVersion: g/v1, kind: Shop, when: self.spec.open}
  let:
    labels: {shop: "${self.metadata.name}", node: "${node.metadata.name}"}
    twice: url + url
    url: database.status.url
    old: previous(workers).size()
  lookups:
  - {id: node, apiVersion: v1, kind: Node, name: "${self.spec.node}"}
  - {id: pods, apiVersion: v1, kind: Pod, selector: {matchLabels: {db: "${database.metadata.name}"}}}
  validate:
  - expression: has(node.metadata.labels.zone)
  children:
  - id: web
    when: node.spec.ready
    after: [migration]
    failWhen: size(pods) > 3
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}", labels: "${labels}"}
      spec: {url: "${twice}"}
  - id: migration
    template: {apiVersion: batch/v1, kind: Job, metadata: {name: m}, spec: {old: "${old}"}}
  - id: database
    readyWhen: child.status.up
    template: {apiVersion: g/v1, kind: Database, metadata: {name: d}}
  - id: workers
    forEach: {w: self.spec.workers}
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "w-${w}"}, data: {n: "${size(existing(workers2))}"}}
  - id: workers2
    forEach: {w: self.spec.workers}
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "x-${w}"}}
  finalize:
  - id: backup
    timeout: 1h
    template: {apiVersion: batch/v1, kind: Job, metadata: {name: b}, spec: {url: "${self.status.url}"}}
  patch:
    metadata: {annotations: {ready: "${exists(web)}"}}
  status:
    url: ${url}
  conditions:
  - type: Up
    when: web.status.availableReplicas > 0
  - forEach: {w: self.spec.workers}
    type: Worker-${w}
    when: size(workers) > 0
`)
	g := program.Primaries()[0].Rules[0].Graph()
	want := []string{
		"lookup node <- primary [spec.node]",
		"lookup pods <- child database [metadata.name]",
		"validate <- lookup node [metadata.labels.zone]",
		"child migration <- primary owns",
		"child migration <- child workers previous",
		"child database <- primary owns",
		"child web <- primary owns [metadata.name]",
		"child web <- lookup node when [metadata.name spec.ready]",
		"child web <- lookup pods ready",
		"child web <- child migration waits",
		"child web <- child database waits [status.url]",
		"child workers2 <- primary owns [spec.workers]",
		"child workers <- primary owns [spec.workers]",
		"child workers <- child workers2",
		"finalize backup <- primary owns [status.url]",
		"patch <- child web",
		"status <- child database [status.url]",
		"condition Up <- child web [status.availableReplicas]",
		"condition Worker-${w} <- primary [spec.workers]",
		"condition Worker-${w} <- child workers",
	}
	if diff := cmp.Diff(want, linesOf(g)); diff != "" {
		t.Error(diff)
	}
}

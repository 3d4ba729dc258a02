package rules

import (
	"errors"
	"strings"
	"testing"

	"reconcel/rules/source"
)

type object = map[string]any

type list = []any

// rulesFile puts the rules of a test into a file with a header.
func rulesFile(body string) []source.File {
	return []source.File{{
		Name: "rules.yaml",
		Data: []byte("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n" + strings.TrimPrefix(body, "\n")),
	}}
}

func mustLoad(t testing.TB, body string) *Program {
	t.Helper()
	p, err := Load(rulesFile(body))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// report returns the whole report for rules that do not load.
func report(t testing.TB, sources []source.File) string {
	t.Helper()
	_, err := Load(sources)
	if err == nil {
		return ""
	}
	var all source.Errors
	if !errors.As(err, &all) {
		t.Fatalf("not a source.Errors: %v", err)
	}
	var out strings.Builder
	if err := all.Report(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// cluster maps a kind and name to the live object that a rendering reads.
type cluster map[string]Live

func (c cluster) observed(id Identity) Live { return c[id.GVK.Kind+" "+id.Name] }

// exists is a live object that counts as up to date.
func exists(o object) Live { return Live{Object: o} }

func render(p *Program, primary object, c cluster) *Rendering {
	var out Rendering
	p.Primaries()[0].Render(Input{Self: primary, Observed: c.observed}, &out)
	return &out
}

// one renders a program with one rule.
func one(t testing.TB, body string, primary object, c cluster) *RuleResult {
	t.Helper()
	return &render(mustLoad(t, body), primary, c).Rules[0]
}

// body returns the JSON of a rendered object.
func body(t testing.TB, d *Desired) string {
	t.Helper()
	if d.State != Rendered {
		t.Fatalf("child %s is not rendered: %v %v %v", d.Child.ID, d.State, d.Err, d.Waits)
	}
	return strings.TrimSuffix(string(d.body), ",") + "}}}"
}

const fooRule = `
- name: foo
  for:
    apiVersion: samplecontroller.k8s.io/v1alpha1
    kind: Foo
    when: self.spec.?enabled.orValue(true)
  let:
    image: 'self.spec.?image.orValue("nginx:latest")'
    labels: {app: nginx, controller: "${self.metadata.name}"}
  validate:
  - expression: self.spec.?deploymentName.orValue("") != ""
    message: spec.deploymentName must be set
  children:
  - id: deployment
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: ${self.spec.deploymentName}
      spec:
        replicas: ${self.spec.replicas}
        selector:
          matchLabels: ${labels}
        template:
          metadata:
            labels: ${labels}
          spec:
            containers:
            - name: nginx
              image: ${image}
  status:
    availableReplicas: ${deployment.status.?availableReplicas.orValue(0)}
`

func foo() object {
	return object{
		"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
		"metadata": object{"name": "example", "namespace": "team-a", "uid": "0aa-1"},
		"spec":     object{"deploymentName": "web", "replicas": int64(3)},
	}
}

func fooDeployment() object {
	return object{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": object{"name": "web", "namespace": "team-a", "generation": int64(1)},
		"spec":     object{"replicas": int64(3)},
		"status": object{
			"observedGeneration": int64(1), "replicas": int64(3), "updatedReplicas": int64(3), "readyReplicas": int64(3),
			"availableReplicas": int64(3),
			"conditions":        list{object{"type": "Available", "status": "True"}},
		},
	}
}

// first returns the first object of a child, or the result for the whole child.
func first(c *ChildResult) *Desired {
	if len(c.Objects) > 0 {
		return &c.Objects[0]
	}
	return &Desired{Child: c.Child, State: c.State, Err: c.Err, Waits: c.Waits}
}

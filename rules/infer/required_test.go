package infer_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules"
	"reconcel/rules/crd"
	"reconcel/rules/infer"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// inferred returns what the kind of one rule is like. The text is what follows its for.
func inferred(t *testing.T, text string) *crd.Definition {
	t.Helper()
	loaded := rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(`
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: thing
  for: {apiVersion: example.com/v1, kind: Thing}` + text)}})
	if err := loaded.Errors.Err(); err != nil {
		t.Fatal(err)
	}
	found, mistakes, err := infer.Kinds(loaded.File, schema.Builtin())
	if err != nil || len(mistakes) > 0 {
		t.Fatal(err, mistakes)
	}
	return found[0]
}

func required(s *spec.Schema) string {
	if s == nil {
		return ""
	}
	return strings.Join(s.Required, " ")
}

// TestATestedFieldIsOptional reads a field where an expression has tested it, and says which
// fields are required then.
func TestATestedFieldIsOptional(t *testing.T) {
	for test, want := range map[string]string{
		`true`:                                                "title",
		`self.spec.title != ""`:                               "title",
		`has(self.spec.other)`:                                "title",
		`has(self.spec.title)`:                                "",
		`!(!has(self.spec.title))`:                            "",
		`self.spec.?title.hasValue()`:                         "",
		`self.spec[?"title"].hasValue()`:                      "",
		`self.spec.?title != optional.none()`:                 "",
		`self.spec.?title.orValue("") != ""`:                  "",
		`self.spec.?title.orValue(null) != null`:              "",
		`self.spec.?title.orValue("") in ["a"]`:               "",
		`self.spec.?title.orValue("").startsWith("a")`:        "",
		`self.spec.?title.optMap(v, v == "a").orValue(false)`: "",
		`self.spec.title != null`:                             "",
		`null != self.spec.title`:                             "",
		`!(self.spec.title == null)`:                          "",
		`has(self.spec.title) && self.spec.title != null`:     "",
		`"title" in self.spec`:                                "",
		`"title" in dyn(self.spec)`:                           "",
		`tested`:                                              "",
		`tests.title`:                                         "",
		`given != ""`:                                         "",
		`has(self.spec.title) || has(self.spec.other)`:        "title",
	} {
		for at, text := range map[string]string{
			"when": `
  children:
  - id: config
    when: >-
      %s
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: "${self.spec.title}"}}`,
			"ternary": `
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: '${(%s) ? self.spec.title : ""}'}}`,
			"and": `
  children:
  - id: config
    when: >-
      (%s) && self.spec.title == "a"
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}`,
		} {
			t.Run(at+" "+test, func(t *testing.T) {
				d := inferred(t, fmt.Sprintf(text, test)+`
  let:
    tested: has(self.spec.title)
    tests: {title: "${has(self.spec.title)}"}
    given: self.spec.?title.orValue("")`)
				if got := required(d.Spec); got != want {
					t.Errorf("required: %q, want %q", got, want)
				}
			})
		}
	}
}

// TestTheSchemaSaysWhatIsRequired reads each field without a guard.
func TestTheSchemaSaysWhatIsRequired(t *testing.T) {
	const reads = `
  children:
  - id: config
    forEach: {w: self.spec.workers}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${w.name}"}
      data: {a: "${self.spec.title}", b: "${self.spec.inner.deep}", c: "${w.queue}", d: "${self.extra}", e: "${self.status.url}"}
`
	for schemas, want := range map[string]string{
		``:                        "spec: inner title workers; inner: deep; workers: name queue; objects: extra",
		`{spec: {title: string}}`: "spec: inner title workers; inner: deep; workers: name queue; objects: extra",
		`{spec: {title: string | required=true}}`:                                                        "spec: inner title workers; inner: deep; workers: name queue; objects: extra",
		`{spec: {title: string | required=false}}`:                                                       "spec: inner workers; inner: deep; workers: name queue; objects: extra",
		`{spec: {inner: {deep: string | required=false}}}`:                                               "spec: inner title workers; inner: ; workers: name queue; objects: extra",
		`{spec: {inner: Inner | required=false}, types: {Inner: {deep: string}}}`:                        "spec: title workers; inner: deep; workers: name queue; objects: extra",
		`{spec: {workers: "[]Worker"}, types: {Worker: {name: string, queue: string | required=false}}}`: "spec: inner title workers; inner: deep; workers: name; objects: extra",
		`{fields: {extra: string | required=false}}`:                                                     "spec: inner title workers; inner: deep; workers: name queue; objects: ",
	} {
		t.Run(schemas, func(t *testing.T) {
			text := reads
			if schemas != "" {
				text = "\n  schema: " + schemas + reads
			}
			d := inferred(t, text)
			inner, workers := d.Spec.Properties["inner"], d.Spec.Properties["workers"]
			got := fmt.Sprintf("spec: %s; inner: %s; workers: %s; objects: %s", required(d.Spec), required(&inner), required(workers.Items.Schema), required(d.Fields))
			if got != want {
				t.Errorf("required: %s\nwant:     %s", got, want)
			}
		})
	}
}

// TestAnyFieldOfTheObject reads fields beside spec and status.
func TestAnyFieldOfTheObject(t *testing.T) {
	d := inferred(t, `
  schema:
    fields: {data: "map[string]string", mode: 'string | default="fast" enum="fast,slow"'}
  validate:
  - {expression: self.count > 0}
  children:
  - id: web
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}"}
      spec:
        replicas: ${self.count}
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}, annotations: {a: "${self.data[?'a']}", mode: "${self.mode}"}}
          spec: {containers: [{name: web, image: "${self.?extra.image.orValue('nginx')}"}]}`)
	if d.Spec != nil {
		t.Errorf("spec: %v", d.Spec)
	}
	text, err := d.YAML()
	if err != nil {
		t.Fatal(err)
	}
	const want = `
        required: [count, data]
        properties:
          count:
            description: Number of desired pods.
            type: integer
            format: int32
            x-kubernetes-validations:
            - rule: self > 0
          data:
            type: object
            additionalProperties:
              type: string
          extra:
            type: object
            properties:
              image:
                description: Container image name.
                type: string
                default: nginx
          mode:
            type: string
            default: fast
            enum: [fast, slow]
          status:
`
	if !strings.Contains(string(text), want) {
		t.Errorf("got\n%s", text)
	}
}

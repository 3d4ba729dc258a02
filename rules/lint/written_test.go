package lint

import "testing"

var written = inRule(`  let:
    versions: {nginx: "1.10", redis: 7, none: null}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: ${self.metadata.name}
        labels: {job: cleanup, gone: null}
      data:
        script: |
          ${self.spec.script}
        nginx: nginx:${versions.nginx}
        redis: redis:${versions.redis}
      immutable: ${self.spec.immutable}
  status:
    image: >-
      ${self.spec.image}
    list: [a, b]
`)

func TestEmptyValue(t *testing.T) {
	finds(t, EmptyValue, written, []mistake{
		{"a field", "      immutable: ${self.spec.immutable}", "      immutable:", "immutable: has no value, so the field is left out (write null to leave it out)"},
		{"a blank too few", "{job: cleanup,", "{job:cleanup,", "write job: cleanup"},
		{"a comma", "redis: 7,", "redis: 0,5,", "5: has no value"},
		{"an element", "list: [a, b]", "list:\n    - a\n    -", "list[1]: has no value"},
		{"a tilde", "gone: null", "gone: ~", ""},
	})
}

func TestBlockText(t *testing.T) {
	finds(t, BlockText, written, []mistake{
		{"folded", "image: >-\n      ${", "image: >\n      ${", "status.image: the text ends in a line break (write |- or >-)"},
		{"literal", "image: >-\n      ${", "image: |\n      ${", "status.image"},
		{"more text", "image: >-\n      ${", "image: |\n      nginx ${", ""},
	})
}

func TestNumberText(t *testing.T) {
	finds(t, NumberText, written, []mistake{
		{"a version", `nginx: "1.10"`, `nginx: 1.10`, `1.10 is the number 1.1 where children[0] "config": template.data.nginx makes a text of it (write "1.10")`},
		{"an octal number", `redis: 7,`, `redis: 007,`, `(write "007")`},
		{"the same text", `nginx: "1.10"`, `nginx: 1.5`, ""},
	})
}

package rules

import (
	"strings"
	"testing"

	"reconcel/rules/source"
)

// TestLookAlikes writes the constructs of rules/source/lookalikes.go where an expression
// belongs.
func TestLookAlikes(t *testing.T) {
	for expression, hint := range map[string]string{
		`${schema.spec.image}`:               `the resource is self: write self.spec or self.metadata`,
		`${IMAGE}`:                           `for the text ${IMAGE}, write $${IMAGE}`,
		`${IMAGE:-nginx}`:                    `append .orValue(...) to a field with .?`,
		`${var.image}`:                       `write self.spec for a field of the resource, and name other values with let`,
		`${{ inputs.image }}`:                `${{ }} is not supported: write ${...} with one pair of braces`,
		`${object.spec.image}`:               `write self`,
		`${this.spec.image}`:                 `write self`,
		`${params.image}`:                    `the parameters are fields of the resource: write self.spec`,
		`${spec.image}`:                      `write self.spec`,
		`${instance.spec.image}`:             `write self`,
		`${resource.spec.image}`:             `write self`,
		`${xr.spec.image}`:                   `write self`,
		`${self.spec.image | default("x")}`:  `append .orValue(...) to a field with .?`,
		`${self.spec.replicas | toYaml}`:     `rules have no pipes: write the map itself for data, and yaml.marshal(...) or json.marshal(...) for a text`,
		`${self.spec.image | quote}`:         `rules have no pipes: write function(value)`,
		`${if self.spec.x then 1 else 2}`:    `write condition ? a : b`,
		`${self.spec.a and self.spec.b}`:     `write && for and`,
		`${self.spec.a & self.spec.b}`:       `write && for and`,
		`${self.spec.a | self.spec.b}`:       `write || for or`,
		`${hash(self.spec.image)}`:           `write hash.sha256(...)`,
		`${default(self.spec.image, "x")}`:   `write orValue`,
		`${coalesce(self.spec.image, "x")}`:  `write orValue`,
		`${self.spec.image ?? "x"}`:          `append .orValue(...) to a field with .?`,
		`${self.spec?.image}`:                `write .? for a field that may be absent`,
		`${self.spec.image === "x"}`:         `write == or != to compare`,
		`${not self.spec.a}`:                 `write ! for not`,
		`${printf("%s", self.spec.image)}`:   `write format`,
		`${fmt("%s", self.spec.image)}`:      `write format`,
		`${len(self.spec.image)}`:            `write size`,
		"${`a${x}`}":                         `within ${...}, write the name alone; an index is x[key]`,
		`${toYaml(self.spec)}`:               `write yaml.marshal(...)`,
		`${toJson(self.spec)}`:               `write json.marshal(...)`,
		`${sha256sum(self.spec.image)}`:      `write hash.sha256(...)`,
		`${b64enc(self.spec.image)}`:         `write base64.encode(bytes(...))`,
		`${base64(self.spec.image)}`:         `write base64.encode(bytes(...))`,
		`${lower(self.spec.image)}`:          `write lowerAscii`,
		`${quote(self.spec.image)}`:          `write strings.quote`,
		`${self.spec.list.map(x => x.name)}`: `write .map(x, ...) with a name and an expression`,
		`${self.spec.image <> "x"}`:          `write != to compare`,
		`${self.spec.image = "x"}`:           `write == to compare`,
		`${2 ** 3}`:                          `rules have no powers: write a product`,
		`${$self.spec.image}`:                `write names without $`,
		`${self.spec.${x}}`:                  `within ${...}, write the name alone; an index is x[key]`,
		`${self.spec.image or "x"}`:          `write || for or`,
		`${now()}`:                           `rules cannot read the clock: elapsed(time, duration) says whether a moment has come`,
		`${uuid()}`:                          `rules have no random numbers: self.metadata.uid is unique`,
		`${random()}`:                        `rules have no random numbers: the same objects must give the same result`,
		`${env.X}`:                           `rules cannot read the environment`,
		`${self.spec.image.length()}`:        `write size`,
		`${self.spec.image.toLowerCase()}`:   `write lowerAscii`,
		`${lookup("v1","Secret","a","b")}`:   `declare the object in lookups, and write its id`,
		`${self.spec.list.includes("a")}`:    `write contains(part) for a text, and value in list for a list`,
		`${self.spec.image == nil}`:          `write null`,
		`${self.spec.image == None}`:         `write null`,
		`${self.spec.a == True}`:             `write true`,
		`${self.spec.image == undefined}`:    `write null`,
	} {
		text := strings.ReplaceAll(expression, "'", "''")
		got := report(t, rulesFile("- name: a\n  for: {apiVersion: example.com/v1, kind: A}\n  status: {x: '"+text+"'}\n"))
		if !strings.Contains(got, "("+hint+")") {
			t.Errorf("%s: want %q, got %s", expression, hint, got)
		}
	}
}

// TestTextInLets writes text where a let takes an expression.
func TestTextInLets(t *testing.T) {
	for _, text := range []string{
		`ghcr.io/acme`,
		`ghcr.io/acme:1`,
		`nginx:1.27`,
		`production`,
		`my app`,
		`/var/lib`,
		`v1.2.3`,
		`my-app`,
		`a@b.c`,
		`https://example.com`,
		`*/5 * * * *`,
		`1.2.3`,
		`*.example.com`,
		`example.com`,
	} {
		got := report(t, rulesFile("- name: a\n  for: {apiVersion: example.com/v1, kind: A}\n  let: {x: '"+text+"'}\n"))
		if want := "(text needs quotes of its own: '\"" + text + "\"')"; strings.Count(got, "let.x:") != 1 || !strings.Contains(got, want) {
			t.Errorf("%s: want one error with %q, got %s", text, want, got)
		}
	}
	for _, expression := range []string{"self.spec.a + b", "web.status.ready", "self.spec.a ||", "not self.a"} {
		got := report(t, rulesFile("- name: a\n  for: {apiVersion: example.com/v1, kind: A}\n  let: {x: '"+expression+"'}\n"))
		if strings.Contains(got, "quotes") {
			t.Errorf("%s is no text: %s", expression, got)
		}
	}
}

// TestForeignTexts recognizes expressions of other tools in texts.
func TestForeignTexts(t *testing.T) {
	for text, hint := range map[string]string{
		`{.spec.image}`:                                 `write ${self.spec...} for a value of the resource`,
		`.spec.image`:                                   `write ${self.spec...} for a value of the resource`,
		`$.spec.image`:                                  `write ${self.spec...} for a value of the resource`,
		`{{request.object.spec.image}}`:                 `the resource is self: write ${self.spec...} or ${self.metadata...}`,
		`{{ request.object.metadata.name }}-x`:          `the resource is self: write ${self.spec...} or ${self.metadata...}`,
		`{{ .Values.image }}`:                           `rules are no Helm templates: write ${self.spec...} for a value of the resource`,
		`{{ .Values.image | quote }}`:                   `rules are no Helm templates: write ${self.spec...} for a value of the resource`,
		`{{ include "x.name" . }}`:                      `{{ }} is not supported: write ${...} for a value`,
		`{{ .spec.image }}`:                             `{{ }} is not supported: write ${...} for a value`,
		`{{ $.metadata.name }}`:                         `{{ }} is not supported: write ${...} for a value`,
		`{{ spec.image }}`:                              `{{ }} is not supported: write ${...} for a value`,
		`{% if x %}a{% endif %}`:                        `{% %} is not supported: write ${condition ? a : b}`,
		`{{ .observed.composite.resource.spec.image }}`: `{{ }} is not supported: write ${...} for a value`,
		`$IMAGE`:                        `rules cannot read the environment: write ${self.spec...} for a value of the resource`,
		`$(IMAGE)`:                      `rules cannot read the environment: write ${self.spec...} for a value of the resource`,
		`$(params.image)`:               `$( ) is not supported: write ${...} for a value`,
		`{{inputs.parameters.image}}`:   `{{ }} is not supported: write ${...} for a value`,
		`{{workflow.parameters.image}}`: `{{ }} is not supported: write ${...} for a value`,
		`{{=spec.image}}`:               `{{ }} is not supported: write ${...} for a value`,
		`%(image)s`:                     `%( ) is not supported: write ${...} for a value`,
		`@image@`:                       `@ @ is not supported: write ${...} for a value`,
		`{{ lookup('env', 'X') }}`:      `{{ }} is not supported: write ${...} for a value`,
		`#{image}`:                      `#{ } is not supported: write ${...} for a value`,
		`$(context.taskRun.name)`:       `$( ) is not supported: write ${...} for a value`,
		`{{metadata.name}}`:             `{{ }} is not supported: write ${...} for a value`,
	} {
		if got, is := source.ForeignText(text); !is || got.Hint != hint {
			t.Errorf("%s: want %q, got %q", text, hint, got.Hint)
		}
	}
	for _, text := range []string{"nginx:1.27", "a/b", "{}", "{a: b}", "$", "$$", "50%", "#a", "a@example.com", "web.status", "[0-9]{3}", "$(a)"} {
		if got, is := source.ForeignText(text); is {
			t.Errorf("%s: found %q", text, got.Found)
		}
	}
}

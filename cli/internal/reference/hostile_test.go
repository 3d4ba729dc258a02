package reference

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// hostile is text that would end a cell, a row, code or an element.
const hostile = "a | b <script>alert(1)</script> `c | d` *e* [f](javascript:g) ``` $h$ \\| \\ </style> &amp; \"q\" 'r'"

// hostilePage has it wherever a CRD or rules have text.
func hostilePage(t *testing.T) string {
	t.Helper()
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	const markup = "<script> | ``` [f](g) </style>"
	fill := strings.NewReplacer("HOSTILE", string(quoted), "MARKUP", markup, "EXPRESSION", `"self.spec.a == '`+markup+`'"`).Replace
	var crd map[string]any
	if err := yaml.Unmarshal([]byte(fill(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Shop, plural: shops, singular: HOSTILE, shortNames: [HOSTILE], categories: [HOSTILE]}
  versions:
  - name: v1
    served: true
    storage: true
    deprecated: true
    deprecationWarning: HOSTILE
    subresources: {scale: {specReplicasPath: HOSTILE}}
    additionalPrinterColumns: [{name: HOSTILE, description: HOSTILE, type: string, jsonPath: .spec.a}]
    schema:
      openAPIV3Schema:
        type: object
        description: HOSTILE
        x-kubernetes-validations: [{rule: HOSTILE, message: HOSTILE}]
        required: [spec]
        properties:
          spec:
            type: object
            required: [HOSTILE, a]
            properties:
              HOSTILE: {type: string, description: HOSTILE, pattern: HOSTILE, enum: [HOSTILE], format: HOSTILE}
              a: {type: string, description: "# h\n\n- i\n", default: HOSTILE}
              b: {type: array, items: {type: object}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [HOSTILE], not: {enum: [HOSTILE]}}
          status:
            type: object
            properties:
              HOSTILE: {type: string, description: HOSTILE}
              conditions: {type: array, items: {type: object}}
`)), &crd); err != nil {
		t.Fatal(err)
	}
	return written(t, pagesOf(t, fill(`apiVersion: reconcel.dev/v1alpha1
kind: Rules
define: {f(x dyn): "x == 'MARKUP'"}
rules:
- name: shop
  for: {apiVersion: example.com/v1, kind: Shop, when: EXPRESSION}
  let: {l: EXPRESSION}
  lookups:
  - {id: one, apiVersion: v1, kind: ConfigMap, name: "${'MARKUP'}", namespace: "${'MARKUP'}"}
  - {id: many, apiVersion: v1, kind: Secret, selector: {matchLabels: {a: "${'MARKUP'}"}}}
  validate:
  - {expression: EXPRESSION, message: HOSTILE}
  patch: {spec: {HOSTILE: HOSTILE}}
  children:
  - id: made
    when: l && f(one.data.x)
    readyWhen: EXPRESSION
    failWhen: EXPRESSION
    forEach: {x: "['MARKUP']"}
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${x + 'MARKUP'}", namespace: "${x + 'MARKUP'}"}
      stringData: {password: hunter2, other: "${'hunter' + '2'}"}
  - id: other
    ignoreFields: [{path: 'spec["MARKUP"]', when: EXPRESSION}]
    template: {apiVersion: example.com/v1, kind: Thing, metadata: {name: other}, spec: {"MARKUP": a}}
  conditions:
  - {type: Made, when: EXPRESSION, message: HOSTILE}
`), crd))
}

// TestPagesShowHostileText requires each row to have a cell for each column, and nothing that
// begins another element.
func TestPagesShowHostileText(t *testing.T) {
	text := hostilePage(t)
	bars := regexp.MustCompile(`(^|[^\\])\|`)
	columns, rows := 0, 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		if cells := len(bars.FindAllString(line, -1)); columns == 0 {
			columns = cells
		} else if rows++; cells != columns {
			t.Errorf("a row does not have %d cells: %s", columns-1, line)
		}
	}
	if rows < 30 {
		t.Errorf("only %d rows:\n%s", rows, text)
	}
	body := withoutCode(text)
	for _, wrong := range []string{"<script", "[f](", "\n# h", "</style", "*e*", "$h$", "<b>"} {
		if strings.Contains(body, wrong) {
			t.Errorf("%q is not escaped:\n%s", wrong, body)
		}
	}
	for _, shown := range []string{"&lt;script&gt;", `\[f\](javascript:g)`, `\# h<br>\- i`} {
		if !strings.Contains(body, shown) {
			t.Errorf("%q is not shown:\n%s", shown, body)
		}
	}
}

// TestPagesShowNoSecrets looks for what a template has as the data of a Secret.
func TestPagesShowNoSecrets(t *testing.T) {
	text := hostilePage(t)
	if strings.Contains(text, "hunter") || !strings.Contains(text, "### Secret") {
		t.Errorf("the page shows the data of a Secret:\n%s", text)
	}
}

// withoutCode returns Markdown without its spans of code, each of which ends with as many
// backticks as it begins with.
func withoutCode(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		if text[0] == '\\' && len(text) > 1 {
			b.WriteString(text[:2])
			text = text[2:]
			continue
		}
		run := text[:len(text)-len(strings.TrimLeft(text, "`"))]
		end := regexp.MustCompile("[^`]" + run + "(?:[^`]|$)").FindStringIndex(text[len(run):])
		if run == "" || end == nil {
			b.WriteString(text[:max(1, len(run))])
			text = text[max(1, len(run)):]
			continue
		}
		text = text[len(run)+end[0]+1+len(run):]
	}
	return b.String()
}

func TestBarsInCodeStayInTheirCell(t *testing.T) {
	for text, want := range map[Code]Markdown{
		"a|b":   "| `a\\|b` |",
		`a\|b_`: "| <code>a&#92;&#124;b&#95;</code> |",
		"":      "|  |",
	} {
		if got := row(text); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

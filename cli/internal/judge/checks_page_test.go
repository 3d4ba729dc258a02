package judge

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"reconcel/rules"
	"reconcel/rules/lint"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

var update = flag.Bool("update", false, "rewrite the lists of docs/checks.md")

const checksPage = "../../../docs/checks.md"

var (
	checksTable = regexp.MustCompile(`(?m)^\| check \|(.*\n)(\|.*\n)+`)
	factsList   = regexp.MustCompile(`(?m)(^- .* \(\w+/validation/.*\)\n)+`)
	yamlBlock   = regexp.MustCompile("(?s)```yaml\n(.*?)```")
)

// TestChecksPageTable compares the table of docs/checks.md with the checks.
func TestChecksPageTable(t *testing.T) {
	page := readChecksPage(t)
	var b strings.Builder
	b.WriteString("| check | finds | |\n|---|---|---|\n")
	for _, c := range lint.Checks {
		severity := "warning"
		if c.Certain {
			severity = "error"
		}
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", c.Name, c.Name, c.Finds, severity)
	}
	wantPart(t, page, checksTable.FindString(page), b.String())
}

// TestChecksPageFacts compares the facts of docs/checks.md with those that the check
// knows.
func TestChecksPageFacts(t *testing.T) {
	page := readChecksPage(t)
	var b strings.Builder
	for _, f := range lint.Facts() {
		b.WriteString("- " + f + "\n")
	}
	wantPart(t, page, factsList.FindString(page), b.String())
}

// wantPart compares a part of the page, or rewrites it.
func wantPart(t *testing.T, page, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	if !*update || got == "" {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	if err := os.WriteFile(checksPage, []byte(strings.Replace(page, got, want, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestChecksPageExamples runs the two examples of each check in docs/checks.md: the check
// alone finds something in the wrong one, and nothing is found in the right one. In the
// wrong one, a comment on the line silences it.
func TestChecksPageExamples(t *testing.T) {
	_, sections, _ := strings.Cut(readChecksPage(t), "\n## ")
	examples := map[string][]string{}
	for section := range strings.SplitSeq(sections, "\n## ") {
		name, text, _ := strings.Cut(section, "\n")
		for _, m := range yamlBlock.FindAllStringSubmatch(text, -1) {
			examples[name] = append(examples[name], m[1])
		}
	}
	for _, c := range lint.Checks {
		t.Run(c.Name, func(t *testing.T) {
			texts := examples[c.Name]
			if len(texts) != 2 {
				t.Fatalf("docs/checks.md has %d examples, want a wrong and a right one", len(texts))
			}
			wrong := judgeText(t, inExample(texts[0]))
			found, other := wrong.Errors, wrong.Warnings
			if !c.Certain {
				found, other = other, found
			}
			if len(found) == 0 || len(other) > 0 {
				t.Fatalf("the wrong example: errors %v, warnings %v", wrong.Errors, wrong.Warnings)
			}
			for _, e := range found {
				if e.Check != c.Name {
					t.Errorf("the wrong example: %v", e)
				}
			}
			if right := judgeText(t, inExample(texts[1])); len(right.Errors)+len(right.Warnings) > 0 {
				t.Errorf("the right example: errors %v, warnings %v", right.Errors, right.Warnings)
			}
			lines := strings.Split(inExample(texts[0]), "\n")
			for _, e := range found {
				if !strings.Contains(lines[e.Pos.Line-1], " # ") {
					lines[e.Pos.Line-1] += " # reconcel:ignore " + c.Name
				}
			}
			silenced := judgeText(t, strings.Join(lines, "\n"))
			if c.Name != lint.UnknownCheck && len(silenced.Errors)+len(silenced.Warnings) > 0 {
				t.Errorf("with comments: errors %v, warnings %v\n%s", silenced.Errors, silenced.Warnings, strings.Join(lines, "\n"))
			}
		})
	}
}

func readChecksPage(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(checksPage)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// inExample returns a rules file with one rule. The text has its keys besides name and
// for.
func inExample(text string) string {
	if strings.HasPrefix(text, "apiVersion: ") {
		return text
	}
	if !strings.Contains(text, "for:") {
		text = "for: {apiVersion: example.com/v1, kind: Web}\n" + text
	}
	return "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: web\n  " + strings.ReplaceAll(text, "\n", "\n  ")
}

// webCRD defines the kind of the examples.
const webCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webs.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Web, plural: webs}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [image, tier, tag]
            properties:
              image: {type: string}
              tag: {type: string}
              note: {type: string}
              tier: {type: string, enum: [dev, prod]}
          status:
            type: object
            properties:
              image: {type: string}
              ready: {type: integer}
              conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// bareCRD defines a kind without status.conditions.
const bareCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bares.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Bare, plural: bares}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object}}}
`

func judgeText(t *testing.T, text string) Result {
	t.Helper()
	var crds []map[string]any
	for _, text := range []string{webCRD, bareCRD} {
		var crd map[string]any
		if err := yaml.Unmarshal([]byte(text), &crd); err != nil {
			t.Fatal(err)
		}
		crds = append(crds, crd)
	}
	set, err := schema.New(schema.Sources{CRDs: crds})
	if err != nil {
		t.Fatal(err)
	}
	policy := Policy{}
	if strings.Contains(text, "namespaces: [team-") {
		policy.Namespaces = []string{"team-a"}
	}
	return Of(rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(text)}}), set, policy)
}

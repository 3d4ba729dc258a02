package judge

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
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

// checksExamples has the examples of docs/checks.md in full.
const checksExamples = "testdata/checks.md"

var (
	checksTable = regexp.MustCompile(`(?m)^\| check \|(.*\n)(\|.*\n)+`)
	factsList   = regexp.MustCompile(`(?m)^## api-rule\n\n(?:- .*\n)+`)
	factSource  = regexp.MustCompile(` \(\w+/validation/.*\)$`)
	diffBlock   = regexp.MustCompile("(?s)```diff\n(.*?)```")
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
// knows, which also name their source.
func TestChecksPageFacts(t *testing.T) {
	page := readChecksPage(t)
	var b strings.Builder
	b.WriteString("## api-rule\n\n")
	for _, f := range lint.Facts() {
		if !factSource.MatchString(f) {
			t.Errorf("the fact has no source: %s", f)
		}
		b.WriteString("- " + factSource.ReplaceAllString(f, "") + "\n")
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

// TestChecksPageExamples runs the two examples of each check: the check alone finds
// something in the wrong one, and nothing is found in the right one. In the wrong one, a
// comment on the line silences it. docs/checks.md shows lines of them.
func TestChecksPageExamples(t *testing.T) {
	shown, examples := diffs(t, checksPage), diffs(t, checksExamples)
	for _, c := range lint.Checks {
		t.Run(c.Name, func(t *testing.T) {
			if len(examples[c.Name]) != 1 || len(shown[c.Name]) != 1 {
				t.Fatalf("%s has %d examples, and docs/checks.md shows %d", checksExamples, len(examples[c.Name]), len(shown[c.Name]))
			}
			whole, part := examples[c.Name][0], shown[c.Name][0]
			if line := missingLine(whole, part); line != "" {
				t.Errorf("docs/checks.md shows a line that the example in %s does not have there: %s", checksExamples, line)
			}
			for _, sign := range "-+" {
				if strings.Contains("\n"+whole, "\n"+string(sign)) && !strings.Contains("\n"+part, "\n"+string(sign)) {
					t.Errorf("docs/checks.md does not show a line with %c", sign)
				}
			}
			wrongText, rightText := sidesOf(whole)
			wrong := judgeText(t, inExample(wrongText))
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
			if right := judgeText(t, inExample(rightText)); len(right.Errors)+len(right.Warnings) > 0 {
				t.Errorf("the right example: errors %v, warnings %v", right.Errors, right.Warnings)
			}
			lines := strings.Split(inExample(wrongText), "\n")
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

// diffs returns the diff blocks of a file by the name of their section.
func diffs(t *testing.T, file string) map[string][]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, sections, _ := strings.Cut(string(data), "\n## ")
	all := map[string][]string{}
	for section := range strings.SplitSeq(sections, "\n## ") {
		name, text, _ := strings.Cut(section, "\n")
		for _, m := range diffBlock.FindAllStringSubmatch(text, -1) {
			all[name] = append(all[name], m[1])
		}
	}
	return all
}

// missingLine returns the first line of a part that the whole does not have after the
// lines before it.
func missingLine(whole, part string) string {
	rest := strings.Split(whole, "\n")
	for line := range strings.Lines(part) {
		line = strings.TrimSuffix(line, "\n")
		at := slices.Index(rest, line)
		if at < 0 {
			return line
		}
		rest = rest[at+1:]
	}
	return ""
}

// sidesOf returns the wrong and the right example of a diff.
func sidesOf(diff string) (wrong, right string) {
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "-"):
			wrong += line[1:]
		case strings.HasPrefix(line, "+"):
			right += line[1:]
		default:
			wrong += strings.TrimPrefix(line, " ")
			right += strings.TrimPrefix(line, " ")
		}
	}
	return wrong, right
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

package judge

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"reconcel/rules"
	"reconcel/rules/lint"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

var update = flag.Bool("update", false, "rewrite the table of docs/checks.md")

const checksPage = "../../../docs/checks.md"

var (
	checksTable = regexp.MustCompile(`(?m)^\| check \|(.*\n)(\|.*\n)+`)
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
	if got := checksTable.FindString(page); got != b.String() {
		if !*update {
			t.Fatalf("got\n%s\nwant\n%s", got, b.String())
		}
		page = strings.Replace(page, got, b.String(), 1)
		if err := os.WriteFile(checksPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
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
			wrong := judgeExample(texts[0])
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
			if right := judgeExample(texts[1]); len(right.Errors)+len(right.Warnings) > 0 {
				t.Errorf("the right example: errors %v, warnings %v", right.Errors, right.Warnings)
			}
			lines := strings.Split(inExample(texts[0]), "\n")
			for _, e := range found {
				if !strings.Contains(lines[e.Pos.Line-1], " # ") {
					lines[e.Pos.Line-1] += " # reconcel:ignore " + c.Name
				}
			}
			silenced := judgeText(strings.Join(lines, "\n"))
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

func judgeExample(text string) Verdict { return judgeText(inExample(text)) }

func judgeText(text string) Verdict {
	return Of(rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(text)}}), schema.Builtin(), Policy{})
}

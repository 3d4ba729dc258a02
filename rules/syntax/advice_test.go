package syntax

import (
	"strings"
	"testing"

	"reconcel/rules/source"
)

// TestAdvice follows the hints. The suggested text must parse, and have the intended
// meaning.
func TestAdvice(t *testing.T) {
	for line, meant := range map[string]string{
		// Expressions: the whole text is meant.
		`let: {|a: "a" == self.x|}`:                 `"a" == self.x`,
		`let: {|a: 'a' == self.x|}`:                 `'a' == self.x`,
		`let: {|a: "it's" == self.x|}`:              `"it's" == self.x`,
		`let: {|a: 'it''s' == self.x|}`:             `'it''s' == self.x`,
		`let: {|a: self.x == "a: b"|}`:              `self.x == "a: b"`,
		`let: {|a: self.x == "it's: b"|}`:           `self.x == "it's: b"`,
		`let: {|a: self.x == 'a' ? "b" : 'c'|}`:     `self.x == 'a' ? "b" : 'c'`,
		`let: {|a: self.x == "a #b"|}`:              `self.x == "a #b"`,
		`let: {|a: self.x == "a\\b: c"|}`:           `self.x == "a\\b: c"`,
		`let: {|a: !has(self.x) && "it's" == 'x'|}`: `!has(self.x) && "it's" == 'x'`,
		`let: {|a: !has(self.x)|}`:                  `!has(self.x)`,
		`let: {|a: [1, 2].exists(x, x == 1)|}`:      `[1, 2].exists(x, x == 1)`,
		`let: {|a: {"a": true}["a"]|}`:              `{"a": true}["a"]`,
		"let: {|a: `a b` == 1|}":                    "`a b` == 1",
		// Data: quotes around the value are not part of it.
		`status: {|a: ${self.x}: y|}`:          `${self.x}: y`,
		`status: {|a: ${self.x ? "a" : "b"}|}`: `${self.x ? "a" : "b"}`,
		`status: {|a: ${self.x + " #1"}|}`:     `${self.x + " #1"}`,
		`status: {|a: ${{"a": "it's"}}|}`:      `${{"a": "it's"}}`,
		`status: {|a: "${self.m["a"]}"|}`:      `${self.m["a"]}`,
		`status: {|a: '${self.m['a']}'|}`:      `${self.m['a']}`,
		`status: {|a: "a "quoted" word"|}`:     `a "quoted" word`,
		`status: {|a: 'it's'|}`:                `it's`,
		`status: {|a: @x|}`:                    `@x`,
		"status: {|a: `x`|}":                   "`x`",
		`status: {|a: %x|}`:                    `%x`,
		`status: {|a: *|}`:                     `*`,
		`status: {|a: *.example.com|}`:         `*.example.com`,
		`status: {|a: &x y: z|}`:               `&x y: z`,
		`status: {|a: !x|}`:                    `!x`,
		`status: {|a: key: value|}`:            `key: value`,
	} {
		t.Run(line, func(t *testing.T) {
			line := strings.NewReplacer("{|", "\n    ", "|}", "\n").Replace(line)
			_, err := parseLine(line)
			if err == nil {
				t.Fatal("nothing is wrong")
			}
			_, advice, ok := strings.Cut(err.Error(), "write ")
			if !ok {
				t.Fatalf("no advice: %v", err)
			}
			advice = strings.TrimSuffix(advice, ")")
			key, _, _ := strings.Cut(line, "a: ")
			file, err := parseLine(key + "a: " + advice + "\n")
			if err != nil {
				t.Fatalf("%s is wrong: %v", advice, err)
			}
			if got := firstValue(file.Rules[0]); got != meant {
				t.Errorf("%s means %s", advice, got)
			}
		})
	}
}

func parseLine(line string) (*File, error) {
	return Parse([]source.File{{Name: "rules.yaml", Data: []byte("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n" +
		"- name: foo\n  for: {apiVersion: example.com/v1, kind: Foo}\n  " + line)}})
}

// firstValue returns the text of the first let or the first status field.
func firstValue(r *Rule) string {
	if len(r.Let) > 0 {
		return r.Let[0].Expr.Text
	}
	n := r.Status.Fields[0].Value
	if n.Kind == source.Text {
		return n.Value.(string)
	}
	var b strings.Builder
	for _, p := range n.Parts {
		b.WriteString(p.Text)
		if p.Expr != nil {
			b.WriteString("${" + p.Expr.Text + "}")
		}
	}
	return b.String()
}

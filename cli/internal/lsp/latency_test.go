package lsp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reconcel/test/cputime"
	"reconcel/test/race"
)

// longFile returns rules of at least 500 lines, with the place of an expression near the
// end.
func longFile() (text string, line, column int) {
	var b strings.Builder
	b.WriteString(head + "  children:\n")
	n := strings.Count(b.String(), "\n")
	for i := 0; n < 500; i++ {
		next := fmt.Sprintf(`  - id: web%d
    after: [web%d]
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: ${self.metadata.name}-%d
        labels: ${labels}
      spec:
        replicas: ${self.spec.replicas}
        selector:
          matchLabels: ${labels}
        template:
          metadata:
            labels: ${labels}
          spec:
            containers:
            - name: web
              image: ${self.spec.image}
              ports: ${self.spec.ports.map(p, {"name": p.name, "containerPort": p.number})}
              env:
              - {name: MODE, value: "${self.spec.?mode.orValue('Safe')}"}
`, i, i-1, i)
		if i == 0 {
			next = strings.Replace(next, "    after: [web-1]\n", "", 1)
		}
		b.WriteString(next)
		n += strings.Count(next, "\n")
	}
	last := "  status:\n    ready: ${self.spec.\n"
	return b.String() + last, n + 1, len("    ready: ${self.spec.")
}

// limit is what people do not notice while typing.
const limit = 50 * time.Millisecond

// TestAnswersAtOnce types in a file of 500 lines, and asks after every key, while the
// server also judges the file. It tries a few times, because other work on the machine
// slows it down.
func TestAnswersAtOnce(t *testing.T) {
	race.Skip(t)
	folder := webs(t)
	best := time.Hour
	for range 5 {
		took := typeAndAsk(t, folder)
		p99 := took[len(took)*99/100]
		best = min(best, p99)
		t.Logf("%d answers: median %s, p99 %s, slowest %s", len(took), took[len(took)/2], p99, took[len(took)-1])
		if best < limit {
			return
		}
	}
	t.Errorf("p99 is %s, more than %s", best, limit)
}

// typeAndAsk returns the sorted times from sending a request to its answer, without those in which
// other programs had the processors. Each request follows a change, which the server reads first.
func typeAndAsk(t *testing.T, folder string) (took []time.Duration) {
	t.Helper()
	text, line, column := longFile()
	c := open(t, folder, text)
	c.diagnostics(c.uri(folder))
	document := object{"uri": c.uri(folder)}
	version := 0
	change := func(text string, from, to int) {
		version++
		c.notify("textDocument/didChange", object{
			"textDocument": object{"uri": c.uri(folder), "version": version},
			"contentChanges": []object{{"text": text,
				"range": object{"start": object{"line": line, "character": from}, "end": object{"line": line, "character": to}}}},
		})
	}
	for range 10 {
		for i, r := range "replicas" {
			change(string(r), column+i, column+i)
			for _, method := range []string{"textDocument/completion", "textDocument/hover", "textDocument/definition", "textDocument/codeAction"} {
				position := object{"line": line, "character": column + i + 1}
				waited, start := cputime.Waited(), time.Now()
				r := c.call(method, object{"textDocument": document, "position": position, "range": object{"start": position, "end": position}})
				passed := time.Since(start)
				took = append(took, passed-(cputime.Waited()-waited))
				if r.Error != nil {
					t.Fatal(r.Error.Message)
				}
			}
		}
		change("", column, column+len("replicas"))
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
	slices.Sort(took)
	return took
}

package expr

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// row is one line of the tables in docs/reference/functions.md.
type row struct {
	line     int
	function string // as the page writes it, with backticks
	example  string
	result   string
}

var (
	cellBorder = regexp.MustCompile(`[^\\]\|`)
	worldBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	callName   = regexp.MustCompile(`(?:([a-z]\w*)\.)?([a-zA-Z]\w*)\(`)
)

// readFunctionsPage returns the rows of the page and the objects that its examples read.
func readFunctionsPage(t *testing.T) ([]row, variables) {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/functions.md")
	if err != nil {
		t.Fatal(err)
	}
	block, err := yaml.YAMLToJSON(worldBlock.FindSubmatch(page)[1])
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]any{}
	if err := utiljson.Unmarshal(block, &objects); err != nil {
		t.Fatal(err)
	}
	var rows []row
	for i, line := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasSuffix(line, " Result |") {
			continue
		}
		cells := cellsOf(line)
		if len(cells) != 4 {
			t.Errorf("functions.md:%d: has %d cells", i+1, len(cells))
			continue
		}
		rows = append(rows, row{i + 1, cells[0], codeSpan(cells[2]), codeSpan(cells[3])})
	}
	return rows, variables(objects)
}

func cellsOf(line string) []string {
	var out []string
	line = strings.TrimPrefix(line, "|")
	for {
		at := cellBorder.FindStringIndex(line)
		if at == nil {
			return out
		}
		out = append(out, strings.TrimSpace(strings.ReplaceAll(line[:at[0]+1], `\|`, "|")))
		line = line[at[1]:]
	}
}

// codeSpan returns the text between a cell's backticks. Double backticks enclose code
// that contains backticks.
func codeSpan(cell string) string {
	if inner, ok := strings.CutPrefix(cell, "``"); ok {
		return strings.TrimSpace(strings.TrimSuffix(inner, "``"))
	}
	return strings.Trim(cell, "`")
}

// moreExamples are of functions that the page lists beside another one, with their results.
var moreExamples = [][2]string{
	{`self.spec.image.endsWith(":latest")`, "false"},
	{`"a.b.c".lastIndexOf(".")`, "3"},
	{`"web".upperAscii()`, `"WEB"`},
	{"math.least(5, self.spec.replicas)", "3"},
	{"math.floor(1.7)", "1"},
	{"math.trunc(-1.7)", "-1"},
	{"math.isInf(1.0 / 0.0)", "true"},
	{"math.isNaN(0.0 / 0.0)", "true"},
	{"math.bitOr(12, 10)", "14"},
	{"math.bitXor(12, 10)", "6"},
	{"math.bitNot(0)", "-1"},
	{"math.bitShiftRight(1024, 3)", "128"},
	{"self.spec.ports.isSorted()", "true"},
	{"[].last()", "none"},
	{"[1, 2, 1].lastIndexOf(1)", "2"},
	{"self.spec.ports.max()", "443"},
	{"lists.removeAtIndex(self.spec.ports, 0)", "[443]"},
	{"[5, 6, 7].transformList(i, x, i != 1, x)", "[5, 7]"},
	{`self.metadata.labels.transformMap(k, v, k == "app", v)`, `{"app": "web"}`},
	{`{"a": 1, "b": 2}.transformMapEntry(k, v, v > 1, {k + k: v})`, `{"bb": 2}`},
	{"self.metadata.labels.exists(k, v, k == v)", "false"},
	{"self.spec.ports.existsOne(i, p, p == 80 && i == 0)", "true"},
	{"sets.equivalent([1, 2], [2, 1, 1])", "true"},
	{"optional.none()", "none"},
	{"self.?spec.optFlatMap(s, s.?size)", "none"},
	{`string(base64.decode("aGVsbG8="))`, `"hello"`},
	{`hash.md5("a")`, `"0cc175b9c0f1b6a831c399e269772661"`},
	{`hash.fnv64a("a")`, `"af63dc4c8601ec8c"`},
	{"timestamp(self.spec.since).getDayOfMonth()", "2"},
	{"timestamp(self.spec.since).getDayOfYear()", "33"},
	{`duration("1h30m").getMinutes()`, "90"},
	{"timestamp(self.spec.since).getSeconds()", "6"},
	{`duration("1s500ms").getMilliseconds()`, "1500"},
	{`quantity("2Gi").sub(quantity("1Gi")) == quantity("1Gi")`, "true"},
	{`quantity("1Gi").isLessThan(quantity("1G"))`, "false"},
	{`sign(quantity("-5"))`, "-1"},
	{`semver("1.2.3").minor()`, "2"},
	{`semver("1.2.3").patch()`, "3"},
	{`semver("1.10.0").isLessThan(semver("1.9.0"))`, "false"},
	{`ip("127.0.0.1").isLoopback()`, "true"},
	{`ip("169.254.1.1").isLinkLocalUnicast()`, "true"},
	{`ip("224.0.0.1").isLinkLocalMulticast()`, "true"},
	{`ip("10.0.0.1").isGlobalUnicast()`, "true"},
	{`cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16")`, "true"},
	{`url("https://a.example:8080/x").getHost()`, `"a.example:8080"`},
	{`url("https://a.example:8080/x").getHostname()`, `"a.example"`},
	{`url("https://a.example/x y").getEscapedPath()`, `"/x%20y"`},
	{`format.dns1123SubdomainPrefix().validate("a.web-")`, "none"},
	{`format.dns1035LabelPrefix().validate("web-")`, "none"},
	{`format.uuid().validate("123e4567-e89b-12d3-a456-426614174000")`, "none"},
	{`format.byte().validate("aGVsbG8=")`, "none"},
	{`format.date().validate("2024-02-30").hasValue()`, "true"},
	{"format.datetime().validate(self.spec.since)", "none"},
}

func TestExamplesOfTheFunctionsPage(t *testing.T) {
	rows, vars := readFunctionsPage(t)
	if len(rows) < 150 {
		t.Fatalf("the page has only %d rows", len(rows))
	}
	known := map[string]*Shape{"self": Self("self"), "deployment": Live("deployment"), "pods": Items("pods"), "copies": Items("copies")}
	vars[Existing.Variable("pods")], vars["pods"] = vars["pods"], NewIncomplete("pods (1 of 2 exist)")
	known[Previous.Variable("pods")], vars[Previous.Variable("pods")] = Items(Previous.Variable("pods")), vars[Existing.Variable("pods")]
	vars[ByKey.Variable("copies")] = map[string]any{"a": map[string]any{"metadata": map[string]any{"name": "copy-a"}}}
	clock := ClockAt(time.Date(2024, time.February, 3, 12, 0, 0, 0, time.UTC))
	vars[ClockVariable] = &clock
	vars[Exists.Variable("deployment")], vars[Included.Variable("deployment")] = true, true
	position := regexp.MustCompile(`^error \S+ `)
	for _, more := range moreExamples {
		rows = append(rows, row{example: more[0], result: more[1]})
	}
	for _, r := range rows {
		got := eval(t, compile(t, r.example, known), vars)
		got = position.ReplaceAllString(got, "error: ")
		got = strings.Replace(got, "waits ", "waits: ", 1)
		var gotValue, want any
		if json.Unmarshal([]byte(got), &gotValue) == nil && json.Unmarshal([]byte(r.result), &want) == nil {
			if diff := cmp.Diff(want, gotValue); diff != "" {
				t.Errorf("functions.md:%d: %s\n%s", r.line, r.example, diff)
			}
		} else if got != r.result {
			t.Errorf("functions.md:%d: %s\n got %s\nwant %s", r.line, r.example, got, r.result)
		}
	}
}

// spelling is how a function is called: by itself or on a value.
type spelling struct {
	name   string
	method bool
}

// TestFunctionsPageIsComplete compares the page with the declared functions.
func TestFunctionsPageIsComplete(t *testing.T) {
	b, err := base()
	if err != nil {
		t.Fatal(err)
	}
	declared := map[spelling]bool{}
	for name, f := range b.declared {
		if strings.ContainsAny(name, "@_") || name == "in" {
			continue // Operators, and functions that only macros expand to.
		}
		for _, o := range f.OverloadDecls() {
			declared[spelling{name, o.IsMemberFunction()}] = true
		}
	}
	namespaced := map[string]string{"least": "math.least", "greatest": "math.greatest", "bind": "cel.bind"}
	for _, m := range b.env.Macros() {
		name, ok := namespaced[m.Function()]
		if !ok {
			name = m.Function()
		}
		declared[spelling{name, m.IsReceiverStyle() && !ok}] = true
	}

	var namespaces []string
	for c := range declared {
		if ns := namespaceOf(c.name); ns != "" && !slices.Contains(namespaces, ns) {
			namespaces = append(namespaces, ns)
		}
	}
	mentioned := map[spelling]bool{}
	rows, _ := readFunctionsPage(t)
	for _, r := range rows {
		for _, m := range callName.FindAllStringSubmatch(r.function, -1) {
			c := spelling{name: m[2], method: m[1] != ""}
			if slices.Contains(namespaces, m[1]) {
				c = spelling{name: m[1] + "." + m[2]}
			}
			mentioned[c] = true
			if !declared[c] {
				t.Errorf("functions.md:%d: %s is no function", r.line, m[0])
			}
		}
	}
	for c := range declared {
		if !mentioned[c] {
			t.Errorf("functions.md does not mention %s (as a method: %t)", c.name, c.method)
		}
	}
}

package source

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// This file is the one table of what authors write by habit from other languages and
// tools, with what to write instead. Each row has an example in TestLookAlikes of package
// rules.

// namesElsewhere maps names of other languages and tools to those of rules.
var namesElsewhere = map[string]string{
	"nil": "null", "None": "null", "undefined": "null", "True": "true", "False": "false",
	"len": "size", "length": "size", "count": "size", "range": "lists.range", "toString": "string", "str": "string",
	"default": "orValue", "coalesce": "orValue", "getOrElse": "orValue", "toLower": "lowerAscii", "toUpper": "upperAscii",
	"lower": "lowerAscii", "upper": "upperAscii",
	"toLowerCase": "lowerAscii", "toUpperCase": "upperAscii", "any": "exists", "some": "exists",
	"has_key": "has", "defined": "has", "foreach": "map",
	"printf": "format", "sprintf": "format", "fmt": "format", "toInt": "int", "atoi": "int", "quote": "strings.quote",
	"trimSpace": "trim",
	"metadata":  "self.metadata", "spec": "self.spec", "status": "self.status", "object": "self", "this": "self",
	"instance": "self", "resource": "self", "xr": "self", "composite": "self", "oxr": "self",
	"toYaml": "yaml.marshal(...)", "fromYaml": "yaml.unmarshal(...)", "toJson": "json.marshal(...)",
	"to_json": "json.marshal(...)", "jsonencode": "json.marshal(...)", "fromJson": "json.unmarshal(...)",
	"hash": "hash.sha256(...)", "sha256": "hash.sha256(...)", "sha256sum": "hash.sha256(...)", "md5": "hash.md5(...)",
	"sha1":   "hash.sha256(...)",
	"base64": "base64.encode(bytes(...))", "b64enc": "base64.encode(bytes(...))",
	"base64_encode": "base64.encode(bytes(...))", "b64dec": "string(base64.decode(...))",
	"base64_decode": "string(base64.decode(...))",
}

// advice maps names that rules cannot have to what to do instead.
var advice = map[string]string{
	"schema":   "the resource is self: write self.spec or self.metadata", // kro
	"each":     "in readyWhen, the object is child",                      // kro
	"omit":     "to leave a field out, write when(condition, value)",     // kro
	"request":  "the resource is self: write self.spec or self.metadata", // Kyverno
	"local":    "name a value with let, and write its name",              // Terraform
	"module":   "a child is written by its id",                           // Terraform
	"Values":   "the values are fields of the resource: write self.spec", // Helm
	"Release":  "write self.metadata.name or self.metadata.namespace",    // Helm
	"Chart":    "name a value with let, and write its name",              // Helm
	"include":  "name a value with let, and write its name",              // Helm
	"tpl":      "write ${...} in the text",                               // Helm
	"required": "write a check in validate",                              // Helm
	"lookup":   "declare the object in lookups, and write its id",        // Helm
	"indent":   "write the data as YAML: it needs no indentation of text",
	"nindent":  "write the data as YAML: it needs no indentation of text",
	"params":   "the parameters are fields of the resource: write self.spec",
	"inputs":   "the parameters are fields of the resource: write self.spec",
	"now":      "rules cannot read the clock: elapsed(time, duration) says whether a moment has come",
	"random":   "rules have no random numbers: the same objects must give the same result",
	"randAlpha": "rules have no random numbers: the same objects must give the same result; generate makes passwords of " +
		"a Secret",
	"uuid":   "rules have no random numbers: self.metadata.uid is unique",
	"uuidv4": "rules have no random numbers: self.metadata.uid is unique",
	"env":    "rules cannot read the environment",
	"not":    "write !",

	"includes": "write contains(part) for a text, and value in list for a list",

	"previous": "write previous(id) with the id of a child",
}

// HintName says what to write instead of a name of another language or tool, or "".
func HintName(name string) string {
	if other := namesElsewhere[name]; other != "" {
		return "write " + other
	}
	return advice[name]
}

// A lookAlike is a construct of another language or tool.
type lookAlike struct {
	written *regexp.Regexp
	hint    string
}

// operatorsElsewhere are constructs in expressions that CEL cannot parse. The first one
// that matches counts.
var operatorsElsewhere = []lookAlike{
	{regexp.MustCompile(`\{\{`), "{{ }} is not supported: write the expression alone"},
	{regexp.MustCompile(`^\s*\{[^:]*$`), "${{ }} is not supported: write ${...} with one pair of braces"},
	{regexp.MustCompile(`\$\{`), "within ${...}, write the name alone; an index is x[key]"},
	{regexp.MustCompile(`\$\w`), "write names without $"},
	{regexp.MustCompile(`^\w+:[-=?+]`), "append .orValue(...) to a field with .?"},
	{regexp.MustCompile(`\w\?\.\w`), "write .? for a field that may be absent"},
	{regexp.MustCompile(`\?\?`), "append .orValue(...) to a field with .?"},
	{regexp.MustCompile(`=~`), "write .matches(...)"},
	{regexp.MustCompile(`[=!]==`), "write == or != to compare"},
	{regexp.MustCompile(`<>`), "write != to compare"},
	{regexp.MustCompile(`=>|->`), "write .map(x, ...) with a name and an expression"},
	{regexp.MustCompile(`[^=!<>]=[^=~>]`), "write == to compare"},
	{regexp.MustCompile(`[^|]\|\s*default\b`), "append .orValue(...) to a field with .?"},
	{regexp.MustCompile(`[^|]\|\s*(?:to_?[yY]aml|to_?[jJ]son|n?indent)\b`),
		"rules have no pipes: write the map itself for data, and yaml.marshal(...) or json.marshal(...) for a text"},
	{regexp.MustCompile(`[^|]\|\s*[a-z]\w*\s*(?:[("']|$|\|)`), "rules have no pipes: write function(value)"},
	{regexp.MustCompile(`[^|]\|(?:[^|]|$)`), "write || for or"},
	{regexp.MustCompile(`[^&]&(?:[^&]|$)`), "write && for and"},
	{regexp.MustCompile(`\band\b`), "write && for and"},
	{regexp.MustCompile(`\bor\b`), "write || for or"},
	{regexp.MustCompile(`\bnot\b`), "write ! for not"},
	{regexp.MustCompile(`\*\*`), "rules have no powers: write a product"},
	{regexp.MustCompile("`"), "write texts in double or single quotes, joined by +"},
}

var stringLiteral = regexp.MustCompile(`"[^"]*"|'[^']*'`)

// HintOperator says what to write instead of a construct of another language in an
// expression that CEL cannot parse, or "".
func HintOperator(expression string) string {
	text := stringLiteral.ReplaceAllString(expression, `""`)
	for _, o := range operatorsElsewhere {
		if o.written.MatchString(text) {
			return o.hint
		}
	}
	return ""
}

// plainValue matches what is hardly an expression: an image, an address, a path, a version, a
// schedule, a domain, words.
var plainValue = regexp.MustCompile(`^(?:[\w*-][\w-]*(?:\.[\w-]+)+/.*|[a-z]+://.*|/[\w./-]*|[\w./-]+:[\w.-]+|v?\d+\.\d+\.\d.*|[\w.+-]+@[\w.-]+|[\d*/,-]+(?: [\d*/,-]+){4}|` +
	`\*(?:\.[\w-]+)+|[A-Za-z]\w*(?:-[A-Za-z]\w*)+|[A-Za-z]\w*(?:\.[a-z]\w*)*\.(?:com|org|net|io|dev|local)|[A-Za-z]\w*(?: [A-Za-z]\w*)*)$`)

// IsPlainText reports whether an expression that does not compile must have been meant as
// text.
func IsPlainText(expression string) bool {
	return plainValue.MatchString(strings.TrimSpace(expression))
}

// textsElsewhere are expressions of other tools in literal texts. The first one has no
// meaning in any text of rules.
var textsElsewhere = []lookAlike{
	{regexp.MustCompile(`\{\{-?\s*(?:\w+\s+)?\.(?:Values|Release|Chart)\b[^}]*\}\}`),
		"rules are no Helm templates: write ${self.spec...} for a value of the resource"},
	{regexp.MustCompile(`\{\{\s*request\.(?:object|oldObject|namespace|name)\b[^}]*\}\}`),
		"the resource is self: write ${self.spec...} or ${self.metadata...}"}, // Kyverno
	{regexp.MustCompile(`\{\{[^}]*\}\}`), "{{ }} is not supported: write ${...} for a value"},
	// Go templates, Jinja, Argo
	{regexp.MustCompile(`\{%[^%]*%\}`), "{% %} is not supported: write ${condition ? a : b}"},
	// Jinja
	{regexp.MustCompile(`\{[$@]?\.(?:spec|metadata|status|data)[\w.\[\]*'"]*\}`),
		"write ${self.spec...} for a value of the resource"}, // kubectl
	{regexp.MustCompile(`^\$?\.(?:spec|metadata|status|data)\.[\w.\[\]]+$`),
		"write ${self.spec...} for a value of the resource"}, // kubectl, jq
	{regexp.MustCompile(`#\{[^}]*\}`), "#{ } is not supported: write ${...} for a value"},
	// Ruby
	{regexp.MustCompile(`%\(\w+\)s`), "%( ) is not supported: write ${...} for a value"},
	// Python
	{regexp.MustCompile(`\$\([a-z][\w-]*\.[\w.-]+\)`), "$( ) is not supported: write ${...} for a value"},
	// Tekton
	{regexp.MustCompile(`^\$\(?[A-Z][A-Z0-9_]*\)?$`),
		"rules cannot read the environment: write ${self.spec...} for a value of the resource"}, // shells
	{regexp.MustCompile(`^@[\w.]+@$`), "@ @ is not supported: write ${...} for a value"},
	// Autoconf, Maven
}

// A Foreign is an expression of another tool in a literal text.
type Foreign struct {
	Found, Hint string
	// Anywhere: it is wrong in every text. Others are right where a program reads the text.
	Anywhere bool
}

// ForeignText returns what looks like an expression of another tool in a literal text.
func ForeignText(text string) (Foreign, bool) {
	for i, t := range textsElsewhere {
		if found := t.written.FindString(text); found != "" {
			return Foreign{found, t.hint, i == 0}, true
		}
	}
	return Foreign{}, false
}

// wraps are the markers of expressions in other tools, and common mistakes instead
// of ${...}.
var wraps = [][2]string{{"{{", "}}"}, {"$(", ")"}, {"<", ">"}, {"{", "}"}, {"(", ")"}, {"$", ""}, {"", ""}}

// path matches a name with fields, calls, and the operators after them.
var path = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)\.\??([A-Za-z_][A-Za-z0-9_]*)(\.\??[A-Za-z_]\w*|\[[^]]*\]|\([^)]*\))*( *[-+?&|=<>!].*)?$`)

// sections are the first fields of a path into an object. Other words after a name
// may be a domain.
var sections = []string{"metadata", "spec", "status", "data"}

// Forgotten returns a correction for a text that must have been meant as an
// expression, like self.spec.name, of the primary or another object. It returns "" for
// other texts.
func Forgotten(text string, isObject func(name string) bool) string {
	text = strings.TrimSpace(text)
	for _, w := range wraps {
		inner, opened := strings.CutPrefix(text, w[0])
		inner, closed := strings.CutSuffix(inner, w[1])
		if !opened || !closed {
			continue
		}
		inner = strings.TrimSpace(inner)
		m := path.FindStringSubmatch(inner)
		if m != nil && (m[1] == "self" || isObject(m[1])) && slices.Contains(sections, m[2]) {
			end := len(inner)
			if strings.HasPrefix(m[4], "-") { // Text after a name is more likely than a difference.
				end -= len(m[4])
			}
			return inQuotes("${" + inner[:end] + "}" + inner[end:])
		}
	}
	return ""
}

// inQuotes returns a YAML value in quotes, double ones if possible, because they
// are usual.
func inQuotes(value string) string {
	if strings.ContainsAny(value, `"\`) {
		return Quoted(value)
	}
	return `"` + value + `"`
}

// DidYouMean returns a suggestion for a misspelt word, to append to a message.
func DidYouMean(word string, names []string) string {
	if near := Nearest(word, names); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// Nearest returns the name that a misspelt word probably means, or "".
func Nearest(word string, names []string) string {
	near, _ := nearest(word, slices.Values(names))
	return near
}

// nearest returns the nearest name, and how many names it compared. Among equally near
// names the first by alphabet wins, independent of their order.
func nearest(word string, names iter.Seq[string]) (best string, compared int) {
	d := distances{word: []rune(word)}
	length := len(d.word)
	bestDistance := min(length, 2+length/3)
	for name := range names {
		compared++
		if apart := utf8.RuneCountInString(name) - length; max(apart, -apart) > bestDistance {
			continue
		}
		n := d.to(name)
		if n > 0 && (n < bestDistance || n == bestDistance && best != "" && name < best) {
			best, bestDistance = name, n
		}
	}
	return best, compared
}

// maxCompared is the number of names that a Suggester compares.
const maxCompared = 200_000

// A Suggester suggests names for misspelt words until it has compared many. A report
// shows the first errors only, and comparing every word of a large file with every name
// takes minutes.
type Suggester struct{ compared int }

// Suggest is the function Suggest, but returns "" once too many names are compared.
func (s *Suggester) Suggest(word string, names iter.Seq[string]) string {
	if !s.Compare(0) {
		return ""
	}
	near, compared := nearest(word, names)
	s.Compare(compared)
	return didYouMean(near)
}

// Compare counts n more comparisons, and reports whether they are not too many.
func (s *Suggester) Compare(n int) bool {
	s.compared += n
	return s.compared <= maxCompared
}

// distances compares a word with names.
type distances struct {
	word, name []rune
	rows       [3][]int
}

// to counts the letters to replace, remove, insert or swap with the next to get a name.
func (d *distances) to(name string) int {
	d.name = d.name[:0]
	for _, r := range name {
		d.name = append(d.name, r)
	}
	a, b := d.word, d.name
	for i := range d.rows {
		d.rows[i] = slices.Grow(d.rows[i][:0], len(b)+1)[:len(b)+1]
	}
	for j := range d.rows[1] {
		d.rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, now := d.rows[(i+2)%3], d.rows[i%3], d.rows[(i+1)%3]
		now[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
	}
	return d.rows[(len(a)+1)%3][len(b)]
}

// Suggest returns "did you mean 'x'?" for the nearest option, or "".
func Suggest(word string, options []string) string { return didYouMean(Nearest(word, options)) }

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "did you mean '" + name + "'?"
}

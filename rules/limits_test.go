package rules

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"reconcel/test/cputime"
	"reconcel/test/race"
)

// These limit one rendering, whatever the values are.
const (
	mostCPU      = 300 * time.Millisecond
	mostLargeCPU = 5 * mostCPU // with the highest limit on objects; less than the time that a rule gets
	mostMemory   = 100 << 20
)

// limited puts an expression where no other limit applies, beside the lets that it needs.
func limited(expression string, lets ...string) string {
	out := "- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n"
	if len(lets) > 0 {
		out += "  let:\n"
	}
	for _, l := range lets {
		out += "    " + l + "\n"
	}
	return out + "  status:\n    x: " + quoteJSON("${"+expression+"}") + "\n"
}

// chain makes lets that each at least double the previous one.
func chain(n int, first, next string) (lets []string) {
	lets = append(lets, "l0: "+quoteJSON(first))
	for i := range n {
		lets = append(lets, fmt.Sprintf("l%d: %s", i+1, quoteJSON(strings.ReplaceAll(next, "x", fmt.Sprintf("l%d", i)))))
	}
	return lets
}

// failing returns fields that read one that is missing.
func failing(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "f%d: '${self.spec.nope}', ", i)
	}
	return b.String()
}

func childOf(body string) string {
	return "- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n  children:\n  - id: c\n" + body
}

func hostile() object {
	numbers, zeros, wide := list{}, list{}, object{}
	for i := range int64(300_000) {
		numbers = append(numbers, i)
		zeros = append(zeros, int64(0))
	}
	for i := range 50_000 {
		wide[fmt.Sprintf("key-%d", i)] = "v"
	}
	return object{"metadata": object{"name": "p", "namespace": "ns", "uid": "u"}, "spec": object{
		"text": strings.Repeat("a", 1_000_000), "list": make(list, 400), "numbers": numbers, "zeros": zeros, "wide": wide,
		"json": "[" + strings.Repeat("0,", 400_000) + "0]", "deep": strings.Repeat("[", 500_000), "digits": strings.Repeat("9", 1_000_000),
		"pattern": strings.Repeat("(.*a){9}", 100), "huge": "1e999999999", "n": int64(1_000_000_000), "comma": strings.Repeat(",", 1_000_000),
	}}
}

const (
	overLargeBudget = `the loops of the rule cost more than their budget of 1600000 units`
	overBudget      = `the loops of the rule cost more than their budget of 400000 units`
	tooMuchToSee    = ` has too much to process: the expressions of a rule may process 2000000 values`
)

var attacks = map[string]struct{ rule, want string }{
	"nested":             {limited(`self.spec.list.all(a, self.spec.list.all(b, self.spec.list.all(c, self.spec.list.all(d, self.spec.list.all(e, self.spec.list.all(f, self.spec.list.all(g, self.spec.list.all(h, a == h))))))))`), overBudget},
	"replace":            {limited(`self.spec.text.replace("a", self.spec.text)`), `replace() would make more than 256 KiB of text`},
	"range":              {limited(`lists.range(self.spec.n)`), `lists.range() would make more than 500 elements; the maxObjects of a child allows up to 5000`},
	"filters":            {limited(`lists.range(500).filter(a, lists.range(500).filter(b, lists.range(500).exists(c, a + b == c && c > 1000)).size() > 0)`), overBudget},
	"equalSmall":         {limited(`lists.range(500).map(a, lists.range(500).map(b, x == x)).size()`, `x: "lists.range(480).map(i, dyn(i))"`), `'=='` + tooMuchToSee},
	"stringChain":        {limited(`l30`, chain(30, `self.spec.text`, `x + x`)...), `'+' would make more than 256 KiB of text`},
	"bytesChain":         {limited(`size(l12)`, chain(12, `bytes(self.spec.text)`, `x + x`)...), `'+' would make more than 256 KiB of bytes`},
	"listChain":          {limited(`size(l30)`, chain(30, `[self]`, `x + x`)...), `'+' would make a list of more than 100000 elements`},
	"regexLarge":         {limited(`self.spec.text.matches(self.spec.pattern + "b")`), `matches()` + tooMuchToSee},
	"regexConst":         {limited(`self.spec.text.matches("(.*a){300}(.*a){300}b")`), `matches()` + tooMuchToSee},
	"regexFind":          {limited(`self.spec.text.find(self.spec.pattern + "b")`), `find()` + tooMuchToSee},
	"regexFindAll":       {limited(`self.spec.text.findAll(".").size()`), `findAll()` + tooMuchToSee},
	"split":              {limited(`self.spec.comma.split(",").size()`), ``},
	"splits":             {limited(`lists.range(500).map(i, self.spec.comma.split(",")).size()`), `split()` + tooMuchToSee},
	"deepJSON":           {limited(`json.unmarshal(self.spec.deep)`), `json.unmarshal(): the text is not JSON`},
	"jsonLoop":           {limited(`lists.range(500).map(i, json.unmarshal(string(self.spec.json))).size()`), overBudget},
	"yamlTokens":         {limited(`yaml.unmarshal("[" + self.spec.comma.substring(0, 120000).replace(",", "a,") + "]").size()`), ``},
	"yamlLines":          {limited(`yaml.unmarshal(self.spec.comma.substring(0, 60000).replace(",", "- \n")).size()`), ``},
	"yamlMaps":           {limited(`yaml.unmarshal(self.spec.comma.substring(0, 40000).replace(",", "- a: \n")).size()`), ``},
	"yamlDeep":           {limited(`yaml.unmarshal(self.spec.deep.substring(0, 240000))`), `is not valid YAML`},
	"yamlDeepBlock":      {limited(`yaml.unmarshal(self.spec.comma.substring(0, 120000).replace(",", "- "))`), `yaml.unmarshal()`},
	"yamlLarge":          {limited(`yaml.unmarshal(self.spec.text)`), `yaml.unmarshal()` + tooMuchToSee},
	"yamlReadLoop":       {limited(`lists.range(500).map(i, lists.range(500).map(j, yaml.unmarshal(x))).size()`, `x: "'[a, {b: [1, 2, 3], c: x}, y, z]'"`), `yaml.unmarshal()` + tooMuchToSee},
	"yamlSmallLoop":      {limited(`lists.range(500).map(i, lists.range(500).map(j, yaml.unmarshal("a"))).size()`), `yaml.unmarshal()` + tooMuchToSee},
	"yamlBadLoop":        {limited(`lists.range(500).map(i, lists.range(500).exists(j, yaml.unmarshal(x) == 1) || true).size()`, `x: "'[a, {b: [1, 2, 3], c: x}, y, z'"`), ``},
	"yamlBombLoop":       {limited(`lists.range(500).map(i, lists.range(500).map(j, yaml.unmarshal("a: &a [1,1,1,1]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c,*c]"))).size()`), `yaml.unmarshal()` + tooMuchToSee},
	"yamlMergeLoop":      {limited(`lists.range(500).map(i, lists.range(500).map(j, yaml.unmarshal(x + y))).size()`, `x: "'a: &a {' + lists.range(300).map(i, 'k' + string(i) + ': 1').join(', ') + '}'"`, `y: "'\\nb: {<<: *a}\\nc: {<<: *a}\\nd: {<<: *a}'"`), `yaml.unmarshal()` + tooMuchToSee},
	"extractLoop":        {limited(`lists.range(500).map(i, lists.range(500).map(j, regex.extract(x, "(b|a?)*c"))).size()`, `x: "string(self.spec.text.substring(0, 100))"`), `regex.extract()` + tooMuchToSee},
	"extractEmpty":       {limited(`lists.range(500).map(i, lists.range(500).map(j, regex.extract("", "a"))).size()`), overBudget},
	"extractCompile":     {limited(`lists.range(500).map(i, lists.range(500).map(j, regex.extract("", "(a{300}|b{200}c)*"))).size()`), `regex.extract()` + tooMuchToSee},
	"extractClasses":     {limited(`lists.range(500).map(i, lists.range(500).map(j, regex.extract("", r"[\pL\d][\PN\s][\pL\d][\PN\s]"))).size()`), `regex.extract()` + tooMuchToSee},
	"extractLarge":       {limited(`regex.extract(self.spec.text, "(?:b|a?)*(?:b|a?)*c")`), `regex.extract()` + tooMuchToSee},
	"regexCompile":       {limited(`lists.range(500).map(i, lists.range(500).map(j, "".matches(r"[\pL\d][\PN\s][\pL\d][\PN\s]" + string(j)))).size()`), `matches()` + tooMuchToSee},
	"regexFlags":         {limited(`lists.range(500).map(i, lists.range(500).map(j, "".matches(r"(?i)[\pL\d][\PN\s][\pL\d][\PN\s]" + string(j)))).size()`), `matches()` + tooMuchToSee},
	"regexAbsorbed":      {limited(`lists.range(500).exists(i, lists.range(500).exists(j, "".matches(r"(?i)[B-\x{1E942}]" + string(j))) || true) || true`), ``},
	"regexParsed":        {limited(`lists.range(500).map(i, lists.range(500).exists(j, "".matches(r"((a{30}){30}b)*" + string(j))) || true).size()`), ``},
	"regexFold":          {limited(`lists.range(500).map(i, lists.range(500).map(j, "".matches(r"(?i)[B-\x{1E942}]" + string(j)))).size()`), `matches()` + tooMuchToSee},
	"regexFoldMany":      {limited(`"".matches("(?i)" + self.spec.comma.substring(0, 300).replace(",", r"[B-\x{1E942}]"))`), `matches()` + tooMuchToSee},
	"extractFold":        {limited(`lists.range(500).map(i, lists.range(500).map(j, regex.extract("", "(?i)[B-\U0001E942]"))).size()`), `regex.extract()` + tooMuchToSee},
	"extractHonest":      {limited(`regex.extract(self.spec.text.substring(0, 250000), "a*(b)")`), ``},
	"extractAllLarge":    {limited(`regex.extractAll(self.spec.text, ".").size()`), `regex.extractAll()` + tooMuchToSee},
	"extractAllMost":     {limited(`regex.extractAll(self.spec.text.substring(0, 300000), "(.)").size()`), ``},
	"regexReplace":       {limited(`regex.replace(self.spec.text.substring(0, 100000), "a", "bbbb")`), `regex.replace() would make more than 256 KiB of text`},
	"regexReplaceRef":    {limited(`regex.replace(self.spec.text.substring(0, 100000), "(a+)", r"\1\1\1\1")`), `regex.replace() would make more than 256 KiB of text`},
	"regexReplaceMost":   {limited(`regex.replace(self.spec.text.substring(0, 120000), "(a)", r"\1b").size()`), ``},
	"regexReplaceGroups": {limited(`regex.replace(self.spec.text.substring(0, 20000), "` + strings.Repeat("()", 100) + `(a)", "b").size()`), `regex.replace()` + tooMuchToSee},
	"regexReplaceNested": {limited(`regex.replace(self.spec.text.substring(0, 2000), "` + strings.Repeat("(", 30) + "a?" + strings.Repeat(")*", 30) + `b", "b").size()`), ``},
	"regexReplaceLoop":   {limited(`lists.range(500).map(i, lists.range(500).map(j, regex.replace(x, "(a)(b)?", "c"))).size()`, `x: "string(self.spec.text.substring(0, 100))"`), `regex.replace()` + tooMuchToSee},
	"setLoop":            {limited(`lists.range(500).map(i, lists.range(500).map(j, lists.setAtIndex(self.spec.list, 0, j))).size()`), `lists.setAtIndex()` + tooMuchToSee},
	"setNested":          {limited(`lists.range(500).map(i, lists.setAtIndex(lists.range(500).map(j, lists.setAtIndex(lists.range(500), j, i)), 0, []).size())`), `lists.setAtIndex()` + tooMuchToSee},
	"insertLoop":         {limited(`lists.range(500).map(i, lists.insertAtIndex(self.spec.numbers, 0, i)).size()`), `lists.insertAtIndex()` + tooMuchToSee},
	"removeLoop":         {limited(`lists.range(500).map(i, lists.removeAtIndex(self.spec.numbers, i)).size()`), `lists.removeAtIndex()` + tooMuchToSee},
	"removeSmall":        {limited(`lists.range(500).map(i, lists.range(500).map(j, lists.removeAtIndex([1, 2], 0))).size()`), overBudget},
	"seededLoop":         {limited(`lists.range(500).map(i, lists.range(500).map(j, random.seededString(253, x))).size()`, `x: "string(self.spec.text.substring(0, 900))"`), overBudget},
	"seededInts":         {limited(`lists.range(500).map(i, lists.range(500).map(j, random.seededInt(0, 9, string(self.spec.text)))).size()`), overBudget},
	"escape":             {limited(`url.escape(self.spec.comma)`), `url.escape() would make more than 256 KiB of text`},
	"escapeLoop":         {limited(`lists.range(500).map(i, lists.range(500).map(j, url.escape(x))).size()`, `x: "string(self.spec.comma.substring(0, 900))"`), overBudget},
	"quantityText":       {limited(`lists.range(500).map(i, lists.range(500).map(j, string(x))).size()`, `x: 'quantity("1e90").add(1)'`), overBudget},
	"quantityZeros":      {limited(`lists.range(500).map(i, lists.range(500).map(j, string(x))).size()`, `x: 'quantity("1e90").add(quantity("1e9")).sub(1000000000)'`), overBudget},
	"quantityAdd":        {limited(`lists.range(500).map(i, lists.range(500).map(j, x.add(x))).size()`, `x: 'quantity("1e90").add(1)'`), overBudget},
	"quantityDigits":     {limited(`quantity("1e9000").isGreaterThan(quantity("1"))`), `quantity(): the number has more than 100 digits`},
	"quantitySums":       {limited(`lists.range(500).map(i, lists.range(500).map(j, x.sum())).size()`, `x: 'lists.range(500).map(i, quantity("1e90").add(i))'`), `sum()` + tooMuchToSee},
	"hashLoop":           {limited(`lists.range(500).map(i, lists.range(500).map(j, hash.sha256(string(self.spec.text)))).size()`), overBudget},
	"hashSmall":          {limited(`lists.range(500).map(i, lists.range(500).map(j, hash.sha256(x))).size()`, `x: "string(self.spec.text.substring(0, 900))"`), overBudget},
	"marshalLoop":        {limited(`lists.range(500).map(i, lists.range(500).map(j, json.marshal(self.spec.list))).size()`), overBudget},
	"yamlLoop":           {limited(`lists.range(500).map(i, yaml.marshal(self.spec.list)).size()`), `yaml.marshal()` + tooMuchToSee},
	"base64Loop":         {limited(`lists.range(500).map(i, base64.encode(bytes(string(self.spec.text)))).size()`), overBudget},
	"upperLoop":          {limited(`lists.range(500).map(i, string(self.spec.text).upperAscii()).size()`), overBudget},
	"quoteLoop":          {limited(`lists.range(500).map(i, strings.quote(string(self.spec.text))).size()`), overBudget},
	"bytesLoop":          {limited(`lists.range(500).map(i, bytes(string(self.spec.text))).size()`), overBudget},
	"reverseLoop":        {limited(`lists.range(500).map(i, self.spec.numbers.reverse()).size()`), `reverse()` + tooMuchToSee},
	"sliceLoop":          {limited(`lists.range(500).map(i, self.spec.numbers.slice(0, 299999)).size()`), `slice()` + tooMuchToSee},
	"mergeLoop":          {limited(`lists.range(500).map(i, merge(self.spec.wide, {"a": i})).size()`), `merge()` + tooMuchToSee},
	"deepMergeLoop":      {limited(`lists.range(500).map(i, deepMerge(self.spec.wide, {"a": i})).size()`), `deepMerge()` + tooMuchToSee},
	"quantity":           {limited(`quantity(self.spec.digits).isGreaterThan(quantity("1"))`), `quantity()` + tooMuchToSee},
	"quantityExp":        {limited(`quantity(self.spec.huge).add(quantity("1")).isGreaterThan(quantity("1"))`), `quantity()` + tooMuchToSee},
	"quantityNeg":        {limited(`quantity("1e-999999999").add(quantity("1")).isGreaterThan(quantity("1"))`), `quantity()` + tooMuchToSee},
	"sumLoop":            {limited(`lists.range(500).map(i, lists.range(500).map(j, self.spec.numbers.sum())).size()`), `sum()` + tooMuchToSee},
	"sortBy":             {limited(`self.spec.numbers.sortBy(n, -n).size()`), `a loop runs over at most 10000 elements`},
	"selector": {"- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n  let:\n    " + strings.Join(chain(9, `[self.spec.list]`, `[x,x,x,x,x,x,x,x,x,x]`), "\n    ") +
		"\n  lookups: [{id: all, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {a: '${l9}'}}}]\n  status: {x: '${all.size()}'}\n", `lookups.all: selector: the result is too large`},
	"labels": {childOf("    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: '${lists.range(500).transformMapEntry(i, v, {string(i): self.spec.text})}'}}\n"), `child "c": metadata.labels: the object is larger than 1 MiB`},
	"secret": {childOf("    template: {apiVersion: v1, kind: Secret, metadata: {name: c}, stringData: '${lists.range(500).transformMapEntry(i, v, {string(i): self.spec.text})}'}\n"), `child "c": stringData: the object is larger than 1 MiB`},
	"text":   {childOf("    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {x: '" + strings.Repeat("-${self.spec.text}", 300) + "'}}\n"), `child "c": data.x: the object is larger than 1 MiB`},
	"product": {childOf("    forEach: [{name: a, in: self.spec.numbers}, {name: b, in: self.spec.numbers}, {name: d, in: '[]'}]\n" +
		"    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: 'c-${a}-${b}-${d}'}}\n"), `child "c": forEach: the lists have too many combinations`},
	"elements":          {childOf("    forEach: [{name: a, in: self.spec.numbers}]\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: 'c-${a}'}}\n"), `child "c": forEach: more than 500 objects`},
	"patternLong":       {limited(`self.spec.json.matches(self.spec.text)`), `matches()` + tooMuchToSee},
	"annotations":       {childOf("    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: {a: '${self.spec.text.substring(0, 300000)}'}}}\n"), `child "c": template: the annotations are larger than 256 KiB`},
	"status":            {limited(`self.spec.text + ""`), "'+' would make more than 256 KiB of text"},
	"statusLarge":       {limited(`[self.spec.text, self.spec.text]`), `status.x: the object is larger than 1 MiB`},
	"patch":             {"- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n  patch: {metadata: {annotations: {a: '${self.spec.text}-${self.spec.text}'}}}\n", `patch.metadata.annotations.a: the object is larger than 1 MiB`},
	"ignored":           {childOf("    forEach: [{name: a, in: lists.range(500)}]\n    ignoreFields: [data.x]\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: 'c-${a}'}, data: {x: '${self.spec.text}'}}\n"), `the objects of one resource are together larger than 16 MiB`},
	"condition":         {"- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n  conditions:\n  - {type: Up, when: '1 > 2', message: '${self.spec.text}'}\n", `condition "Up": message: is longer than 32768 characters`},
	"conditions":        {conditionsOf("forEach: {n: self.spec.numbers}, type: 'N${n}'", "''"), `condition "N${n}": forEach: more than 100 conditions for one resource`},
	"conditionProduct":  {conditionsOf("forEach: {a: self.spec.numbers, b: self.spec.numbers, d: '[]'}, type: 'N${a}-${b}-${d}'", "''"), `condition "N${a}-${b}-${d}": forEach: the lists have too many combinations`},
	"conditionTypes":    {conditionsOf("forEach: {n: lists.range(100)}, type: 'N${n}-${self.spec.text}'", "''"), `condition "N${n}-${self.spec.text}"[0]: type: `},
	"conditionTexts":    {conditionsOf("forEach: {n: lists.range(100)}, type: 'N${n}'", strings.Repeat("-${self.spec.text}", 30)), `condition "N${n}"[0]: message: `},
	"conditionSizes":    {conditionsOf("forEach: {n: lists.range(100)}, type: 'N${n}'", "${x}") + "  let: {x: 'self.spec.text.substring(0, 30000)'}\n", `the conditions of one resource are together larger than 1 MiB`},
	"conditionParts":    {conditionsOf("forEach: {n: lists.range(100)}, type: '"+strings.Repeat("${n}", 9000)+"'", "''"), `type: is longer than 316 characters`},
	"conditionSame":     {conditionsOf("forEach: {n: lists.range(100)}, type: 'N${n > 1000}'", "${x}") + "  let: {x: 'self.spec.text.substring(0, 3000)'}\n", `condition "N${n > 1000}"[0] of rule "r" has the same type`},
	"conditionFailures": {"- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n  conditions:\n" + strings.Repeat("  - {forEach: {n: self.spec.text}, type: 'N${n}', when: true}\n", 3000), `must be a list, got string`},
	"statusFailures":    {"- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n  status: {" + failing(9000) + "}\n", `no such key: nope`},
	"conditionLoops":    {conditionsOf("forEach: {n: lists.range(100)}, type: 'N${n}'", "${string(lists.range(500).filter(j, self.spec.list.exists(i, i == n)).size())}"), overBudget},
	"sortLoop":          {limited(`lists.range(500).map(i, self.spec.numbers.map(n, n).sort()).size()`), `a loop runs over at most 10000 elements`},
	"escapes":           {childOf("    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {x: '" + strings.Repeat("${self.spec.text.substring(0, 200000)}", 300) + "'}}\n"), `child "c": data.x: the object is larger than 1 MiB`},
	"formats":           {limited(`lists.range(500).map(i, lists.range(500).map(j, "%s %s".format([string(self.spec.text.substring(0, 30000)), j]))).size()`), overBudget},
	"manyLets":          {limited(`size(l60)`, chain(60, `lists.range(500).map(i, i)`, `x.map(i, string(i) + "a")`)...), overBudget},
	"whenLoops":         {childOf("    forEach: [{name: a, in: lists.range(500)}]\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: 'c-${a}'}, data: {x: '${string(self.spec.list.filter(i, i == a).size())}'}}\n"), overBudget},
	"replicas":          {childOf("    replicas: self.spec.n\n    onChange: replace\n    template: {apiVersion: v1, kind: Pod, metadata: {generateName: c-}}\n"), `child "c": replicas: must be at least 0 and at most 500`},
	"large":             {childOf("    forEach: [{name: a, in: lists.range(500)}]\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: 'c-${a}'}, data: {x: '${self.spec.text}'}}\n"), `the objects of one resource are together larger than 16 MiB`},
	"message":           {"- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n  validate:\n" + strings.Repeat("  - {expression: '1 > 2', message: '${self.spec.text}'}\n", 300), `…`},
	"lookups": {"- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n  lookups: [{id: all, apiVersion: v1, kind: ConfigMap, selector: {}}]\n" +
		"  status: {x: '${all.map(a, a.metadata.name).size()}', y: '${all.filter(a, all.exists(b, b.metadata.name == a.metadata.name + \"x\")).size()}'}\n", overBudget},
}

// conditionsOf is a rule with one condition.
func conditionsOf(keys, message string) string {
	return "- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n  conditions:\n  - {" + keys + ", when: '1 > 2', message: \"" + message + "\"}\n"
}

// largeOf is a child with a higher limit on its objects.
func largeOf(id string, body string) string {
	return "  - id: " + id + "\n    maxObjects: 5000\n" + body
}

const largeRule = "- name: r\n  for: {apiVersion: example.com/v1, kind: Primary}\n"

// named is a template of objects with a name.
func objectNamed(name, data string) string {
	return "    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '" + name + "'}, data: {x: '" + data + "'}}\n"
}

// largeAttacks are those with the highest limit on objects. Their loops may cost four times as much, and their memory is the same.
var largeAttacks = map[string]struct{ rule, want string }{
	"several": {largeRule + "  children:\n" + largeOf("a", "    forEach: {n: lists.range(4000)}\n"+objectNamed("a-${n}", "x")) +
		largeOf("b", "    forEach: {n: lists.range(4000)}\n"+objectNamed("b-${n}", "x")) + largeOf("c", "    replicas: 5000\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {generateName: c-}}\n"),
		`child "b": forEach: more than 5000 objects for one resource`},
	"elements": {largeRule + "  children:\n" + largeOf("a", "    forEach: {n: self.spec.numbers}\n"+objectNamed("a-${n}", "x")), `child "a": forEach: more than 5000 objects`},
	"nested": {largeRule + "  children:\n" + largeOf("a", "    forEach: {n: lists.range(5000), m: 'lists.range(n == 4999 ? 5000 : 0)', k: lists.range(m + 1)}\n"+objectNamed("a-${n}-${m}-${k}", "x")),
		`child "a": forEach: more than 5000 objects`},
	"combinations": {largeRule + "  children:\n" + largeOf("a", "    forEach: {n: lists.range(5000), m: lists.range(5000), k: '[]'}\n"+objectNamed("a-${n}-${m}-${k}", "x")),
		`child "a": forEach: the lists have too many combinations`},
	"loops":  {largeRule + "  children:\n" + largeOf("a", "    forEach: {n: lists.range(5000)}\n"+objectNamed("a-${n}", "${string(self.spec.list.filter(i, i == n).size())}")), overLargeBudget},
	"ranges": {largeRule + "  children:\n" + largeOf("a", "    forEach: {n: 'lists.range(5000).map(i, lists.range(5000).size())'}\n"+objectNamed("a-${n}", "x")), `lists.range()` + tooMuchToSee},
	"chain": {largeRule + "  let:\n    " + strings.Join(chain(60, `lists.range(5000).map(i, i)`, `x.map(i, string(i) + "a")`), "\n    ") + "\n  children:\n" +
		largeOf("a", "    forEach: {n: l60}\n"+objectNamed("a-${n}", "x")), overLargeBudget},
	"bytes":  {largeRule + "  children:\n" + largeOf("a", "    forEach: {n: lists.range(5000)}\n"+objectNamed("a-${n}", "${self.spec.text}")), `the objects of one resource are together larger than 16 MiB`},
	"merges": {largeRule + "  children:\n" + largeOf("a", "    forEach: {n: lists.range(5000)}\n"+objectNamed("a-${n}", `${string(merge(self.spec.wide, {"a": n}).size())}`)), `merge()` + tooMuchToSee},
}

// hostileInput is a hostile primary in a large namespace.
func hostileInput() Input {
	all := make([]map[string]any, 10_000)
	for i := range all {
		all[i] = object{"metadata": object{"name": fmt.Sprintf("o-%d", i)}}
	}
	return Input{Self: hostile(), Lookup: func(*Lookup, Query) ([]map[string]any, error) { return all, nil }}
}

// TestAttacks renders rules that would take gigabytes or minutes, or never end. It
// measures CPU time, which depends little on other programs. The weights of functions in
// package expr were chosen with what "go test -v -run TestAttacks ./rules" prints.
func TestAttacks(t *testing.T) {
	race.Skip(t)
	in := hostileInput()
	for name, a := range attacks {
		t.Run(name, func(t *testing.T) { attack(t, in, a.rule, a.want, mostCPU) })
	}
}

// TestLargeAttacks is TestAttacks for rules with the highest limit on objects.
func TestLargeAttacks(t *testing.T) {
	race.Skip(t)
	in := hostileInput()
	for name, a := range largeAttacks {
		t.Run(name, func(t *testing.T) { attack(t, in, a.rule, a.want, mostLargeCPU) })
	}
}

// attack renders a hostile rule.
func attack(t *testing.T, in Input, rule, want string, most time.Duration) {
	t.Helper()
	p := mustLoad(t, rule)
	var out *Rendering
	cpu, memory := measure(most, func() {
		out = new(Rendering)
		p.Primaries()[0].Render(in, out)
	})
	got := complaint(out)
	if !strings.Contains(got, want) || want != "" && !strings.Contains(got, `rule "r": `) && !strings.Contains(got, "…") {
		t.Errorf("got %.500s\nwant %s", got, want)
	}
	if cpu > most || memory > mostMemory {
		t.Errorf("took %v and %d MiB", cpu, memory>>20)
	}
	t.Logf("%v, %d MiB: %.300s", cpu.Round(time.Millisecond), memory>>20, got)
}

// measure returns the lowest CPU time and memory use of f in a few runs. It tries more often while the time is above a
// limit, because other programs slow the processor down.
func measure(limit time.Duration, f func()) (cpu time.Duration, memory uint64) {
	for i := range 10 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := cputime.Used()
		f()
		took := cputime.Used() - start
		runtime.ReadMemStats(&after)
		if i == 0 || took < cpu {
			cpu = took
		}
		memory = after.TotalAlloc - before.TotalAlloc
		if cpu < mostCPU/2 || i >= 2 && cpu < limit {
			break
		}
	}
	return cpu, memory
}

// complaint returns the first error of a rendering.
func complaint(out *Rendering) string {
	r := &out.Rules[0]
	for _, f := range []*Failure{r.Err, r.StatusErr, r.PatchErr} {
		if f != nil {
			return f.Message
		}
	}
	for i := range r.Children {
		c := &r.Children[i]
		if c.Err != nil {
			return c.Err.Message
		}
		for j := range c.Objects {
			if err := c.Objects[j].Err; err != nil {
				return err.Message
			}
		}
	}
	return ""
}

// TestTimeout requires that the timeout ends the loops of a rule, and of that rule only.
func TestTimeout(t *testing.T) {
	rule := func(name, expression string) string {
		return strings.ReplaceAll(strings.ReplaceAll(limited(expression), "name: r\n", "name: "+name+"\n"), "x: ", "x"+name+": ")
	}
	p := mustLoad(t, rule("a", `self.spec.list.map(i, 1).size()`)+rule("b", `self.spec.list.size()`))
	in := Input{Self: object{"metadata": object{"name": "p"}, "spec": object{"list": make(list, 400)}}, Timeout: 1}
	var out Rendering
	p.Primaries()[0].Render(in, &out)
	a, b := &out.Rules[0], &out.Rules[1]
	if a.StatusErr == nil || !strings.HasSuffix(a.StatusErr.Message, `rule "a": status.xa: the loops of the rule ran out of time: loop over less, or compute what repeats once, in let`) || !a.TimedOut {
		t.Errorf("%v, timed out %v", a.StatusErr, a.TimedOut)
	}
	if b.StatusErr != nil || b.TimedOut || string(b.Status) != `{"xb":400}` {
		t.Errorf("%v, timed out %v, %s", b.StatusErr, b.TimedOut, b.Status)
	}
	in.Timeout = time.Hour
	p.Primaries()[0].Render(in, &out)
	if a := &out.Rules[0]; a.StatusErr != nil || a.TimedOut || string(a.Status) != `{"xa":400}` {
		t.Errorf("%v, timed out %v, %s", a.StatusErr, a.TimedOut, a.Status)
	}
}

// TestHonestRules requires that ordinary rules stay far below the limits.
func TestHonestRules(t *testing.T) {
	in := Input{Self: object{"metadata": object{"name": "p", "namespace": "ns"}, "spec": object{"names": list{}, "text": strings.Repeat("a", 10_000)}}}
	spec := in.Self["spec"].(object)
	for i := range 500 {
		spec["names"] = append(spec["names"].(list), fmt.Sprintf("name-%d", i))
	}
	pods := make([]map[string]any, 2000)
	for i := range pods {
		pods[i] = object{"metadata": object{"name": fmt.Sprintf("p-%d", i), "labels": object{"app": "x"}}, "status": object{"phase": "Running"}}
	}
	in.Lookup = func(*Lookup, Query) ([]map[string]any, error) { return pods, nil }
	p := mustLoad(t, `
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  let:
    running: 'pods.filter(p, p.status.phase == "Running").map(p, p.metadata.name).sort()'
    labels: 'merge({"a": "b"}, {"c": "d"})'
  lookups: [{id: pods, apiVersion: v1, kind: Pod, selector: {}}]
  validate:
  - expression: self.spec.names.all(n, n.matches("^[a-z][a-z0-9-]{0,61}[a-z0-9]$"))
  - expression: self.spec.names.slice(0, 200).all(n, self.spec.names.slice(0, 200).exists_one(m, m == n))
  - expression: self.spec.names.distinct().size() == self.spec.names.size()
  - expression: quantity("100Mi").isGreaterThan(quantity("1e6"))
  - expression: self.spec.names.all(n, regex.replace(n, r"^(\w+)-(\d+)$", r"\2-\1") != regex.extract(n, r"-(\d+)$").orValue(""))
  - expression: self.spec.names.map(n, quantity("1500m")).sum() == quantity("750")
  - expression: 'self.spec.names.slice(0, 100).all(n, yaml.unmarshal("name: " + n + "\nports: [80, 443]").ports.size() == 2)'
  - expression: self.spec.names.slice(0, 100).all(n, lists.setAtIndex([n, n], 0, url.escape(n))[1] == n && random.seededString(8, n) != n)
  children:
  - id: c
    forEach: [{name: n, in: self.spec.names}]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: '${n}', labels: '${labels}', annotations: {hash: '${hash.sha256(json.marshal(self.spec))}'}}
      data: {text: '${self.spec.text}', first: '${running[0]}', names: '${self.spec.names.join(",")}'}
  status: {pods: '${running.size()}', unready: '${pods.filter(p, p.status.phase != "Running").size()}', other: '${pods.exists(p, p.metadata.name == "x")}'}
`)
	var out Rendering
	p.Primaries()[0].Render(in, &out)
	if got := complaint(&out); got != "" {
		t.Error(got)
	}
}

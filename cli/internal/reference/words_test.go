package reference

import (
	"testing"

	"reconcel/rules"
	"reconcel/rules/source"
)

// rule is a rule in which expressions have something to read.
const rule = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
define:
  done(job map): isTrue(job, "Complete") && job.status.succeeded > 0
  suffix(w map): '"-" + w.name'
rules:
- name: shop
  for: {apiVersion: example.com/v1, kind: Shop}
  let:
    public: has(self.spec.host) && self.spec.?internal.orValue(false) == false
    version: hash.fnv64a(self.spec.image)
    base: self.metadata.name + "-web"
    big: self.spec.items.map(i, i.size).sum() > 10
  lookups:
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: "${self.spec.settings}"}
  children:
  - id: web
    forEach: {w: self.spec.workers}
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${base}${suffix(w)}"}
`

func shop(t *testing.T) *ruleView {
	t.Helper()
	loaded := rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(rule)}})
	if err := loaded.Errors.Err(); err != nil {
		t.Fatal(err)
	}
	return newRuleView(loaded.Program.Primaries()[0].Rules[0], loaded.File.Rules[0], Source{})
}

func TestConditionsAreToldInWords(t *testing.T) {
	v := shop(t)
	for expression, want := range map[string]string{
		`has(self.spec.host)`:                            "`spec.host` is set",
		`!has(self.spec.host)`:                           "`spec.host` is not set",
		`self.spec.?host.hasValue()`:                     "`spec.host` is set",
		`self.spec.enabled`:                              "`spec.enabled` is true",
		`!self.spec.enabled`:                             "`spec.enabled` is false",
		`self.spec.?enabled.orValue(false)`:              "`spec.enabled` is true",
		`self.spec.?enabled.orValue(true)`:               "`spec.enabled` is true or not set",
		`!self.spec.?enabled.orValue(false)`:             "`spec.enabled` is false or not set",
		`self.spec.size == "small"`:                      "`spec.size` is `\"small\"`",
		`!(self.spec.size == "small")`:                   "`spec.size` is not `\"small\"`",
		`self.spec.?size.orValue("small") == "small"`:    "`spec.size` is `\"small\"` or not set",
		`self.spec.?size.orValue("small") != "small"`:    "`spec.size` is not `\"small\"`",
		`self.spec.?size.orValue("large") != "small"`:    "`spec.size` is not `\"small\"` or not set",
		`self.spec.replicas > 0`:                         "`spec.replicas` is more than `0`",
		`!(self.spec.replicas > 2)`:                      "`spec.replicas` is at most `2`",
		`self.spec.?replicas.orValue(0) > 0`:             "`spec.replicas` is more than `0`",
		`self.spec.min <= self.spec.max`:                 "`spec.min` is at most `spec.max`",
		`size(self.spec.items) > 0`:                      "`spec.items` is not empty",
		`size(self.spec.items) == 0`:                     "`spec.items` is empty",
		`!(size(self.spec.items) == 0)`:                  "`spec.items` is not empty",
		`size(self.spec.items) >= 3`:                     "the length of `spec.items` is at least `3`",
		`self.spec.size in ["s", "m"]`:                   "`spec.size` is `\"s\"` or `\"m\"`",
		`!(self.spec.size in self.spec.sizes)`:           "`spec.size` is not in `spec.sizes`",
		`self.spec.name.startsWith("a")`:                 "`spec.name` begins with `a`",
		`!self.spec.name.matches("^a|b$")`:               "`spec.name` does not match `^a|b$`",
		`label(self, "tier").orValue("") == "web"`:       "the label `tier` of the Shop is `\"web\"`",
		`exists(settings)`:                               "the ConfigMap `<spec.settings>` exists",
		`settings.data.mode == "x"`:                      "`data.mode` of the ConfigMap `<spec.settings>` is `\"x\"`",
		`done(child)`:                                    "the condition `Complete` of the object is `True` and its `status.succeeded` is more than `0`",
		`elapsed(self.metadata.creationTimestamp, "1h")`: "`\"1h\"` has passed since `metadata.creationTimestamp`",
		`public`:  "`spec.host` is set and `spec.internal` is `false` or not set",
		`!public`: "`spec.host` is not set or `spec.internal` is not `false`",
		`self.spec.a && self.spec.b && self.spec.c`:    "`spec.a` is true, `spec.b` is true and `spec.c` is true",
		`!(self.spec.a || self.spec.b)`:                "`spec.a` is false and `spec.b` is false",
		`self.spec.a && (self.spec.b || self.spec.c)`:  "`self.spec.a && (self.spec.b || self.spec.c)` is true",
		`self.spec.a && !(self.spec.b && self.spec.c)`: "`self.spec.a && !(self.spec.b && self.spec.c)` is true",
		`w.ready`: "`w.ready` is true",
		`big`:     "`big` is true, where\n`big`: `self.spec.items.map(i, i.size).sum() > 10`",
		`self.spec.items.exists(big, big.size > 1)`:        "`self.spec.items.exists(big, big.size > 1)` is true",
		`self.metadata.labels["a.b/c"] == "d"`:             "`metadata.labels[\"a.b/c\"]` is `\"d\"`",
		`self.spec.a ? self.spec.b : settings.data.c == 1`: "`self.spec.a ? self.spec.b : settings.data.c == 1` is true, where\n`settings`: the ConfigMap `<spec.settings>`",
	} {
		if got := shown(v.words.condition(expression)); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", expression, got, want)
		}
	}
}

// TestChecksOfCRDsAreToldInWords reads self as the field that has the check.
func TestChecksOfCRDsAreToldInWords(t *testing.T) {
	for expression, want := range map[string]string{
		`self == oldSelf`:                "`spec.server` does not change",
		`self.name == oldSelf.name`:      "`spec.server.name` does not change",
		`self.size >= oldSelf.size`:      "`spec.server.size` is at least the previous `spec.server.size`",
		`has(self.a) || !has(self.b)`:    "`spec.server.a` is set or `spec.server.b` is not set",
		`self.all(x, x.startsWith("a"))`: "`self.all(x, x.startsWith(\"a\"))` is true",
	} {
		if got := shown((&phrasing{at: "spec.server"}).condition(expression)); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", expression, got, want)
		}
	}
}

func TestNamesShowWhatDiffers(t *testing.T) {
	v := shop(t)
	for expression, want := range map[string]string{
		`self.metadata.name`:                   "<name>",
		`self.metadata.namespace + "." + base`: "<namespace>.<name>-web",
		`self.spec.?account.name`:              "<spec.account.name>",
		`"a-" + string(w.count)`:               "a-<w.count>",
		`settings.metadata.name`:               "<spec.settings>",
		`web.metadata.name`:                    "<name>-web-<w.name>",
		`version`:                              "<hash.fnv64a(self.spec.image)>",
	} {
		if got := v.names.expression(expression); got != want {
			t.Errorf("%s: got %s, want %s", expression, got, want)
		}
	}
	if got, want := v.names.child(v.src.Children[0]), "<name>-web-<w.name>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestLongExpansionsEnd writes out lets that double each other.
func TestLongExpansionsEnd(t *testing.T) {
	text := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: deep\n  for: {apiVersion: example.com/v1, kind: Shop}\n  let:\n    a: self.spec.a\n"
	for letter := 'b'; letter <= 'z'; letter++ {
		text += "    " + string(letter) + ": " + string(letter-1) + " && " + string(letter-1) + "\n"
	}
	loaded := rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(text)}})
	if err := loaded.Errors.Err(); err != nil {
		t.Fatal(err)
	}
	v := newRuleView(loaded.Program.Primaries()[0].Rules[0], loaded.File.Rules[0], Source{})
	if got := shown(v.words.condition("z")); len(got) > 10_000 {
		t.Errorf("%d characters", len(got))
	}
}

// shown returns a text with backticks around code.
func shown(t Text) (all string) {
	for _, s := range t {
		switch s.Style {
		case Code:
			all += "`" + s.Text + "`"
		case Break:
			all += "\n"
		default:
			all += s.Text
		}
	}
	return all
}

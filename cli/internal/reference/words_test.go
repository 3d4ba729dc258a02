package reference

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/rules"
	"reconcel/rules/source"
)

// rule is a rule in which expressions have something to read.
const rule = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
define:
  suffix(w map): '"-" + w.name'
rules:
- name: shop
  for: {apiVersion: example.com/v1, kind: Shop}
  let:
    public: has(self.spec.host) && !has(self.spec.internal)
    version: hash.fnv64a(self.spec.image)
    name: version
    base: self.metadata.name + "-web"
    big: self.spec.items.map(i, i.size).sum() > 10
  lookups:
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: "${self.spec.settings}", namespace: "${self.spec.where}"}
  children:
  - id: web
    forEach: {w: self.spec.workers}
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${base}${suffix(w)}"}
`

func shop(t *testing.T) *wording {
	t.Helper()
	loaded := rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(rule)}})
	if err := loaded.Errors.Err(); err != nil {
		t.Fatal(err)
	}
	return newWording(loaded.File.Rules[0])
}

func TestFewConditionsAreToldInWords(t *testing.T) {
	w := shop(t)
	for expression, want := range map[string]Markdown{
		`has(self.spec.host)`:                "`spec.host` is set",
		`!has(self.spec.host)`:               "`spec.host` is not set",
		`self.spec.?host.hasValue()`:         "`spec.host` is set",
		`self.spec.enabled`:                  "`spec.enabled` is true",
		`!self.spec.enabled`:                 "`spec.enabled` is false",
		`exists(settings)`:                   "the ConfigMap `<spec.settings>` exists",
		`settings.data.ready`:                "`data.ready` of the ConfigMap `<spec.settings>` is true",
		`!isTrue(child, "Broken")`:           "the object does not have the condition `Broken`",
		`has(child.status.ready)`:            "`status.ready` of the object is set",
		`self.metadata.labels["a.b"]`:        "`metadata.labels[\"a.b\"]` is true",
		`public`:                             "`spec.host` is set and `spec.internal` is not set",
		`self.spec.size == "small"`:          "`self.spec.size == \"small\"`",
		`!(has(self.a) && has(self.b))`:      "`!(has(self.a) && has(self.b))`",
		`self.spec.items.exists(i, i.ready)`: "`self.spec.items.exists(i, i.ready)`",
		`w.ready`:                            "`w.ready`",
		`big`:                                "`self.spec.items.map(i, i.size).sum() > 10`",
	} {
		if got := w.condition(&source.Expr{Text: expression}); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", expression, got, want)
		}
	}
}

func TestNamesShowWhatDiffers(t *testing.T) {
	w := shop(t)
	for expression, want := range map[string]string{
		`self.metadata.name`:                   "<name>",
		`self.metadata.namespace + "." + base`: "<namespace>.<name>-web",
		`self.spec.?account.name`:              "<spec.account.name>",
		`w.name`:                               "<w.name>",
		`settings.metadata.name`:               "<spec.settings>",
		`settings.metadata.namespace`:          "<spec.where>",
		`web.metadata.namespace`:               "<namespace>",
		`web.metadata.name`:                    "<name>-web${suffix(w)}",
		`version`:                              "${version}",
		`name`:                                 "${hash.fnv64a(self.spec.image)}", // <name> is that of the resource.
		`settings.data.a`:                      "${settings.data.a}",
	} {
		if got := w.text(&source.Node{Kind: source.Interp, Parts: []source.Part{{Expr: &source.Expr{Text: expression}}}}); got != want {
			t.Errorf("%s: got %s, want %s", expression, got, want)
		}
	}
}

// TestNamesInExpressionsAreExplained requires what is behind lets and functions, too.
func TestNamesInExpressionsAreExplained(t *testing.T) {
	w := shop(t)
	w.condition(&source.Expr{Text: `big && settings.data.version == version && self.spec.items.all(base, base > 1)`})
	want := []Term{
		{"suffix(w map)", "`\"-\" + w.name`"}, // in the name of web
		{"big", "`self.spec.items.map(i, i.size).sum() > 10`"},
		{"settings", "the ConfigMap `<spec.settings>`"},
		{"version", "`hash.fnv64a(self.spec.image)`"},
	}
	if diff := cmp.Diff(want, w.terms()); diff != "" {
		t.Error(diff)
	}
}

// TestLongNamesEnd puts names together that double each other.
func TestLongNamesEnd(t *testing.T) {
	lets, children := "", ""
	for letter := 'b'; letter <= 'z'; letter++ {
		lets += strings.NewReplacer("X", string(letter), "W", string(letter-1)).Replace("    letX: letW + letW\n")
		children += strings.NewReplacer("X", string(letter), "W", string(letter-1)).Replace(
			"  - {id: X, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"${W.metadata.name}${W.metadata.name}\"}}}\n")
	}
	loaded := rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(`apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: deep
  for: {apiVersion: example.com/v1, kind: Shop}
  let:
    leta: self.spec.a
` + lets + `  children:
  - {id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${letz}"}}}
` + children)}})
	if err := loaded.Errors.Err(); err != nil {
		t.Fatal(err)
	}
	w := newWording(loaded.File.Rules[0])
	for _, id := range []string{"a", "z"} {
		if got := w.nameOf(id); len(got) > mostResolved {
			t.Errorf("%s: %d characters", id, len(got))
		}
	}
	if !slices.ContainsFunc(w.terms(), func(term Term) bool { return term.Name == "leta" }) {
		t.Errorf("the page does not say what the names stand for: %v", w.terms())
	}
}

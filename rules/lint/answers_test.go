package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/test/apifacts"
)

// TestTablesAgreeWithTheAPIServer finds what the API server rejects, and nothing in what
// it accepts. test/apifacts has the objects and the recorded answers.
func TestTablesAgreeWithTheAPIServer(t *testing.T) {
	facts, _, err := apifacts.Read()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, c := range facts.Cases {
		base := facts.Bases[c.Base]
		if found := about(t, c, base); len(found) > 0 {
			t.Errorf("%s, which the API server accepts: %v", c.Base, found)
		}
		for _, edit := range c.Edits {
			object := edit.Apply(base)
			if c.Check == ImmutableField {
				_, path, _ := strings.Cut(c.About, " ")
				object = apifacts.Edit{strings.ReplaceAll(path, ".", "/"): "${self.spec.x}"}.Apply(base)
			}
			found := about(t, c, object)
			if len(found) == 0 {
				t.Errorf("%s: nothing is found in %v", c.Key(), edit)
			}
			shown[c.Check+c.About] = true
		}
	}
	builtIn, err := schema.New(schema.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries(builtIn) {
		if !shown[entry] {
			t.Errorf("%s: no object shows it", entry)
		}
	}
}

// entries returns the entries of all tables, as cases name them.
func entries(builtIn *schema.Set) []string {
	var out []string
	for _, f := range facts {
		out = append(out, APIRule+f.says)
	}
	for _, f := range forms {
		out = append(out, ValueForm+f.source)
	}
	for _, k := range builtIn.Kinds() {
		for _, path := range immutable(k.GVK.GroupKind()) {
			out = append(out, ImmutableField+k.GVK.GroupKind().String()+" "+strings.Join(path, "."))
		}
	}
	slices.Sort(out)
	return slices.Compact(out) // a kind has several versions
}

// about returns the findings about the entry of a case in an object, as a child of a rule.
func about(t *testing.T, c apifacts.Case, object map[string]any) source.Errors {
	t.Helper()
	named := apifacts.Edit{"metadata/name": "${self.metadata.name}"}.Apply(object)
	text, err := yaml.Marshal([]any{map[string]any{"id": "shown", "template": named}})
	if err != nil {
		t.Fatal(err)
	}
	body := "  children:\n  " + strings.ReplaceAll(strings.TrimSuffix(string(text), "\n"), "\n", "\n  ") + "\n"
	var out source.Errors
	for _, e := range lint(t, fmt.Sprintf("%s.yaml", c.Base), inRule(body)) {
		if e.Check == c.Check && (c.Check != APIRule || strings.Contains(e.Message, c.About)) {
			out = append(out, e)
		}
	}
	return out
}

package diff

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/output"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
	"reconcel/sim/world"
)

// object is a Rules object with a rule for ServiceAccounts.
func object(name, value string) source.File {
	return source.File{Name: name + ".yaml", Data: fmt.Appendf(nil, `apiVersion: reconcel.dev/v1alpha1
kind: Rules
metadata: {name: %[1]s}
rules:
- name: %[1]s
  for: {apiVersion: v1, kind: ServiceAccount}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-%[1]s"}, data: {is: %[2]s}}
`, name, value)}
}

// TestDiffOfSingleObjects compares the file of one object in an installation with two.
func TestDiffOfSingleObjects(t *testing.T) {
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	all := rules.Compile([]source.File{object("one", "a"), object("two", "a")})
	w, err := world.New(world.Options{Program: all.Program, Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{T: t, World: w, kinds: kinds}
	r.put(account("team-a"))
	if err := w.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	result, err := Compare(t.Context(), Options{Selector: labels.Everything(), Source: change.Source{
		Rules: rules.Compile([]source.File{object("one", "b")}), Schemas: schema.Builtin(), Progress: output.StartProgress(&strings.Builder{}),
		Cluster: &cluster.Cluster{Client: r.Cluster().Client("user"), Kinds: world.KindsOf(kinds)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Changes) != 1 || result.Changes[0].Object.String() != "ConfigMap/team-a/x-one" {
		t.Errorf("changes: %+v", result.Changes)
	}
	r.notes(result, "not in -f, so their rules stay as they are: Rules/two")
	if notes := strings.Join(result.Notes, "\n"); strings.Contains(notes, "not compared") || strings.Contains(notes, "error") {
		t.Errorf("notes: %s", notes)
	}
}

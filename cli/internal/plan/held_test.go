package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/inventory"
	"reconcel/sim/world"
)

// TestPlanForetellsHolds plans edits of rules that the inventory alone knows, and compares the
// changes that will be held with those that are.
func TestPlanForetellsHolds(t *testing.T) {
	texts := fleetTexts(t)
	before := loadTexts(t, texts)
	f := newFleetWith(t, world.Options{Program: before.Program}, fleetObjects()[:60]...)
	ours := types.NamespacedName{Namespace: "kube-system", Name: world.Controller}
	held := 0
	for _, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			f.T = t
			after := loadTexts(t, e.apply(t, texts))
			o := f.options(after)
			o.Installation, o.Local = ours.String(), true
			foretold := f.plan(o)
			if foretold.Against != "the rules that run" {
				t.Errorf("the rules come from %s", foretold.Against)
			}
			if err := f.Reload(t.Context(), after.Program); err != nil {
				t.Fatal(err)
			}
			recorded, err := inventory.New(f.Cluster().Client("user"), inventory.Options{Namespace: ours.Namespace, Installation: ours.Name}).Recorded(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(recorded.Held, foretold.Held); diff != "" {
				t.Errorf("what is held and what was foretold (-held +foretold):\n%s", diff)
			}
			held += len(recorded.Held)
			if err := f.Reload(t.Context(), before.Program); err != nil {
				t.Fatal(err)
			}
			if e.oneWay {
				f.deleteChildren(e.of)
			}
			f.settle()
		})
	}
	if held < 3 {
		t.Errorf("%d changes were held", held)
	}
	t.Logf("%d changes were held", held)
}

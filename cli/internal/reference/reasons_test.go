package reference

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/rules"
	"reconcel/rules/syntax"
)

// TestReasonsAreThoseOfTheReference requires a reason for each that the reference has for a
// standard condition, and no other.
func TestReasonsAreThoseOfTheReference(t *testing.T) {
	reference, err := os.ReadFile("../../../docs/reference/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| condition \\((\\w+)").FindAllStringSubmatch(string(reference), -1) {
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(m[1], -1) {
			documented[name[1]] = m[2]
		}
	}
	if len(documented) < 15 {
		t.Fatalf("only %d reasons are documented: %v", len(documented), documented)
	}
	page := written(t, []*Page{{Reports: true, Reasons: []Code{"InvalidSpec"}, NeedsFinalizer: true, Shares: true, Orphans: true}})
	told := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `(\\w+)` \\|").FindAllStringSubmatch(page, -1) {
		told[m[1]] = m[2]
	}
	if diff := cmp.Diff(documented, told); diff != "" {
		t.Errorf("reasons of the reference (-) and of the page (+):\n%s", diff)
	}
	conditions := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| if ").FindAllStringSubmatch(page, -1)
	for _, m := range conditions {
		if !strings.Contains(string(reference), "\n| `"+m[1]+"` |") {
			t.Errorf("the reference does not have the condition %s", m[1])
		}
	}
	if len(conditions) < 5 {
		t.Errorf("the page has only %d conditions", len(conditions))
	}
	// A check of validate with such a reason would look like another state of the resource.
	for reason, of := range documented {
		chosen := reason == syntax.DefaultCheckReason || reason == string(rules.FailCalled)
		if slices.Contains([]string{"Ready", "Reconciling", "Stalled"}, of) && slices.Contains(syntax.OwnReasons, reason) == chosen {
			t.Errorf("whether a check can have the reason %s: %t", reason, !chosen)
		}
	}
	few := written(t, []*Page{{Reports: true}})
	for _, reason := range []string{"InvalidSpec", "Finalizing", "SharedDifferently", "Orphaned"} {
		if strings.Contains(few, reason) {
			t.Errorf("a page has the reason %s, which its resources cannot meet", reason)
		}
	}
}

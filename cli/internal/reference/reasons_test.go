package reference

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	few := written(t, []*Page{{Reports: true}})
	for _, reason := range []string{"InvalidSpec", "Finalizing", "SharedDifferently", "Orphaned"} {
		if strings.Contains(few, reason) {
			t.Errorf("a page has the reason %s, which its resources cannot meet", reason)
		}
	}
}

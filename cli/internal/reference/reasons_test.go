package reference

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReasonsAreThoseOfTheReference requires a reason for each that the reference has for a
// standard condition, and no other.
func TestReasonsAreThoseOfTheReference(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/conditions.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| condition \\((\\w+)").FindAllStringSubmatch(string(page), -1) {
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(m[1], -1) {
			documented[name[1]] = m[2]
		}
	}
	if len(documented) < 15 {
		t.Fatalf("only %d reasons are documented: %v", len(documented), documented)
	}
	for _, r := range reasons {
		if documented[r.name] != r.condition {
			t.Errorf("reason %s of %s: the reference has %q", r.name, r.condition, documented[r.name])
		}
		delete(documented, r.name)
	}
	for name := range documented {
		t.Errorf("the page does not have the reason %s", name)
	}
	for _, c := range standard {
		if !strings.Contains(string(page), "\n| `"+c[0]+"` |") {
			t.Errorf("the reference does not have the condition %s", c[0])
		}
	}
}

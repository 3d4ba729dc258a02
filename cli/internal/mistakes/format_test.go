package mistakes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/cli/internal/format"
	"reconcel/rules/syntax"
)

// TestFormattedSpellings formats each example in each spelling: the rendering stays the
// same, and nothing changes the second time.
func TestFormattedSpellings(t *testing.T) {
	kinds := kindsOf(t, root+"/crds")
	for _, s := range allSound(t) {
		if !strings.HasPrefix(s.rules, root) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			text := read(t, s.rules)
			want := rendered(t, s, text, kinds)
			for _, spelling := range spellings {
				got, err := format.Text([]byte(spelling.write(t, text)), syntax.Schema())
				if err != nil {
					t.Errorf("%s: %v", spelling.name, err)
					continue
				}
				if diff := cmp.Diff(want, rendered(t, s, string(got), kinds)); diff != "" {
					t.Errorf("%s (-want +got)\n%s", spelling.name, diff)
				}
				if again, err := format.Text(got, syntax.Schema()); err != nil || string(again) != string(got) {
					t.Errorf("%s, a second time: %v\n%s", spelling.name, err, cmp.Diff(string(got), string(again)))
				}
			}
		})
	}
}

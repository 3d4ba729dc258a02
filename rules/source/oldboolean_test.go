package source

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"reconcel/internal/yamltext"
)

// TestOldBooleansAreThoseOfKubectl compares with kubectl's reader and writer, in every case of the letters.
func TestOldBooleansAreThoseOfKubectl(t *testing.T) {
	for word := range strings.FieldsSeq("y n yes no on off true false null yep") {
		for mask := range 1 << len(word) {
			cased := []byte(word)
			for i := range cased {
				if mask&(1<<i) != 0 {
					cased[i] -= 'a' - 'A'
				}
			}
			var read any
			if err := yaml.Unmarshal(cased, &read); err != nil {
				t.Fatal(err)
			}
			_, isBool := read.(bool)
			if isBool = isBool && !strings.Contains("true false", word); IsOldBoolean(string(cased)) != isBool {
				t.Errorf("%s: got %t, kubectl reads %v", cased, !isBool, read)
			}
			text, err := yamltext.Marshal(string(cased))
			if quoted := strings.HasPrefix(string(text), `"`); err != nil || isBool && !quoted {
				t.Errorf("%s is written as %s (%v)", cased, text, err)
			}
		}
	}
}

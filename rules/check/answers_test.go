package check

import (
	"strings"
	"testing"

	"reconcel/test/apifacts"
)

// TestDefaultsAgreeWithTheAPIServer compares the tables of defaults.go with the recorded
// answers of an API server, which test/apifacts has.
func TestDefaultsAgreeWithTheAPIServer(t *testing.T) {
	_, answers, err := apifacts.Read()
	if err != nil {
		t.Fatal(err)
	}
	for definition, fields := range filledIn {
		for field := range strings.FieldsSeq(fields) {
			if _, there := answers.Defaults[definition][field]; !there {
				t.Errorf("%s: the API server does not set %s", definition, field)
			}
		}
	}
	for definition, field := range zeroes {
		if answer, asked := answers.Zeroes[definition+" "+field]; !asked || answer != "" {
			t.Errorf("%s: the API server does not accept an object without %s: %q", definition, field, answer)
		}
	}
}

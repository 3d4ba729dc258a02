package rules

import "testing"

// TestRulesResourceIsThatOfRulesFiles lets a rules file be the object that is applied.
func TestRulesResourceIsThatOfRulesFiles(t *testing.T) {
	if got, want := RulesResource.String(), "reconcel.dev/v1alpha1, Resource=rules"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

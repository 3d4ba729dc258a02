package kstatus

import (
	"maps"
	"slices"
	"testing"
)

func TestEveryJudgedKindHasAMeaning(t *testing.T) {
	for gk := range judges {
		if Meaning(gk) == "" {
			t.Errorf("%s has no meaning", gk)
		}
	}
	if len(meanings) != len(judges) {
		t.Errorf("meanings of %v, judges of %v", slices.Collect(maps.Keys(meanings)), slices.Collect(maps.Keys(judges)))
	}
}

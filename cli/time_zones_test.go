package cli_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestTimeZonesAreInTheProgram holds that time zones do not come from files of the machine: the image has none.
func TestTimeZonesAreInTheProgram(t *testing.T) {
	packages, err := exec.Command("go", "list", "-deps", "reconcel").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(strings.Fields(string(packages)), "time/tzdata") {
		t.Error("time/tzdata is not linked")
	}
}

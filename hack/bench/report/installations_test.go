package report

import (
	"strings"
	"testing"
	"time"
)

func TestArrangementTable(t *testing.T) {
	together := Arrangement{
		N: 1000, Namespaces: 2, Create: time.Second, Update: 2 * time.Second, Servers: 60 * time.Second,
		Processes: []Installed{{Used{CPU: 9 * time.Second, Peak: 120e6}, 50e6}},
	}
	apart, half := together, Installed{Used{CPU: 5 * time.Second, Peak: 80e6}, 25e6}
	apart.Servers, apart.Processes = 70*time.Second, []Installed{half, half}
	table := ArrangementTable([]Arrangement{together, apart})
	for _, line := range []string{
		"| 1000 | 2 | 1 | 1.0 | 2.0 | 120 | 50.0 | 9.0 | 60.0 |\n",
		"| 1000 | 2 | 2 | 1.0 | 2.0 | 80, 80 | 25.0, 25.0 | 5.0, 5.0 | 70.0 |\n",
	} {
		if !strings.Contains(table, line) {
			t.Errorf("the table lacks %q:\n%s", line, table)
		}
	}
}

package report

import (
	"fmt"
	"strings"
	"time"
)

// Arrangement is what some processes of reconcel needed together to create and to change N Foos.
type Arrangement struct {
	N          int // Foos, spread over the namespaces
	Namespaces int
	Create     time.Duration // until all Deployments and statuses are as wanted
	Update     time.Duration
	Processes  []Installed
	Servers    time.Duration // CPU of the API server and etcd, for both steps
}

// Installed is what one process used for both steps.
type Installed struct {
	Used
	Watched int64 // bytes that its watches have received
}

// ArrangementTable returns the measurements in Markdown.
func ArrangementTable(all []Arrangement) string {
	var b strings.Builder
	b.WriteString("| Foos | namespaces | processes | create (s) | update (s) | peak RSS of each (MB) " +
		"| bytes of the watches of each (MB) | CPU of each (s) | CPU of API server and etcd (s) |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	for _, a := range all {
		fmt.Fprintf(&b, "| %d | %d | %d | %.1f | %.1f | %s | %s | %s | %.1f |\n",
			a.N, a.Namespaces, len(a.Processes), a.Create.Seconds(), a.Update.Seconds(),
			a.of(0, func(p Installed) float64 { return megabytes(p.Peak) }),
			a.of(1, func(p Installed) float64 { return megabytes(p.Watched) }),
			a.of(1, func(p Installed) float64 { return p.CPU.Seconds() }), a.Servers.Seconds())
	}
	return b.String() + "\n"
}

// of lists a figure of each process.
func (a Arrangement) of(decimals int, figure func(Installed) float64) string {
	values := make([]string, len(a.Processes))
	for i, p := range a.Processes {
		values[i] = fmt.Sprintf("%.*f", decimals, figure(p))
	}
	return strings.Join(values, ", ")
}

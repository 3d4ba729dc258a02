package cli

import (
	"context"
	"os"
	"runtime"
	"time"
)

const (
	// loadPeriod is how often the load is measured.
	loadPeriod = 200 * time.Millisecond
	// quietPeriods is for how many periods the load must be low, on average, before a CPU is given
	// up. A collection of garbage is short, and uses all CPUs that are idle.
	quietPeriods = 25
	// highLoad and lowLoad are shares of the CPUs in use. With half of the CPUs, a low load is
	// still far from a high one.
	highLoad, lowLoad = 0.9, 0.25
)

// followLoad uses as many CPUs as the load needs, until ctx ends, and at first all that Go's
// default allows. GOMAXPROCS in the environment takes precedence. A CPU limit of the container that
// changes later is not noticed.
//
// Whenever something becomes ready, such as an answer of the API server, Go wakes a thread for each
// CPU without work, which looks for work and sleeps again. A controller waits most of the time, so
// with one CPU it needs a tenth less CPU time for the same reconciliations, at the same pace. Lists,
// reloads and many reconciliations at once need more CPUs, and get them within loadPeriod.
func followLoad(ctx context.Context) {
	before, err := usedCPU()
	if err != nil || os.Getenv("GOMAXPROCS") != "" {
		return
	}
	runtime.SetDefaultGOMAXPROCS()
	defer runtime.SetDefaultGOMAXPROCS()
	most := runtime.GOMAXPROCS(0)
	l := load{cpus: most, most: most}
	at := time.Now()
	tick := time.NewTicker(loadPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		used, err := usedCPU()
		if err != nil {
			return
		}
		now := time.Now()
		if cpus := l.cpus; l.next(float64(used-before)/float64(now.Sub(at))) != cpus {
			runtime.GOMAXPROCS(l.cpus)
		}
		before, at = used, now
	}
}

// load decides how many CPUs to use.
type load struct {
	cpus, most int
	sum        float64 // of the CPUs that were busy in each of the last periods
	periods    int
}

// next returns the number of CPUs to use after a period in which this many were busy.
func (l *load) next(busy float64) int {
	l.sum += busy
	l.periods++
	switch in := float64(l.cpus); {
	case busy > highLoad*in:
		l.cpus = min(2*l.cpus, l.most)
	case l.periods < quietPeriods:
		return l.cpus
	case l.sum < lowLoad*in*quietPeriods:
		l.cpus = (l.cpus + 1) / 2
	}
	l.sum, l.periods = 0, 0
	return l.cpus
}

package cli

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"
)

func TestCPUsFollowTheLoad(t *testing.T) {
	for name, c := range map[string]struct {
		cpus, most int
		busy       []float64 // CPUs, each for quietPeriods
		want       []int
	}{
		"quiet after the start":        {8, 8, []float64{6, 1, 0.1, 0.1, 0.1}, []int{8, 4, 2, 1, 1}},
		"an odd number":                {3, 3, []float64{0, 0, 0}, []int{2, 1, 1}},
		"more than one CPU has to do":  {1, 8, []float64{0.95, 2, 4}, []int{2, 4, 8}},
		"no more than there are":       {2, 3, []float64{2, 3, 3}, []int{3, 3, 3}},
		"neither much nor little":      {2, 2, []float64{1, 0.6, 0.5, 0.49}, []int{2, 2, 2, 1}},
		"one CPU is enough for a load": {1, 8, []float64{0.3, 0.6, 0.9}, []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			l := load{cpus: c.cpus, most: c.most}
			var got []int
			for _, busy := range c.busy {
				l.next(busy)
				for range quietPeriods - 1 {
					if l.periods > 0 { // Otherwise the number has just changed.
						l.next(busy)
					}
				}
				got = append(got, l.cpus)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v CPUs, want %v", got, c.want)
			}
		})
	}
}

// TestCollectionOfGarbageKeepsNoCPU has a load that is low except for short times.
func TestCollectionOfGarbageKeepsNoCPU(t *testing.T) {
	l := load{cpus: 2, most: 2}
	for i := range quietPeriods {
		busy := 0.2
		if i%10 == 0 {
			busy = 1
		}
		l.next(busy)
	}
	if l.cpus != 1 {
		t.Errorf("%d CPUs are in use, want 1", l.cpus)
	}
}

// TestCPUsAreGivenBack expects what other parts of the process rely on. It cannot be parallel.
func TestCPUsAreGivenBack(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	runtime.SetDefaultGOMAXPROCS()
	before := runtime.GOMAXPROCS(0)
	ctx, cancel := context.WithTimeout(t.Context(), 2*loadPeriod)
	defer cancel()
	followLoad(ctx)
	if got := runtime.GOMAXPROCS(0); got != before {
		t.Errorf("%d CPUs are in use, want %d", got, before)
	}
}

func TestUsedCPUGrows(t *testing.T) {
	before, err := usedCPU()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		if now, err := usedCPU(); err != nil || now > before {
			if err != nil {
				t.Error(err)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no CPU time was used in 10 s of work")
		}
	}
}

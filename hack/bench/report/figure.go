package report

import "time"

// figure is a row of the table.
type figure struct {
	name string
	unit string
	// of returns the value for one result, and false if the competitor has none.
	of func(Result) (float64, bool)
	// decimals of the value.
	decimals int
	// limits are what must hold for reconcel.
	limits []limit
	// chart shows the figure. It may be empty.
	chart string
}

// title is the name with the unit.
func (f figure) title() string {
	if f.unit == "" {
		return f.name
	}
	return f.name + " (" + f.unit + ")"
}

// limit is what must hold for reconcel.
type limit struct {
	competitor string  // compared with, or "" for the value itself
	most       float64 // ratio, or value in the figure's unit
	from       int     // the least number of Foos for which it must hold
}

func always(of func(Result) float64) func(Result) (float64, bool) {
	return func(r Result) (float64, bool) { return of(r), true }
}

func perFoo(of func(Result) float64) func(Result) (float64, bool) {
	return func(r Result) (float64, bool) { return of(r) / float64(r.N), true }
}

func ofRest(of func(Rest) float64) func(Result) (float64, bool) {
	return func(r Result) (float64, bool) {
		if r.Rest == nil {
			return 0, false
		}
		return of(*r.Rest), true
	}
}

func ofRestart(of func(Restart) float64) func(Result) (float64, bool) {
	return func(r Result) (float64, bool) {
		if r.Restart == nil {
			return 0, false
		}
		return of(*r.Restart), true
	}
}

func ofReload(of func(Reload) time.Duration) func(Result) (float64, bool) {
	return func(r Result) (float64, bool) {
		if r.Reload == nil {
			return 0, false
		}
		return of(*r.Reload).Seconds(), true
	}
}

func ofDrift(p float64) func(Result) (float64, bool) {
	return func(r Result) (float64, bool) {
		return milliseconds(Percentile(r.Drift, p)), len(r.Drift) > 0
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
func megabytes(bytes int64) float64        { return float64(bytes) / 1e6 }

// The charts.
const (
	times  = "time"
	cpu    = "cpu"
	memory = "memory"
)

// figures are the rows of the table, in this order.
var figures = []figure{
	{"create, all Deployments", "s", always(func(r Result) float64 { return r.Create.Children.Seconds() }), 2, asFast,
		times},
	{"create, all statuses", "s", always(func(r Result) float64 { return r.Create.Statuses.Seconds() }), 2, asFast, times},
	{"update, all Deployments", "s", always(func(r Result) float64 { return r.Update.Children.Seconds() }), 2, asFast,
		times},
	{"update, all statuses", "s", always(func(r Result) float64 { return r.Update.Statuses.Seconds() }), 2, asFast, times},
	{"delete, all objects", "s", always(deleted), 2, asFast, times},
	{"CPU for each Foo, create", "ms", perFoo(func(r Result) float64 { return milliseconds(r.Create.CPU) }), 2, cheaper,
		cpu},
	{"CPU for each Foo, update", "ms", perFoo(func(r Result) float64 { return milliseconds(r.Update.CPU) }), 2, cheaper,
		cpu},
	{"CPU for each Foo, delete", "ms", perFoo(func(r Result) float64 { return milliseconds(r.Delete.CPU) }), 2, nil, cpu},
	{"CPU of API server and etcd for each Foo, create", "ms",
		perFoo(func(r Result) float64 { return milliseconds(r.Create.Servers) }), 2, nil, ""},
	{"CPU of API server and etcd for each Foo, update", "ms",
		perFoo(func(r Result) float64 { return milliseconds(r.Update.Servers) }), 2, nil, ""},
	{"peak RSS without Foos", "MB", always(func(r Result) float64 { return megabytes(r.IdlePeak) }), 0, nil, ""},
	{"peak RSS", "MB", always(func(r Result) float64 { return megabytes(r.Peak) }), 0, smaller, memory},
	{"writes for each Foo, create", "", perFoo(func(r Result) float64 { return float64(r.Create.Writes) }), 2, atMost(2),
		""},
	{"writes for each Foo, update", "", perFoo(func(r Result) float64 { return float64(r.Update.Writes) }), 2, atMost(2),
		""},
	{"Events for each Foo, create", "", perFoo(func(r Result) float64 { return float64(r.Create.Events) }), 2, nil, ""},
	{"Events for each Foo, update", "", perFoo(func(r Result) float64 { return float64(r.Update.Events) }), 2, nil, ""},
	{"at rest, writes", "", ofRest(func(r Rest) float64 { return float64(r.Writes) }), 0, atMost(0), ""},
	{"at rest, requests", "", ofRest(func(r Rest) float64 { return float64(r.Requests) }), 0, nil, ""},
	{"at rest, CPU", "ms", ofRest(func(r Rest) float64 { return milliseconds(r.CPU) }), 0, nil, ""},
	{"drift repair, p50", "ms", ofDrift(50), 1, nil, ""},
	{"drift repair, p99", "ms", ofDrift(99), 1, atMost(50), ""},
	{"restart, ready", "s", ofRestart(func(r Restart) float64 { return r.Ready.Seconds() }), 2, nil, ""},
	{"restart, writes", "", ofRestart(func(r Restart) float64 { return float64(r.Writes) }), 0, atMost(0), ""},
	{"reload, first Deployment", "s", ofReload(func(r Reload) time.Duration { return r.First }), 2, atMost(1), ""},
	{"reload, all Deployments", "s", ofReload(func(r Reload) time.Duration { return r.All }), 2, nil, ""},
}

func deleted(r Result) float64 { return max(r.Delete.Children, r.Delete.Statuses).Seconds() }

// The limits of times, CPU and memory.
var (
	asFast  = []limit{{competitor: Applier, most: 1.15}}
	cheaper = []limit{
		{competitor: Baseline, most: 1}, {competitor: Kro, most: 0.2}, {competitor: Metacontroller, most: 0.6},
	}
	smaller = []limit{{competitor: Baseline, most: 0.8, from: 10000}}
)

// atMost is a limit of the value itself.
func atMost(value float64) []limit { return []limit{{most: value}} }

// Package world runs the production engine in a cluster in memory.
//
//	w, err := world.New(world.Options{Program: program, Kinds: kinds})
//	_, err = w.Cluster().Put(foo)
//	err = w.Settle(ctx)
//
// Nothing runs in the background. Time passes only inside of calls, the queue serves one request
// after another, caches show a change at once, and delays have no jitter. So the same calls always
// have the same effects, and waiting costs no time.
//
// It differs from a real cluster as package sim does. In addition, kinds neither appear nor
// disappear, and caches never lag: tests on a real control plane cover that.
package world

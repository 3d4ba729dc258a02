// Package world puts a controller into a cluster in memory: the engine as it
// runs in production, and around it what can be chosen.
//
//	w, err := world.New(world.Options{Program: program, Kinds: kinds})
//	_, err = w.Cluster().Put(foo)
//	err = w.Settle(ctx)
//
// Nothing happens by itself, and nothing at the same time. The clock stands
// still unless a call moves it, the queue serves one request after another, the
// caches show a change as soon as the request that made it has been served, and
// delays are not spread. So the same calls have the same effects each time, and
// a minute of waiting costs nothing.
//
// # What is not as in a cluster
//
// What package sim says of it. Kinds do not come or go. Caches never lag; what
// happens when they do is tested on a real control plane.
package world

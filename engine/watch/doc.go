// Package watch keeps caches of the objects that rules select, render and read.
//
// A Watch is the cache of one kind in one role. It waits for a kind that the API
// server does not serve yet, and waits again when the kind is removed. A Watcher
// runs watches on a cluster; a Feed fills one by hand, in tests of rules and in
// previews.
//
// # What a cache guarantees
//
// Nobody changes a cached object: an Object has no method that writes.
//
// What cannot be listed is unknown, and not empty. Watch.Cache returns an error
// until something is listed. If only some namespaces are watched, each of them
// has a namespaced cache that is listed and watched for itself: a missing
// permission in one does not affect the others. Cache.Get and Lookup say whether
// the namespace in question is listed, and Cache.Unlisted and UnlistedFor say why
// another one is not. A namespace that can no longer be read keeps what it had, and
// State says that it is out of date.
//
// No event is lost. When a namespace is listed again, or a kind is removed, the
// handlers hear of every object that has gone in the meantime. A lookup registers
// its reader before it reads the cache, so that a change in between is reported.
package watch

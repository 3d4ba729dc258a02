// Package watch keeps caches of the objects that rules select, render and read.
//
// A Watch is the cache of one kind in one role. It waits for a kind that the API
// server does not serve yet, and waits again when the kind is removed. A Watcher
// runs watches on a cluster; a Feed fills one by hand, in tests of rules and in
// previews.
//
// # What a cache guarantees
//
// Cached objects are immutable: an Object has no method that writes. They have the
// fields of the watch's projection. What a stream has besides is skipped while it is
// read, and never held. Lists are read one object at a time.
//
// An object that cannot be listed is unknown, not absent. Watch.Cache returns an
// error until something is listed. If only some namespaces are watched, each has a
// namespaced cache with its own list and watch: a missing permission in one does not
// affect the others. Cache.Get and Lookup report whether the requested namespace is
// listed. Cache.Unlisted and UnlistedFor report why another one is not. A namespace
// that can no longer be read keeps its objects, and State reports that it is out of
// date.
//
// No event is lost. When a namespace is listed again, or a kind is removed, the
// handlers are called for every object that disappeared in the meantime. A lookup
// registers its reader before it reads the cache, so that a change in between is
// reported.
package watch

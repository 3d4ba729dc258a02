// Package dryrun is a client that writes nothing: it answers each write as the API
// server would, and records it. diff runs the engine on it, and so does run --dry-run.
//
//	client := dryrun.New(live, kinds)
//	ctx, recorder := dryrun.Record(ctx)
//	client.Resource(gvr).Namespace("team").Patch(ctx, ...)
//	recorder.Writes()
//
// Three things prevent writes. Only a sender holds the real client, and each of its
// methods sets dryRun=All. Verbs that the engine does not use return an error. The
// transport of Guard rejects everything that is neither a read nor a dry run.
//
// # Rounds
//
// The answer to a write has a resourceVersion that is newer than every object of the
// cluster, so the engine reads it before its cache, and a second reconciliation goes on
// from there. In requests to the API server the resourceVersion is again that of the
// live object. An object that exists only in an answer is created again as a whole.
//
// # Writes on top of writes
//
// A dry run stores nothing, so the API server cannot evaluate a write that builds
// on an earlier one. The engine sends such a pair when it takes field ownership by a
// JSON patch of managedFields and then applies. This package merges the second
// write itself, with the schemas of the cluster. It sends the result as a dry run
// of an update, so that defaults, admission and validation still count.
//
// # Without dry runs
//
// NewLocal merges every write itself. It needs no permission to write, and leaves out
// what the API server would add or reject. NewContinuous does the same for run --dry-run.
package dryrun

// Package dryrun is a client of a cluster that writes nothing: it answers each
// write as the API server would, and records it.
//
//	cluster := dryrun.New(client, kinds)
//	ctx, recorder := dryrun.Record(ctx)
//	cluster.Resource(gvr).Namespace("team").Patch(ctx, ...)
//	recorder.Writes()
//
// Three things keep it from writing. Only a sender holds the real client, and
// each of its methods sets dryRun=All. Verbs that an engine does not use are not
// implemented. And Guard refuses at the transport whatever is neither a read nor
// a dry run.
//
// # Writes on top of writes
//
// A dry run leaves nothing behind, so the API server cannot evaluate a write
// that builds on the one before it. That matters when the engine takes field
// ownership by a JSON patch of managedFields and then applies: the second of them
// is merged here, with the schemas of the cluster, and sent as a dry run of an
// update, so that defaults, admission and validation still count.
//
// # Without dry runs
//
// NewLocal merges everything here. That needs no permission to write, and leaves
// out what the API server adds or refuses.
package dryrun

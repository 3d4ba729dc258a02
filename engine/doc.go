// Package engine makes a cluster agree with a rules.Program: it watches the
// primary objects and what they own, and for each primary reads, renders,
// applies, prunes and writes status, as often as anything changes.
//
// Everything is level-triggered. A watch event only puts the identity of a
// primary into the queue (Request); what is done about it depends on the state
// of the cluster alone. All rules for a primary are rendered in one pass, and
// each has an outcome of its own.
//
// # How drift is seen
//
// A child is written by server-side apply with one field manager, and carries
// the hash of what was applied. It has drifted if and only if that hash is not
// the one of today's rendering, or the managedFields entry of our manager is
// not the one that our own last write returned: whoever changes a field that
// we own takes it over, and so shows. No values are compared, so there is
// nothing to fight over with defaulting or normalisation. After a restart the
// entry is compared with the rendering field by field instead, which tells the
// same without a write. Secrets are the exception: a change through stringData
// does not show in the entry, so their data is compared. What ownership cannot
// show at all is mended by a slow periodic apply (Options.ReapplyEvery), which
// changes nothing on the server where nothing differs.
//
// # What is ours
//
// A child belongs to a primary if its controller reference has the primary's
// UID, or if it has none and the tracking annotation has it. The annotation
// holds UID, kind, namespace and name, so that an event of the child leads back
// to the primary without an index. Creation is an apply that only creates
// (resourceVersion "1"): it cannot adopt, and a lost response or a stale cache
// cannot make a second object. Updates are pinned to the UID. Deletes go
// through one function, which reads primary and child live first.
//
// # Reading our own writes
//
// The response to a write stands in for the cached object until the cache has
// seen its resource version, so that a lagging watch neither repeats a write
// nor undoes one.
//
// # Trying again
//
// What may pass is tried again with growing delays, per primary and for ever.
// What the API server refuses is not sent again unchanged before its time
// (refusal), and what somebody else insists on is repaired a few times and then
// slowly (contest). A name that is held, a permission that is missing and a
// quota end without an event of ours, so they are looked at from time to time.
//
// # Writing little
//
// A converged primary costs no request at all. While a primary is moving its
// status is written at most twice a second, so that one that gets ready quickly
// takes one write of status.
package engine

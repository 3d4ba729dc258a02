// Package shadow keeps the ledger of a controller that writes nothing.
//
// A shadow reconciles beside the controller that writes, from the same events. It does not
// send its writes, so the cluster never answers them. The ledger says what a shadow believes
// instead: it keeps each change that the shadow wants (Change) until a reconciliation no
// longer wants it. A change that stays the same counts once, however often the primary is
// reconciled.
//
// The ledger also sees what the writing controller does (Sighting), by events of watches. Either
// of the two may be first. A change ends in one of these ways:
//
//   - agreed: the other controller wrote, and the shadow then wants nothing else. These
//     counts are those of the other controller's writes.
//   - withdrawn: the shadow wanted the change for a while (patience), and then no longer, although
//     the other controller wrote nothing.
//   - outstanding: the shadow still wants it. If the other controller wrote the same part of
//     an object meanwhile, it wrote something else: it differs.
package shadow

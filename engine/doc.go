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
// cannot make a second object. Updates hold for one UID and resourceVersion: one
// that comes late does not undo what was written since. Deletes go through one
// function, which reads primary and child live first.
//
// Where a rule says ifExists: adopt, an object that nobody controls is taken over
// by an apply that holds for the very state that was read.
//
// # Reading our own writes
//
// The response to a write stands in for the cached object until the cache has
// seen its resource version, so that a lagging watch neither repeats a write
// nor undoes one. A delete of ours is remembered until the cache shows it: a
// replica that it still shows neither counts nor is deleted again.
//
// # Many objects of one child
//
// What is missing is created in batches that double in size until one fails, so
// that a quota that is used up costs a few requests. Only these requests are
// made side by side; all else in a pass happens one after another. What is to be
// replaced goes as the child can spare it (maxUnavailable), and Pods that end
// soon after they began are replaced later and later.
//
// # What an apply cannot change
//
// Of some fields there may be only one. When somebody switches from ours to
// another one, the engine takes ownership of that field in managedFields, and the
// next apply removes it (managedfields.RejectedApply). If the API server still
// rejects the change, the object is replaced if the rule says so. Otherwise the
// error names that remedy.
//
// # What rules read
//
// What a rule looks up is watched as a whole kind, apart from the children of
// that kind, and never written. A pass registers what it reads, there or not,
// before it reads it: an event then asks for exactly the primaries whose last
// pass read the object, or a list that had it or has it now. As long as the
// kind has no cache what was to be read is unknown, which is not absent.
//
// # Some namespaces only
//
// Where only some namespaces are followed (Options.Namespaces), each watch has an
// informer for each of them, and its cache is a view over these parts. A part that
// cannot be listed is not empty but unknown: a rule waits if it matters to the
// primary, since it is the primary's own namespace, or one into which the rule may
// write or out of which it reads. Nobody else does.
//
// # The end of a primary
//
// The garbage collector takes children with an owner reference. Where that is
// not enough (entries of finalize, teardown in order, children in another
// scope), the primary carries a finalizer for the rule, set before the first
// child, and its children belong to it by the tracking annotation alone. When
// the primary is deleted, or the rule is no longer for it, the entries of
// finalize are made and waited for, the children are deleted, then the entries
// of finalize, and the finalizer goes last. Every step is derived from what
// exists; that finalize is done is marked on the primary, lest an entry be made
// again when what it is about has gone. Tracked children of a primary that has
// gone without all that are deleted as soon as a live read shows it.
//
// Primaries that carry something of ours and that no watch shows, because a
// rule was removed or they stopped to bear its selector while no process was
// running, are looked for once at the start.
//
// # The end of a rule
//
// What a removed rule has made stays, unless the rule said otherwise: the
// inventory remembers that. It is then found by its label, in lists and not by
// watches. Where other rules are for a primary, only a pass over it can tell
// what has another rule by now, so it is that which deletes; elsewhere nobody
// can want it. As every delete, it reads live first and holds for one state.
//
// # What is written into the primary
//
// A patch is applied with a manager of its rule's own and compared by value: no
// mark is put on the primary, whose controller may copy annotations down.
// Finalizers are set and taken off by patches that hold for one resource
// version.
//
// # As whom rules write
//
// A rule with an account writes its children and its patch as that ServiceAccount;
// reads, status and finalizers are the engine's own. The account travels in the
// context of a request, and one transport puts it on the way (impersonating), so
// that all accounts share a client. Who can write at all is a matter of types:
// what reads cannot write, and what writes for a rule knows the rule (writer). An
// account without a name is an error in both places, and never a request.
//
// # Several processes
//
// All processes watch and follow the rules; the one that holds the Lease writes.
// A transport stops every write that the Lease does not cover (package leader).
//
// # Several installations
//
// Every child bears the installation that applied it last. The mark is part of
// the body of an apply and not of the hash, so that it causes no write of its own.
// Before anything is written for a plan, its caches are searched for marks of
// others (judge), and rules that would meet another installation are refused as a
// whole (verdict): a reconciliation asks once for each rule. A cache that comes
// later is searched before its rules use it. Whether the other one works shows in
// its Lease; the objects of one that has stopped can be taken over, and their
// marks are then drift. Deletes skip objects with the mark of others in any case.
//
// A process removes a rule only if it had the rule in its files: the inventory
// knows the files that had each rule last.
//
// # Trying again
//
// What may pass is tried again with growing delays, per primary and for ever.
// What the API server refuses is not sent again unchanged before its time
// (refusal), and what somebody else insists on is repaired a few times and then
// slowly (conflict loop). A name that is held, a permission that is missing and a
// quota end without an event of ours, so they are looked at from time to time.
// A status that is refused is written once more without what the rule at fault says
// in it (unsay), so that people read of the refusal where they look first.
//
// # Without a cluster
//
// What the engine has to do with is handed to it (Dependencies), and what runs
// by itself in a process is apart from what is then done. So a Stepper can be
// led through any story in a cluster in memory, in any order of things, by the
// very code that runs in production.
//
// # Previews
//
// A Preview reconciles chosen primaries once, with a client that lets nothing take
// effect. It decides as run does because it is the same code: what it reports
// besides writes (findings) is noted where the decision is made.
//
// # Writing little
//
// A converged primary costs no request at all. While a primary is moving its
// status is written at most twice a second, so that one that gets ready quickly
// takes one write of status.
package engine

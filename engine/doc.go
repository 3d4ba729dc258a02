// Package engine makes a cluster agree with a rules.Program. It watches primary
// objects and their children. For each primary it renders, applies, prunes and
// writes the status, as often as anything changes.
//
// Reconciliation is level-based. A watch event only puts the identity of a primary
// into the queue (Request); what happens then depends on the state of the cluster
// alone. One reconciliation renders all rules for a primary, and each rule has an
// outcome of its own.
//
// # Parts
//
// Each package below engine imports only those before it in this list:
//
//   - ident names primaries and kinds, outcome says what became of them, decide has the
//     decisions that need no cluster. These are pure.
//   - plan has what an engine follows: the active rules, their watches, rollouts.
//   - access has what the parts of a reconciliation share, write changes the cluster,
//     report tells the result.
//   - queue turns events into requests, reconcile reconciles one primary.
//   - cleanup removes what no rule wants, admit decides which rules may write.
//   - preview, above engine, runs it step by step without goroutines.
//
// A Pass is one reconciliation. Its parts share a Subject, which only has fields, and
// each uses only those before it: View and Reader know what exists, Answers and Journal
// note what happens, Metadata, DoneMarks, Remover, Applier, ChildWriter, Children,
// Patches, Pruner and Teardown write, and Reporter tells the result.
//
// docs/contributing/architecture.md shows the files that a reconciliation runs through, in their
// order. Other packages have the caches (watch), the format of managedFields
// (managedfields), what rules made (inventory), the Lease (leader) and Events (events).
//
// # Drift detection
//
// A child is written by server-side apply with one field manager, and carries the
// hash of its rendering. It has drifted if the hash is another one, or if the
// managedFields entry of our manager is not the one that our last write returned:
// whoever changes a field that we own takes it over. No values are compared, so
// defaulting and normalization cause no drift. After a restart the entry is compared
// with the rendering field by field. Secrets are the exception: a change through
// stringData does not show in the entry, so their data is compared. A slow periodic
// apply (Options.ReapplyEvery) repairs what ownership cannot show.
//
// # Ownership
//
// A child belongs to a primary if its controller reference has the primary's UID.
// Without such a reference the tracking annotation decides, if we have written it.
// Creation is an apply that only creates (resourceVersion "1"): it cannot adopt an
// object, and a stale cache cannot create a second one. Updates hold for one UID and
// resourceVersion. Deletes go through one function, which reads the primary and the
// child live first. With ifExists: adopt, an object without a controller is adopted
// in exactly the state that was read.
//
// Of some fields only one may be set. When a writer switches from ours to another
// one, the engine takes ownership of that field, and the next apply removes it
// (managedfields.RejectedApply). If the API server still rejects the change, the
// object is replaced if the rule says so.
//
// # Reading our own writes
//
// The response to a write stands in for the cached object until the cache shows its
// resource version. So a lagging watch neither repeats a write nor reverts one. A
// deletion is remembered until the cache shows it.
//
// # Collections
//
// The missing objects of one child are created in batches that double in size until
// one fails, so that an exhausted quota costs a few requests. Only the requests of a
// batch run in parallel. Replacements respect maxUnavailable, and Pods that finish
// soon after they started are replaced later and later.
//
// With order: sequential, each object of a collection waits until those before it are
// ready, and is deleted when those after it are gone. Every object carries its index:
// the objects to delete are often no longer rendered, and their order must
// survive a restart. The garbage collector keeps no order, so the
// primary carries a finalizer.
//
// # Writes that fail
//
// Transient errors are retried with growing delays, for each primary and without
// end. An unchanged rejected write is not sent again before its retry time. A conflict
// loop with another writer is damped: a few repairs at once, then slow ones. A foreign
// object, a missing permission and a quota send no event when they end, so they are
// checked from time to time. If the status itself is rejected, it is written once
// more without the fields of the rule at fault.
//
// # Lookups
//
// Kinds that rules look up are watched as a whole, apart from the children of that
// kind, and never written. A reconciliation registers each read before it reads: an
// event then enqueues exactly the primaries whose last reconciliation read the
// object, or a list that had it or has it now. While a kind has no cache, the result
// of a lookup is unknown, which is not absent. The same holds for each namespace, if
// only some are watched (Options.Namespaces).
//
// # The end of a primary
//
// The garbage collector of Kubernetes deletes children with an owner reference.
// Where that is not enough (entries of finalize, ordered teardown, children in
// another scope), the primary carries a finalizer for the rule. It is set before the
// first child is created, and the children have the tracking annotation instead of
// an owner reference. At the end the entries of finalize are created and waited for,
// then the children are deleted, then the entries, and the finalizer is removed
// last. Every step follows from what exists, so that another process can continue. An
// annotation on the primary says that finalize is done.
//
// # The end of a rule
//
// The objects of a removed rule stay, unless it had onRuleRemoval: delete, which
// the inventory remembers. They are found by their label, in lists and not by
// watches. If other rules are for the primary, its reconciliation deletes them,
// because only that can tell whether another rule renders them now. A process
// removes a rule only if its own files had the rule before.
//
// # Bundles
//
// A rule for the cluster has no primary. One bundle stands for it (rules.BundleOwner): a
// ConfigMap in the namespace of the installation, with an identity that depends on the
// names of the installation and the rule, and not on the UID of the ConfigMap. So the
// ConfigMap can be lost, repaired and restored, and no object changes its owner. The
// bundle ends with its rule.
//
// # Accounts
//
// A rule with a serviceAccountName writes its children and its patch as that
// ServiceAccount. Reads, status and finalizers use the identity of reconcel. The
// account travels in the context of a request, and one transport adds the
// impersonation headers. Types keep them apart: readers cannot write, and a writer
// always knows its rule.
//
// # Several processes and installations
//
// All processes of an installation watch and load rules; the holder of the Lease
// writes. A transport compares every write with the time of the last renewal.
//
// Each child has the mark of the installation that applied it last. The mark is not
// part of the hash, so that it causes no write of its own. Before a plan writes
// anything, its caches are searched for marks of other installations, and rules that
// would write to such objects are refused as a whole. Objects of an installation
// that has stopped can be taken over.
//
// # Tests and previews
//
// All dependencies of an engine are passed in (Dependencies), and its goroutines are
// separate from its logic. So a Stepper runs any scenario on an in-memory cluster, in
// any order, with the code that runs in production. A Preview reconciles chosen
// primaries once, with a client whose writes have no effect; it also reports the
// decisions that lead to no write.
//
// # Few writes
//
// A converged primary costs no request. While a primary changes, its status is
// written at most twice a second. A patch of the primary is compared by value,
// because its controller may copy annotations down.
package engine

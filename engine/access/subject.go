package access

import (
	"reconcel/engine/ident"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A Subject is the primary of one reconciliation, with what is known of it and what has
// been noticed so far.
type Subject struct {
	*Shared
	Cluster   *Cluster
	Primary   *plan.PrimaryKind
	Cache     *watch.Cache
	Cached    bool // the cache showed the primary when the reconciliation began
	Req       ident.Request
	Self      *watch.Object
	Memory    *Memory
	Rendering *rules.Rendering
	Admitted  *plan.AdmissionResult
	Findings  *Findings // nil except in a Preview
	Trigger   string    // what changed since the last reconciliation
	Reapply   bool      // apply every child, even without drift

	Wanted    map[plan.ObjectKey]bool // the rendered objects, if there are many; see wants
	Later     *View                   // of the rules that a rollout brings; nil until LaterView
	bundles   []*View                 // of all rules for the cluster; nil until Bundles
	unread    map[*rules.Lookup]error // why the objects of a lookup are unknown
	Stale     bool                    // the cache is behind
	Confirmed bool                    // a live read has shown that the cached primary is up to date
	Gone      bool                    // the primary no longer exists
}

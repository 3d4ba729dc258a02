package reference

// A reason is one that a standard condition may have.
type reason struct {
	condition, name, meaning, remedy string
	// meets reports whether users of the kind can meet it; nil: they always can.
	meets func(v *ruleView) bool
}

// askAdministrator is the remedy for what users of a kind cannot mend.
const askAdministrator = "tell the administrator of the cluster what the message says"

// reasons are the reasons of the standard conditions, as docs/reference/conditions.md has
// them, for users who cannot change the rules.
var reasons = []reason{
	{"Ready", "Reconciled", "all is well", "nothing", nil},
	{"Reconciling", "Progressing", "an object is not ready yet", "if it lasts, inspect the object that the message names", nil},
	{"Reconciling", "Waiting", "something does not exist yet", "create what the message names, if it is yours", nil},
	{"Reconciling", "Retrying", "the API server failed, or rejected an object in a way that may pass", "nothing at first; if it lasts, " + askAdministrator, nil},
	{"Reconciling", "NamespaceTerminating", "the namespace is being deleted", "nothing", nil},
	{"Reconciling", "Finalizing", "the deletion waits for what has to be done before", "if it lasts, inspect the object that the message names", (*ruleView).finalizes},
	{"Reconciling", "Deleting", "the deletion waits for objects to be gone", "if it lasts, inspect the object that the message names", (*ruleView).finalizes},
	{"Stalled", "InvalidSpec", "the resource is not valid: the message says why", "correct the resource", (*ruleView).validates},
	{"Stalled", "RuleError", "the rules cannot handle the resource", "if a value in the resource is unusual, correct it; otherwise " + askAdministrator, nil},
	{"Stalled", "ErrResourceExists", "an object of another owner has the name", "delete that object, or choose a name for the resource that is free", nil},
	{"Stalled", "SharedDifferently", "resources that share an object want different contents", "make the resources agree: the message names the other one and the field", (*ruleView).shares},
	{"Stalled", "Forbidden", "reconcel lacks a permission", askAdministrator, nil},
	{"Stalled", "Rejected", "the API server rejects an object: the message says why", "if the cause is a value in the resource, correct it, or raise the quota; otherwise " + askAdministrator, nil},
	{"Stalled", "Contested", "another writer undoes what reconcel does", "stop the writer that the message names", nil},
	{"Stalled", "ChildFailed", "an object has failed, and does not get ready by itself", "inspect the object that the message names", nil},
	{"Ready", "Paused", "the resource is paused by its annotation", "to resume, remove the annotation reconcel.dev/paused", nil},
	{"Kept", "Orphaned", "objects stay that the resource no longer asks for", "delete the objects yourself when you no longer need them", (*ruleView).orphans},
	{"Kept", "Undecided", "it is not known yet whether objects are still wanted", "create what the message names", nil},
	{"Held", "TooManyDeletions", "a change of the rules waits for approval, because it would delete many objects", askAdministrator, nil},
}

func (v *ruleView) finalizes() bool { return v.rule.MayNeedFinalizer() }

func (v *ruleView) validates() bool { return len(v.src.Validate) > 0 }

func (v *ruleView) shares() bool { return v.rule.Shares() }

func (v *ruleView) orphans() bool {
	for _, c := range v.rule.Children {
		if c.OnDelete != 0 {
			return true
		}
	}
	return false
}

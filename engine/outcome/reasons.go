package outcome

// Reasons of conditions and Events.
const (
	ReasonReconciled             = "Reconciled"
	ReasonProgressing            = "Progressing"
	ReasonWaiting                = "Waiting"
	ReasonRetrying               = "Retrying"
	ReasonResourceExists         = "ErrResourceExists"
	ReasonSharedDifferently      = "SharedDifferently" // owners of a shared object render it differently
	ReasonForbidden              = "Forbidden"
	ReasonRejected               = "Rejected"
	ReasonContested              = "Contested"
	ReasonChildFailed            = "ChildFailed"
	ReasonSynced                 = "Synced"
	ReasonRecovered              = "Recovered"
	ReasonRepaired               = "Repaired"
	ReasonKept                   = "Kept"
	ReasonOrphaned               = "Orphaned"
	ReasonUndecided              = "Undecided"
	ReasonPruned                 = "Pruned"
	ReasonRulesInvalid           = "RulesInvalid"
	ReasonRulesInvalidForCluster = "RulesInvalidForCluster"
	// The objects of a rule belong to another installation.
	ReasonInstallationConflict = "InstallationConflict"
	ReasonRuleRemoved          = "RuleRemoved"
	ReasonHeld                 = "TooManyDeletions"
	ReasonRolloutStopped       = "RolloutStopped"
	ReasonReplaced             = "Replaced"
	ReasonAdopted              = "Adopted"

	ReasonFinalizing      = "Finalizing"
	ReasonFinalizeTimeout = "FinalizeTimeout"
	ReasonFinalizeSkipped = "FinalizeSkipped"
	ReasonDeleting        = "Deleting"
	ReasonNamespaceEnding = "NamespaceTerminating"
	ReasonPaused          = "Paused"
	ReasonPauseIgnored    = "PauseIgnored"
	ReasonResumed         = "Resumed"
)

// Types of the conditions that every custom resource with conditions gets. All but
// Ready are present only while they are True, as kstatus requires.
const (
	ConditionReady       = "Ready"
	ConditionReconciling = "Reconciling"
	ConditionStalled     = "Stalled"
	ConditionKept        = "Kept" // objects that no rule renders are not deleted
	ConditionHeld        = "Held" // a changed rule does not take effect
)

package engine

// Reasons of conditions and Events.
const (
	reasonReconciled             = "Reconciled"
	reasonProgressing            = "Progressing"
	reasonWaiting                = "Waiting"
	reasonRetrying               = "Retrying"
	reasonResourceExists         = "ErrResourceExists"
	reasonSharedDifferently      = "SharedDifferently" // owners of a shared object render it differently
	reasonForbidden              = "Forbidden"
	reasonRejected               = "Rejected"
	reasonContested              = "Contested"
	reasonChildFailed            = "ChildFailed"
	reasonSynced                 = "Synced"
	reasonRecovered              = "Recovered"
	reasonRepaired               = "Repaired"
	reasonKept                   = "Kept"
	reasonOrphaned               = "Orphaned"
	reasonUndecided              = "Undecided"
	reasonPruned                 = "Pruned"
	reasonRulesInvalid           = "RulesInvalid"
	reasonRulesInvalidForCluster = "RulesInvalidForCluster"
	// The objects of a rule belong to another installation.
	reasonInstallationConflict = "InstallationConflict"
	reasonRuleRemoved          = "RuleRemoved"
	reasonHeld                 = "TooManyDeletions"
	reasonRolloutStopped       = "RolloutStopped"
	reasonReplaced             = "Replaced"
	reasonAdopted              = "Adopted"

	reasonFinalizing      = "Finalizing"
	reasonFinalizeTimeout = "FinalizeTimeout"
	reasonFinalizeSkipped = "FinalizeSkipped"
	reasonDeleting        = "Deleting"
	reasonNamespaceEnding = "NamespaceTerminating"
	reasonPaused          = "Paused"
	reasonPauseIgnored    = "PauseIgnored"
	reasonResumed         = "Resumed"
)

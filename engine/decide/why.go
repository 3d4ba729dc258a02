package decide

// Triggers of an action, as they appear in the log.
const (
	WhyStarted    = "reconcel started"
	WhyCreated    = "resource created"
	WhyRules      = "rules changed"
	WhyResource   = "resource changed"
	WhyDependency = "dependency changed"
	WhyGone       = "object was deleted"
	WhyReplaced   = "object was replaced"
	WhyPeriodic   = "periodic apply"
	WhySchema     = "schema changed"
	WhyGate       = "gate opened"
	WhyGenerated  = "generated values"
	WhyTakenOver  = "taken over from another installation"
	WhyUnrendered = "no longer rendered"
	WhyEnded      = "resource deleted"
	WhyOrphaned   = "resource deleted with --cascade=orphan"
	WhyShared     = "others share it"
	WhyDeselected = "resource no longer matches"
	WhyRuleGone   = "rule removed"
)

package engine

import (
	"hash/maphash"
	"time"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// What a pass found changed since the one before, as the log says it.
const (
	whyStarted    = "reconcel started"
	whyCreated    = "resource created"
	whyRules      = "rules changed"
	whyResource   = "resource changed"
	whyDependency = "dependency changed"
	whyGone       = "object was deleted"
	whyReplaced   = "object was replaced"
	whyPeriodic   = "periodic apply"
	whyTakenOver  = "taken over from another installation"
	whyUnrendered = "no longer rendered"
	whyEnded      = "resource deleted"
	whyDeselected = "resource no longer matches"
)

// A sight is what a pass saw, to be compared with what the next one sees.
type sight struct {
	program    *rules.Program // nil: there was no pass yet
	version    string         // resourceVersion of the primary
	generation int64
	marks      uint64 // a hash of its labels and annotations
}

var markSeed = maphash.MakeSeed()

// see compares what there is with what the last pass saw, and returns what has
// changed. Labels and annotations are looked at only if the primary has changed.
func (s *sight) see(program *rules.Program, self *watch.Object, started time.Time) (why string) {
	first, reloaded := s.program == nil, s.program != program
	s.program = program
	changed := false
	if version := self.GetResourceVersion(); version != s.version {
		generation, marks := self.GetGeneration(), marksOf(self)
		changed = generation == 0 || generation != s.generation || marks != s.marks
		s.version, s.generation, s.marks = version, generation, marks
	}
	switch {
	case first && self.GetCreationTimestamp().Time.Before(started.Truncate(time.Second)):
		return whyStarted
	case first:
		return whyCreated
	case reloaded:
		return whyRules
	case changed:
		return whyResource
	}
	return whyDependency
}

// marksOf returns a hash of the labels and annotations of an object.
func marksOf(o *watch.Object) (sum uint64) {
	metadata, _ := o.Content()["metadata"].(map[string]any)
	for _, section := range [...]string{"labels", "annotations"} {
		marks, _ := metadata[section].(map[string]any)
		for key, value := range marks {
			text, _ := value.(string)
			sum += maphash.String(markSeed, section+"\x00"+key+"\x00"+text) // In any order.
		}
	}
	return sum
}

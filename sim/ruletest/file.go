package ruletest

import (
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// A File is a parsed test file.
type File struct {
	Name  string
	Rules []source.String // paths, as written in the file
	CRDs  []source.String // paths, as written in the file
	Cases []*Case

	source source.File
}

// path returns a path in the file, which is relative to the file, relative to the
// working directory.
func (f *File) path(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.Name), path)
}

// A Case is one test: given objects and the steps that follow.
type Case struct {
	Name    string
	Pos     source.Pos
	Given   []*Manifest
	Primary *Reference // nil: the first object of the case that a rule matches
	Steps   []Step
}

// A Manifest is a file with objects, or one inline object.
type Manifest struct {
	Pos    source.Pos
	File   string         // "" for an inline object
	Object map[string]any // nil for a file

	objects []*unstructured.Unstructured // since Prepare
}

// A Step is a list of actions and the expectations after them.
type Step struct {
	Pos  source.Pos
	When []Action
	Then []Expectation
}

// A Reference names objects by kind, by kind and name, or by kind, namespace and
// name. The name may be a pattern.
type Reference struct {
	Pos       source.Pos
	Kind      string // like Deployment or Deployment.apps
	Namespace string // "" if omitted
	Name      string // "" means all of the kind

	of *schema.Kind // since Prepare
}

// Actions, one for each key of `when`.
type (
	apply struct {
		manifests []*Manifest
	}
	patch struct {
		object      *Reference
		subresource string // status, scale or ""
		kind        string // merge or json
		body        any
		pos         source.Pos
	}
	remove  struct{ objects []*Reference }
	ready   struct{ objects []*Reference }
	advance struct {
		by  time.Duration
		pos source.Pos
	}
	fail struct {
		pos         source.Pos
		verb        string
		kind        *Reference // or nil
		namespace   string
		name        string
		subresource string
		times       int
		reason      string
		message     string
		lost        answer
	}
	restart struct{ pos source.Pos }
	reload  struct {
		pos     source.Pos
		paths   []source.String
		program *rules.Program // since Prepare
	}
)

// An answer is how a failing request is answered.
type answer int

const (
	refused answer = iota // the request is rejected
	lost                  // the request takes effect, but its answer is lost
)

// Expectations, one for each key of `then`.
type (
	objects struct {
		manifest *Manifest
		how      comparison
	}
	absent struct{ object *Reference }
	count  struct {
		kind *Reference
		n    int
	}
	status struct {
		pos  source.Pos
		want map[string]any
	}
	condition struct {
		pos  source.Pos
		kind string
		want map[string]any // nil: the condition does not exist
	}
	events struct {
		pos  source.Pos
		want []event // empty: no Events
	}
	writes struct {
		pos source.Pos
		n   int
	}
	snapshot struct {
		pos  source.Pos
		file string
	}
)

// A comparison says which fields of an object are compared.
type comparison int

const (
	subset comparison = iota // the fields in the test file
	whole                    // all fields that the rules have set, and no others
)

// An event is an expected Event. Empty fields match everything. The note matches a
// part of the Event's note.
type event struct {
	pos                source.Pos
	kind, reason, note string
	about              *Reference // or nil
}

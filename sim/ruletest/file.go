package ruletest

import (
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// A File is what a test file says.
type File struct {
	Name  string
	Rules []source.String // paths, as they are written
	CRDs  []source.String // likewise
	Cases []*Case

	source source.File
}

// path returns a path that is written in the file as it is from here.
func (f *File) path(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.Name), path)
}

// A Case is a story about some objects.
type Case struct {
	Name    string
	Pos     source.Pos
	Given   []*Manifest
	Primary *Reference // nil: the first object in it that a rule is for
	Steps   []Step
}

// A Manifest is objects in a file, or one that is written out.
type Manifest struct {
	Pos    source.Pos
	File   string         // "" if it is written out
	Object map[string]any // nil if it is in a file

	objects []*unstructured.Unstructured // since Prepare
}

// A Step is what happens and what is expected then.
type Step struct {
	Pos  source.Pos
	When []Action
	Then []Expectation
}

// A Reference names objects as people do: by kind, or kind and name, or kind,
// namespace and name. The name may be a pattern.
type Reference struct {
	Pos       source.Pos
	Kind      string // like Deployment or Deployment.apps
	Namespace string // "" where none is written
	Name      string // "" means all of the kind

	of *schema.Kind // since Prepare
}

// Actions, one for each word of `when`.
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

// An answer is what becomes of the answer to a request that fails.
type answer int

const (
	refused answer = iota // the request is refused
	lost                  // it is served, and the answer is lost
)

// Expectations, one for each entry of `then`.
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
		want map[string]any // nil: there is none
	}
	events struct {
		pos  source.Pos
		want []event // none: nothing happened
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

// A comparison says how much of an object counts.
type comparison int

const (
	subset comparison = iota // what is written
	whole                    // all that the rules have set, and nothing else
)

// An event is one that is to have happened. Empty fields match everything, and
// the note is a part of it.
type event struct {
	pos                source.Pos
	kind, reason, note string
	about              *Reference // or nil
}

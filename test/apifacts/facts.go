package apifacts

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Facts are objects that show what the API server requires, sets and rejects.
type Facts struct {
	Bases    map[string]map[string]any // objects that the API server accepts, by name
	Cases    []Case
	Defaults []Default
	Zeroes   []Zero
	Applies  []Apply
}

// An Apply is an edit of a base that an apply rejects because a value does not have the type of its field or cannot be
// read. The API server answers such an apply with 500, and with no causes.
type Apply struct {
	About, Base string
	Edit        Edit
}

// A Rejection is what the API server says about an apply.
type Rejection struct {
	Code    int32  `json:"code"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
}

// A Case is an entry of the table of a named check, with edits that contradict it.
type Case struct {
	Check string
	About string // the entry: a fact, the source of a form, or a kind and a path
	Base  string
	Since string // the oldest minor in hack/devcluster/kubernetes that rejects the edits, unless all do
	Edits []Edit
}

// Key identifies the case among the answers.
func (c Case) Key() string { return c.Check + ", " + c.About + ", " + c.Base }

// A Default is a definition of Kubernetes' schemas, and a path to such a part in a base.
type Default struct{ Definition, Base, At string }

// A Zero is a required field of a definition, and a base that lacks it after the edit.
type Zero struct {
	Field, Base string
	Edit        Edit
}

// An Edit has new values by path, with / between the keys. Null removes the field.
type Edit map[string]any

// Answers are what the API server says about the objects. A rejection is its causes, each
// with field and type, or reason and message. It is "" if the object is accepted.
type Answers struct {
	Version string              `json:"version"` // of Kubernetes
	Bases   map[string]string   `json:"bases"`
	Cases   map[string][]string `json:"cases"` // for each edit, by the key of the case
	// the fields of the stored object, with their types, by definition
	Defaults map[string]map[string]string `json:"defaults"`
	Zeroes   map[string]string            `json:"zeroes"`  // by field
	Applies  map[string]Rejection         `json:"applies"` // by what they are about

	// Messages are those of the rejected cases, in order, without what differs from one run to another.
	Messages []string `json:"messages"`
}

var (
	//go:embed facts.yaml
	facts []byte
	//go:embed answers.yaml
	answers []byte
)

// Read returns the objects, and the recorded answers.
func Read() (f Facts, a Answers, err error) {
	if err := yaml.UnmarshalStrict(facts, &f); err != nil {
		return f, a, fmt.Errorf("facts.yaml: %w", err)
	}
	if err := yaml.UnmarshalStrict(answers, &a); err != nil {
		return f, a, fmt.Errorf("answers.yaml: %w", err)
	}
	return f, a, nil
}

// Apply returns an edited copy of an object.
func (e Edit) Apply(object map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(integers(object).(map[string]any))
	for path, v := range e {
		set(out, strings.Split(path, "/"), integers(v))
	}
	return out
}

// set sets a value in a map or list, and makes the maps on the path. Null removes a field.
func set(in any, keys []string, v any) {
	if list, ok := in.([]any); ok {
		i, err := strconv.Atoi(keys[0])
		if err != nil || i >= len(list) || len(keys) == 1 {
			panic(fmt.Sprintf("%q is no element of %v", keys, list))
		}
		set(list[i], keys[1:], v)
		return
	}
	m := in.(map[string]any)
	switch {
	case len(keys) > 1:
		if m[keys[0]] == nil {
			m[keys[0]] = map[string]any{}
		}
		set(m[keys[0]], keys[1:], v)
	case v == nil:
		delete(m, keys[0])
	default:
		m[keys[0]] = v
	}
}

// At returns the part of an object at a path, or nil.
func At(object any, path string) any {
	if path == "" {
		return object
	}
	key, rest, _ := strings.Cut(path, "/")
	switch o := object.(type) {
	case map[string]any:
		return At(o[key], rest)
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i < len(o) {
			return At(o[i], rest)
		}
	}
	return nil
}

// integers returns a decoded value with whole numbers as int64, as clients of Kubernetes
// need them.
func integers(v any) any {
	switch v := v.(type) {
	case float64:
		if whole := int64(v); float64(whole) == v {
			return whole
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = integers(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = integers(value)
		}
		return out
	}
	return v
}

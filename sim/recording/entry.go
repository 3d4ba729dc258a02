package recording

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reconcel/engine"
	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// An Entry is a line of a recording: exactly one of its fields besides the time.
type Entry struct {
	At      time.Time       `json:"at"`
	Start   *Start          `json:"start,omitempty"`
	Follow  *Follow         `json:"follow,omitempty"`
	Event   *Event          `json:"event,omitempty"`
	Serve   *engine.Request `json:"serve,omitempty"`
	CleanUp bool            `json:"cleanUp,omitempty"`
	Call    *Call           `json:"call,omitempty"`
	End     bool            `json:"end,omitempty"` // of a recording that was not cut off
}

// A Start is the start of an engine, with its options.
type Start struct {
	Namespace    string              `json:"namespace"`
	Name         string              `json:"name"`
	Namespaces   []string            `json:"namespaces,omitempty"`
	Events       engine.EventFilter  `json:"events,omitempty"`
	ReapplyEvery time.Duration       `json:"reapplyEvery,omitempty"`
	Shadow       bool                `json:"shadow,omitempty"` // its writes had no effect
	MaxDeletions *intstr.IntOrString `json:"maxDeletions,omitempty"`
}

// A Follow is the activation of rules.
type Follow struct {
	Files   []File                       `json:"files"`
	Objects []*unstructured.Unstructured `json:"objects"`
	Version string                       `json:"resourceVersion"`
	Numbers []KindNumbers                `json:"numbers,omitempty"`
}

// KindNumbers are the number fields of a kind.
type KindNumbers struct {
	Kind    schema.GroupVersionKind `json:"kind"`
	Numbers *kindschema.Numbers     `json:"numbers"`
}

// numbersIn returns number fields as a recording has them, sorted by kind.
func numbersIn(known kindschema.NumberFields) (all []KindNumbers) {
	for gvk, n := range known {
		all = append(all, KindNumbers{gvk, n})
	}
	slices.SortFunc(all, func(a, b KindNumbers) int { return strings.Compare(a.Kind.String(), b.Kind.String()) })
	return all
}

// numberFields returns the number fields of the kinds.
func (f *Follow) numberFields() kindschema.NumberFields {
	all := kindschema.NumberFields{}
	for _, k := range f.Numbers {
		all[k.Kind] = k.Numbers
	}
	return all
}

// A File is a rules file.
type File struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// An Event is a change of an object.
type Event struct {
	Old     *unstructured.Unstructured `json:"old,omitempty"` // of an object that was deleted
	New     *unstructured.Unstructured `json:"new,omitempty"`
	Version string                     `json:"resourceVersion"`
}

// A Call is a request of the engine, or another question to its dependencies.
type Call struct {
	Verb        string          `json:"verb"`
	Resource    string          `json:"resource,omitempty"` // group/version/resource
	Namespace   string          `json:"namespace,omitempty"`
	Name        string          `json:"name,omitempty"`
	Subresource string          `json:"subresource,omitempty"`
	Type        string          `json:"type,omitempty"` // of a patch
	Options     json.RawMessage `json:"options,omitempty"`
	Body        string          `json:"body,omitempty"`

	Answer json.RawMessage `json:"answer,omitempty"`
	Error  *Failure        `json:"error,omitempty"`
}

// Verbs of calls that are no requests.
const (
	findVerb      = "find"
	versionsVerb  = "versions"
	ownershipVerb = "ownership"
	randomVerb    = "random"
	changesVerb   = "changes" // those that a shadow wants
)

// IsWrite reports whether the call is a write.
func (c *Call) IsWrite() bool {
	switch c.Verb {
	case "create", "update", "patch", "delete":
		return true
	}
	return false
}

// String names the call for a message.
func (c *Call) String() string {
	parts := slices.DeleteFunc([]string{c.Resource, c.Namespace, c.Name, c.Subresource}, func(part string) bool { return part == "" })
	return c.Verb + " " + strings.Join(parts, "/")
}

// isSame reports whether two calls ask the same.
func (c *Call) isSame(other *Call) bool {
	return c.String() == other.String() && c.Type == other.Type && c.comparedOptions() == other.comparedOptions() && c.comparedBody() == other.comparedBody()
}

// comparedOptions omits fieldValidation: it affects no decision, and recordings of earlier versions
// lack it.
func (c *Call) comparedOptions() string {
	return strings.Replace(string(c.Options), `,"fieldValidation":"`+metav1.FieldValidationIgnore+`"`, "", 1)
}

// isInventory reports whether the call is about the inventory of an installation, or the text of its rules.
func (c *Call) isInventory() bool {
	return c.Resource == "/v1/configmaps" && (strings.HasSuffix(c.Name, inventory.Name("")) || strings.Contains(c.Name, rules.RevisionsSuffix))
}

const secrets = "/v1/secrets"

// comparedBody is the body without the values of a Secret, and without the compressed text of
// the rules, whose bytes depend on the version of Go.
func (c *Call) comparedBody() string {
	if c.Resource != secrets && !c.isInventory() {
		return c.Body
	}
	var object map[string]any
	if json.Unmarshal([]byte(c.Body), &object) != nil {
		return c.Body
	}
	if c.isInventory() {
		delete(object, "binaryData")
		text, _ := json.Marshal(object)
		return string(text)
	}
	for _, section := range []string{"data", "stringData"} {
		values, _ := object[section].(map[string]any)
		for key := range values {
			values[key] = ""
		}
	}
	text, err := json.Marshal(object)
	if err != nil {
		return c.Body
	}
	return string(text)
}

// A Failure is an error that a call returned.
type Failure struct {
	Status *metav1.Status        `json:"status,omitempty"` // of the API server
	NoKind *discover.NoKindError `json:"noKind,omitempty"`
	Text   string                `json:"text,omitempty"`
}

func failureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		s := status.Status()
		return &Failure{Status: &s}
	}
	if missing, ok := errors.AsType[discover.NoKindError](err); ok {
		return &Failure{NoKind: &missing}
	}
	return &Failure{Text: err.Error()}
}

func (f *Failure) err() error {
	switch {
	case f == nil:
		return nil
	case f.Status != nil:
		return &apierrors.StatusError{ErrStatus: *f.Status}
	case f.NoKind != nil:
		return *f.NoKind
	}
	return errors.New(f.Text)
}

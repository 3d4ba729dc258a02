package syntax

import (
	"slices"
	"strings"

	"reconcel/rules/source"
)

// ownPrefix is the prefix of reconcel's own labels and annotations.
const ownPrefix = "reconcel.dev/"

// IsOwn reports whether a label, annotation or finalizer is reserved for reconcel.
func IsOwn(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	return ok && (domain == "reconcel.dev" || strings.HasSuffix(domain, ".reconcel.dev"))
}

var (
	templateShape = source.Shape{
		Keys: []source.Key{
			{Name: "apiVersion", Value: apiVersionName,
				Doc: "Group and version, like `apps/v1`, or `v1` for the core group. Literal."},
			{Name: "kind", Required: true, Value: kindName,
				Doc: "The kind, like `Deployment`. Literal, because reconcel must know which kinds to watch. Without " +
					"`apiVersion`, it may be `self`: the kind of the primary."},
			{Name: "metadata", Required: true, Value: orComputed(metadataShape.Schema()),
				Doc: "The name of the object, its namespace and its labels. May be one `${...}` in whose last map " +
					"the name is written out, like `${merge(common, {\"name\": self.metadata.name})}`."},
		},
		Refused: []string{"status"},
		Others:  anything,
		More:    source.Schema{AllOf: []*source.Schema{versionUnlessSelf}},
	}
	// metadataShape is the metadata that a template may set.
	metadataShape = source.Shape{Keys: []source.Key{
		{Name: "name", Value: filledData, Doc: "The name. May contain `${...}`; a different value is a different object."},
		{Name: "generateName", Value: filledData, Doc: "The prefix of the names of a child with `replicas`."},
		{Name: "namespace", Value: orNothing(textData),
			Doc: "By default the namespace of the primary; another one needs `allow`. May contain `${...}`."},
		{Name: "labels", Value: marksData, Doc: "Labels of the object."},
		{Name: "annotations", Value: marksData, Doc: "Annotations of the object."},
		{Name: "finalizers", Value: listData, Doc: "Finalizers of the object."},
	}}
)

// withName returns the schema of an entry whose template sets one key of metadata
// as the name, and must not set the other.
func withName(key, other string) *source.Schema {
	metadata := withKey(other, nil)
	metadata.Required = []string{key}
	return withKey("template", withKey("metadata", metadata))
}

const apiServerSets = "the API server sets it"

// refusedMetadata maps fields that a template cannot set to the reason.
var refusedMetadata = map[string]string{
	"ownerReferences":            "reconcel sets the owner reference itself",
	"managedFields":              apiServerSets,
	"uid":                        apiServerSets,
	"resourceVersion":            apiServerSets,
	"generation":                 apiServerSets,
	"creationTimestamp":          apiServerSets,
	"deletionTimestamp":          apiServerSets,
	"deletionGracePeriodSeconds": apiServerSets,
	"selfLink":                   apiServerSets,
}

// RefusedMetadata returns why a template cannot set a field of metadata, or "".
func RefusedMetadata(key string) string {
	if why := refusedMetadata[key]; why != "" {
		return "cannot be set: " + why
	}
	if metadataShape.Find(key) == nil {
		return "is unknown: " + source.HintKeys(key, metadataShape.Names())
	}
	return ""
}

// A naming is the way in which the objects of a template get their names.
type naming int

const (
	named     naming = iota // metadata.name is the whole name
	numbered                // replicas: metadata.generateName is the prefix
	undecided               // the author has to choose first
)

// nameKey returns the key of metadata that is required.
func (nm naming) nameKey() string {
	if nm == numbered {
		return "generateName"
	}
	return "name"
}

// besideTemplate are keys of children that are not fields of an object.
var besideTemplate = []string{"forEach", "order", "readyWhen", "failWhen", "ifExists", "onChange", "maxUnavailable",
	"maxObjects", "onDelete", "ignoreFields", "generate"}

// readTemplate reads the template of a child.
func readTemplate(v source.Value, nm naming) *source.Node {
	if !v.IsMap() {
		mustBeWritten(v, "a map")
		return nil
	}
	for _, e := range v.PeekEntries() {
		if e.Key.Value == "status" {
			v.ErrorAt(e.Key.Pos, "a template cannot set status").Hint = "remove it"
		}
		if slices.Contains(besideTemplate, e.Key.Value) {
			v.ErrorAt(e.Key.Pos, "%s belongs beside template, not inside it", e.Key.Value).Hint = "indent it like template"
		}
	}
	self := readSelf(v).Value != ""
	for _, key := range []string{"apiVersion", "kind", "metadata"} {
		switch value := v.Peek(key); {
		case self && key != "metadata":
		case value.Missing():
			v.Errorf("missing %s", key)
		case key == "apiVersion":
			readAPIVersion(value)
		case key == "kind":
			readKind(value)
		default:
			checkMetadata(value, nm)
		}
	}
	return v.Data()
}

// mustBeWritten records an error for a map that is not written out.
func mustBeWritten(v source.Value, expected string) {
	if v.Computed() {
		v.Errorf("expected %s, got an expression", expected).Hint = "write the keys out, each value may be ${...}"
		return
	}
	v.WrongShape(expected)
}

func checkMetadata(v source.Value, nm naming) {
	if v.Alone() {
		return // It is checked with the types of its parts.
	}
	if !v.IsMap() {
		mustBeWritten(v, "a map with "+nm.nameKey())
		return
	}
	found := nm == undecided
	for _, e := range v.PeekEntries() {
		key := e.Key.Value
		if why := refusedMetadata[key]; why != "" {
			v.ErrorAt(e.Key.Pos, "%s cannot be set: %s", key, why)
			continue
		}
		switch key {
		case "name", "generateName":
			found = true
			checkName(v, e, nm)
		case "labels", "annotations":
			checkMarks(e.Value)
		default:
			if metadataShape.Find(key) == nil {
				v.ErrorAt(e.Key.Pos, "unknown key %q", key).Hint = source.HintKeys(key, metadataShape.Names())
				found = found || metadataShape.Meant(key) == nm.nameKey()
			}
		}
	}
	if !found {
		v.Errorf("missing %s", nm.nameKey())
	}
}

// checkName checks name or generateName.
func checkName(metadata source.Value, e source.Entry, nm naming) {
	v := e.Value
	switch {
	case e.Key.Value != nm.nameKey() && nm == named:
		metadata.ErrorAt(e.Key.Pos, "generateName cannot be set: the name must be known beforehand").Hint =
			"write name; generateName is for children with replicas"
	case e.Key.Value != nm.nameKey() && nm == numbered:
		metadata.ErrorAt(e.Key.Pos, "name cannot be set: each of the replicas gets its own").Hint = "write generateName, " +
			"the prefix of the names"
	case !v.IsTextOf("a string"):
	case v.Scalar() == "":
		v.Errorf("is empty")
	}
}

// checkMarks rejects labels and annotations that are reserved for reconcel, and
// values that the API server would reject.
func checkMarks(v source.Value) {
	if !v.IsMap() {
		if v.IsList() || !v.IsText() && !v.IsNull() {
			v.WrongShape("a map")
		}
		return
	}
	for _, e := range v.PeekEntries() {
		if IsOwn(e.Key.Value) {
			v.ErrorAt(e.Key.Pos, "%q cannot be set: %s is reserved for reconcel", e.Key.Value, ownPrefix)
			continue
		}
		if e.Value.IsScalar() && !e.Value.IsNull() {
			e.Value.IsTextOf("a string")
		}
	}
}

package syntax

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ownPrefix is that of the labels and annotations by which reconcel knows its
// own objects again.
const ownPrefix = "reconcel.dev/"

// IsOwn reports whether a label, annotation or finalizer is one of those by
// which reconcel knows what it has made and done.
func IsOwn(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	return ok && (domain == "reconcel.dev" || strings.HasSuffix(domain, ".reconcel.dev"))
}

var (
	templateShape = shape{
		keys: []key{
			{name: "apiVersion", required: true, value: apiVersionName, doc: "Group and version, like `apps/v1`, or `v1` for the core group. Literal."},
			{name: "kind", required: true, value: kindName, doc: "The kind, like `Deployment`. Literal, so that what has to be watched is known beforehand."},
			{name: "metadata", required: true, value: mapOf(&metadataShape), doc: "What the object is called, and its labels."},
		},
		refused: []string{"status"},
		others:  anything,
	}
	// metadataShape is what a template may say about its object.
	metadataShape = shape{keys: []key{
		{name: "name", value: filledData, doc: "The name. May hold `${...}`; if it comes out differently it is another object."},
		{name: "generateName", value: filledData, doc: "How the names begin, for a child with `replicas`."},
		{name: "namespace", value: orNothing(textData), doc: "The primary's own namespace by default; another one needs `allow`. May hold `${...}`."},
		{name: "labels", value: marksData, doc: "Labels of the object."},
		{name: "annotations", value: marksData, doc: "Annotations of the object."},
		{name: "finalizers", value: listData, doc: "Finalizers of the object."},
	}}
)

// withName returns the schema of an entry whose template has one key of metadata
// for the name, and not the other.
func withName(key, other string) *schema {
	metadata := holds(other, nil)
	metadata.Required = []string{key}
	return holds("template", holds("metadata", metadata))
}

const apiServerSets = "the API server sets it"

// refusedMetadata says why the rest is not for templates.
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

// naming is how the objects that a template makes get their names.
type naming int

const (
	named     naming = iota // metadata.name is all of it
	numbered                // replicas: metadata.generateName is how it begins
	undecided               // the author has to choose first
)

// key returns the key of metadata that is required.
func (nm naming) key() string {
	if nm == numbered {
		return "generateName"
	}
	return "name"
}

// besideTemplate are keys of children that no object has.
var besideTemplate = []string{"forEach", "readyWhen", "failWhen", "ifExists", "onChange", "maxUnavailable", "onDelete", "ignoreFields"}

// readTemplate reads the object that a child is made from.
func (s scope) readTemplate(n *yaml.Node, nm naming) *Node {
	if n.Kind != yaml.MappingNode {
		s.wrongShape(n, "a map")
		return nil
	}
	values := make(table)
	for _, e := range s.muted().entries(n) {
		values[e.key.Value] = e.value
		if e.key.Value == "status" {
			s.errorf(e.key.Pos, "status is a controller's to write, not a template's").Hint = "remove it"
		}
		if slices.Contains(besideTemplate, e.key.Value) {
			s.errorf(e.key.Pos, "%s stands beside template, not in it", e.key.Value).Hint = "indent it like template"
		}
	}
	if v := s.required(n, values, "apiVersion"); v != nil {
		s.key("apiVersion").apiVersion(v)
	}
	if v := s.required(n, values, "kind"); v != nil {
		s.key("kind").kind(v)
	}
	if v := s.required(n, values, "metadata"); v != nil {
		s.key("metadata").checkMetadata(v, nm)
	}
	return s.data(n)
}

// muted returns a scope whose complaints go nowhere, for what is read a
// second time.
func (s scope) muted() scope {
	s.parser = &parser{}
	return s
}

// required returns the value of a key that must be there.
func (s scope) required(n *yaml.Node, values table, key string) *yaml.Node {
	if values[key] == nil {
		s.errorf(s.text.pos(n), "missing %s", key)
		return nil
	}
	return values[key]
}

func (s scope) checkMetadata(n *yaml.Node, nm naming) {
	if n.Kind != yaml.MappingNode {
		s.wrongShape(n, "a map with "+nm.key())
		return
	}
	found := nm == undecided
	for _, e := range s.muted().entries(n) {
		key := e.key.Value
		if why := refusedMetadata[key]; why != "" {
			s.errorf(e.key.Pos, "%s cannot be set: %s", key, why)
			continue
		}
		switch key {
		case "name", "generateName":
			found = true
			s.checkName(e, nm)
		case "labels", "annotations":
			s.key(key).checkMarks(e.value)
		default:
			if !metadataShape.has(key) {
				s.errorf(e.key.Pos, "unknown key %q", key).Hint = hintKeys(key, metadataShape.names())
				found = found || metadataShape.meant(key) == nm.key()
			}
		}
	}
	if !found {
		s.errorf(s.text.pos(n), "missing %s", nm.key())
	}
}

// checkName checks name or generateName.
func (s scope) checkName(e entry, nm naming) {
	switch {
	case e.key.Value != nm.key() && nm == named:
		s.errorf(e.key.Pos, "generateName cannot be set: the name must be known beforehand").Hint =
			"write name; generateName is for children with replicas"
		return
	case e.key.Value != nm.key() && nm == numbered:
		s.errorf(e.key.Pos, "name cannot be set: each of the replicas gets its own").Hint = "write generateName, how the names begin"
		return
	}
	n := e.value
	s = s.key(e.key.Value)
	switch {
	case n.Kind != yaml.ScalarNode || isNull(n):
		s.wrongShape(n, "a string")
	case !isText(n):
		s.errorf(s.text.pos(n), "expected a string, got %s", describe(n)).Hint = "write " + quoted(n.Value)
	case n.Value == "":
		s.errorf(s.text.pos(n), "is empty")
	}
}

// checkMarks refuses labels and annotations that are reconcel's own, and
// values that the API server would refuse.
func (s scope) checkMarks(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		if n.Kind == yaml.SequenceNode || !isText(n) && !isNull(n) {
			s.wrongShape(n, "a map")
		}
		return
	}
	for _, e := range s.muted().entries(n) {
		if IsOwn(e.key.Value) {
			s.errorf(e.key.Pos, "%q cannot be set: %s is reconcel's own", e.key.Value, ownPrefix)
			continue
		}
		if e.value.Kind == yaml.ScalarNode && !isText(e.value) && !isNull(e.value) {
			s.key(e.key.Value).errorf(s.text.pos(e.value), "expected a string, got %s", describe(e.value)).Hint =
				"write " + quoted(e.value.Value)
		}
	}
}

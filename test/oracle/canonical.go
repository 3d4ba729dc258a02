package oracle

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var (
	uid       = regexp.MustCompile(`\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|bundle-[0-9a-f]{24})\b`)
	timestamp = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b`)
	temporary = regexp.MustCompile(regexp.QuoteMeta(os.TempDir()) + `/[^\s:"]*`)

	// chosen are fields whose values other components choose.
	chosen = []string{"clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort", "nodeName"}
	// hashes are annotations that depend on UIDs, or count changes.
	hashes = []string{"reconcel.dev/applied", "deployment.kubernetes.io/revision"}
	// incarnation are the fields of metadata that differ between objects of the same name.
	incarnation = []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields",
		"deletionGracePeriodSeconds", "generateName"}
)

// Names replaces the parts of names that differ between runs.
type Names struct {
	replacer  *strings.Replacer
	generated []*regexp.Regexp
	values    []string // keys of Secrets
}

// NewNames returns Names with pairs of an old and a new text, and with the prefixes of
// generated names.
func NewNames(generated []string, pairs ...string) Names {
	n := Names{replacer: strings.NewReplacer(pairs...)}
	for _, prefix := range generated {
		n.generated = append(n.generated, regexp.MustCompile(`(`+regexp.QuoteMeta(prefix)+`)[a-z0-9]{5,10}\b`))
	}
	return n
}

// mask replaces everything in a text that differs between runs.
func (n Names) mask(text string) string {
	text = n.replacer.Replace(text)
	for _, prefix := range n.generated {
		text = prefix.ReplaceAllString(text, "${1}GENERATED")
	}
	text = timestamp.ReplaceAllString(uid.ReplaceAllString(text, "UID"), "TIME")
	return temporary.ReplaceAllString(text, "FILE") // Messages name the file of the rules.
}

// canonical returns an object as text, without the parts that differ between runs. The
// status of an object that has a controller is left out, because others write it.
func (n Names) canonical(of version) string {
	live := of.object
	u := live.DeepCopy()
	n.numberValues(u, of.values)
	for _, field := range incarnation {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	annotations := u.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return slices.Contains(hashes, key) })
	u.SetAnnotations(withoutUIDs(annotations))
	if isChild(live) {
		delete(u.Object, "status")
	}
	text, err := json.Marshal(n.value(u.Object, live.GetGeneration()))
	if err != nil {
		panic(err) // An object from the API server can be encoded.
	}
	return string(text)
}

// shares begins the keys of the annotations of the owners of a shared object. The UID of the
// owner follows. The value has its name, and a hash that differs between runs.
const shares = "share.reconcel.dev/"

// withoutUIDs replaces the annotations of the owners of a shared object by one with their names.
func withoutUIDs(annotations map[string]string) map[string]string {
	var owners []string
	for key, value := range annotations {
		if strings.HasPrefix(key, shares) {
			owners = append(owners, value[:strings.LastIndex(value, "/")+1])
			delete(annotations, key)
		}
	}
	if slices.Sort(owners); len(owners) > 0 {
		annotations[shares] = strings.Join(owners, " ")
	}
	return annotations
}

// isChild reports whether a rule made the object, or another controller.
func isChild(u *unstructured.Unstructured) bool {
	_, labelled := u.GetLabels()["reconcel.dev/child"]
	_, annotated := u.GetAnnotations()["reconcel.dev/owner"]
	return labelled || annotated || len(u.GetOwnerReferences()) > 0
}

func (n Names) value(v any, generation int64) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, entry := range v {
			switch {
			case slices.Contains(chosen, key):
			case key == "observedGeneration" && entry == generation:
				out[key] = "CURRENT"
			default:
				out[n.mask(key)] = n.value(entry, generation)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, entry := range v {
			out[i] = n.value(entry, generation)
		}
		return out
	case string:
		return n.mask(v)
	default:
		return v
	}
}

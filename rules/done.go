package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/rules/expr"
	"reconcel/rules/kstatus"
)

// DonePrefix begins the key of an annotation of the primary: what objects of a rule have done, as
// JSON, a map of Done by object. The rest of the key is the rule's name.
const DonePrefix = "done.reconcel.dev/"

// AnnotationRunAgain on a primary asks to do again what is done, whenever its value changes.
const AnnotationRunAgain = "reconcel.dev/run-again"

// A Done is what is remembered of an object that has done its work: a Job that has finished, or an
// object with onChange: once or in finalize that was ready. As long as its rendering stays the same,
// the object is not created again when it is gone.
type Done struct {
	Child  string    `json:"child"`
	UID    types.UID `json:"uid"` // of the object
	Run    string    `json:"run"` // digest of the rendering that has run, see Desired.Run
	Again  string    `json:"again,omitempty"`
	Failed string    `json:"failed,omitempty"` // why it failed; "": it succeeded
	// Until is when the API server deletes a failed Job; nil: never. If it is deleted earlier, a user
	// wants to try it again.
	Until *metav1.Time `json:"until,omitempty"`
	// Of is the UID of the primary, for an entry of finalize. A restored copy of the primary runs
	// its entries again.
	Of types.UID `json:"of,omitempty"`
	// Object is what rules read of the object, without its spec. A Secret has none.
	Object map[string]any `json:"object,omitempty"`
}

// doneIn returns what the annotations of a primary say of the objects of a rule.
func doneIn(annotations map[string]any, r *Rule) (all map[string]*Done, err error) {
	text, found := annotations[DonePrefix+r.Name].(string)
	if !found {
		return nil, nil
	}
	if err := utiljson.Unmarshal([]byte(text), &all); err != nil { // Integers stay integers.
		return nil, err
	}
	maps.DeleteFunc(all, func(_ string, d *Done) bool { return d == nil })
	return all, nil
}

// DoneKey names an object in the annotation: Kind.group/namespace/name.
func DoneKey(id Identity) string {
	return strings.Join([]string{id.GVK.GroupKind().String(), id.Namespace, id.Name}, "/")
}

// AskedAgain reports whether a primary asks to do again what is done.
func (d *Done) AskedAgain(self map[string]any) bool {
	again, _ := mapAt(self, "metadata", "annotations")[AnnotationRunAgain].(string)
	return again != "" && again != d.Again
}

// Retried reports whether an object that is gone has failed, and is tried again, because nothing but a user has
// deleted it.
func (d *Done) Retried(now time.Time) bool {
	return d.Failed != "" && (d.Until == nil || now.Before(d.Until.Add(-clockSkew)))
}

// clockSkew is how far the clock of this process may be behind that of the process that deletes Jobs.
const clockSkew = 2 * time.Second

// doneBy returns what an object has done, or nil.
func (r *liveObjects) doneBy(id Identity) *Done {
	done := r.result.Done[DoneKey(id)]
	if done == nil || done.Of != "" && string(done.Of) != r.primary.uid {
		return nil
	}
	return done
}

// recalled returns what is left of an object that is done, in place of one that is gone or going.
func (r *liveObjects) recalled(id Identity, live Live) Live {
	done := r.doneBy(id)
	switch {
	case done == nil, done.AskedAgain(r.in.Self), done.Retried(r.in.Now):
		return live
	case live.Object != nil && (!live.leaves() || identityOf(live.Object).uid != string(done.UID)):
		return live
	}
	return Live{Object: done.remains(id), Done: done}
}

// recalledAll adds what is left of the objects of a child to those that exist.
func (r *liveObjects) recalledAll(c *Child, all []Live) []Live {
	if len(r.result.Done) == 0 || !c.Remembers() {
		return all
	}
	all = slices.Clone(all)
	exist := map[string]bool{}
	for i, live := range all {
		o := identityOf(live.Object)
		id := Identity{GVK: c.GVK, Namespace: o.namespace, Name: o.name}
		exist[DoneKey(id)] = true
		all[i] = r.recalled(id, live)
	}
	for _, key := range slices.Sorted(maps.Keys(r.result.Done)) {
		kind, rest, _ := strings.Cut(key, "/")
		namespace, name, _ := strings.Cut(rest, "/")
		if r.result.Done[key].Child != c.ID || exist[key] || kind != c.GVK.GroupKind().String() {
			continue
		}
		if live := r.recalled(Identity{GVK: c.GVK, Namespace: namespace, Name: name}, Live{}); live.Done != nil {
			all = append(all, live)
		}
	}
	return all
}

// remains returns what is left of an object.
func (d *Done) remains(id Identity) map[string]any {
	object := maps.Clone(d.Object)
	if object == nil {
		object = map[string]any{}
	}
	metadata := maps.Clone(mapAt(object, "metadata"))
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["name"], metadata["uid"] = id.Name, string(d.UID)
	if id.Namespace != "" {
		metadata["namespace"] = id.Namespace
	}
	object["apiVersion"], object["kind"] = id.GVK.ToAPIVersionAndKind()
	object["metadata"] = metadata
	return object
}

func (d *Done) readiness() (kstatus.Readiness, string) {
	if d.Failed != "" {
		return kstatus.Stalled, d.Failed
	}
	return kstatus.Ready, ""
}

// Remembers reports whether objects of the child are done once they have been ready, or, as a Job,
// have finished.
func (c *Child) Remembers() bool {
	return !c.Shared && !c.HasReplicas() && (c.IsJob() || c.OnChange == Once || c.Timeout > 0)
}

// IsJob reports whether the objects of the child are Jobs, which finish.
func (c *Child) IsJob() bool { return c.GVK.Group == "batch" && c.GVK.Kind == "Job" }

// Remembers reports whether objects of the rule may be done.
func (r *Rule) Remembers() bool { return slices.ContainsFunc(r.Children, (*Child).Remembers) }

// ttlField makes the API server delete a Job some time after it has finished.
var ttlField = []string{"spec", "ttlSecondsAfterFinished"}

// late returns the paths of the fields that are set only when an object is known to be done. A Job
// with a short time to live would otherwise be gone before anybody has seen how it ended.
func (c *Child) late() [][]string {
	if c.IsJob() && c.Remembers() {
		return [][]string{ttlField}
	}
	return nil
}

// Late returns the fields of the rendering that are set when the object is done.
func (d *Desired) Late() []FieldValue {
	paths := d.Child.late()
	if len(paths) == 0 {
		return nil
	}
	object, err := d.Object()
	if err != nil {
		return nil
	}
	var out []FieldValue
	for _, path := range paths {
		if v, ok := mapAt(object, path[0])[path[1]]; ok {
			out = append(out, FieldValue{path, v})
		}
	}
	return out
}

// Run returns a digest of what the object does: of its rendering without its metadata and the fields
// that are set late. It is "" if the object is not rendered.
func (d *Desired) Run() string { return runOf(d.Child, d.body) }

// IsDone reports whether the object needs not be there, because it has done what the rendering says. With
// onChange: keep, and in finalize, any rendering will do, as for an object that exists.
func (d *Desired) IsDone(done *Done) bool { return done.covers(d.Child, d.body) }

func (d *Done) covers(c *Child, body []byte) bool {
	return c.keeps() || d.Run == runOf(c, body)
}

func runOf(c *Child, body []byte) string {
	if len(body) == 0 {
		return ""
	}
	var object map[string]any
	if err := utiljson.Unmarshal(append(expr.Close(bytes.Clone(body), '}'), "}}"...), &object); err != nil {
		return ""
	}
	for _, key := range []string{"apiVersion", "kind", "metadata"} {
		delete(object, key)
	}
	for _, path := range c.late() {
		delete(mapAt(object, path[0]), path[1])
	}
	text, err := json.Marshal(object)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

package engine

import (
	"cmp"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/engine/write"
	"reconcel/rules"
)

// TestDecide expects the next step for every state of an object.
func TestDecide(t *testing.T) {
	self := ident.Request{Kind: schema.GroupKind{Group: "example.org", Kind: "Foo"}, Namespace: "default", Name: "foo", UID: "u1"}
	rendered := func(change func(*rules.Child)) *rules.Desired {
		c := &rules.Child{ID: "web", Rule: &rules.Rule{Name: "foo"}, GVK: deployment}
		if change != nil {
			change(c)
		}
		return &rules.Desired{Child: c, Hash: [16]byte{1}, Identity: rules.Identity{GVK: deployment, Namespace: "default", Name: "web"}}
	}
	hash := hex.EncodeToString(append([]byte{1}, make([]byte, 15)...))
	ours := `"ownerReferences":[{"apiVersion":"example.org/v1","kind":"Foo","name":"foo","uid":"u1","controller":true}]`
	former := `"ownerReferences":[{"apiVersion":"example.org/v1","kind":"Foo","name":"foo","uid":"u0","controller":true}]`
	other := `"ownerReferences":[{"apiVersion":"example.org/v1","kind":"Bar","name":"bar","uid":"u9","controller":true}]`
	applied := func(hash string) string { return `"annotations":{"` + rules.AnnotationApplied + `":"` + hash + `"}` }
	orphaned := `"labels":{"` + rules.LabelRule + `":"foo","` + rules.LabelChild + `":"web"},"annotations":{"` + rules.AnnotationOrphan + `":"true","` +
		rules.AnnotationOwner + `":"u0/Foo.example.org/default/foo"}`
	labelled := `"labels":{"` + rules.LabelRule + `":"foo","` + rules.LabelChild + `":"web"},"creationTimestamp":"2030-01-01T00:00:00Z"`
	const ownLabels = `{"f:metadata":{"f:labels":{"f:` + rules.LabelRule + `":{},"f:` + rules.LabelChild + `":{}}}}`
	ending := `,"deletionTimestamp":"2030-01-01T00:00:00Z"`

	keep := func(c *rules.Child) { c.OnChange = rules.Keep }
	replace := func(c *rules.Child) { c.OnChange = rules.Replace }
	adopt := func(c *rules.Child) { c.Adopt = true }
	const appliedFields = `{"f:spec":{}}`
	last := access.Written{UID: "u2", Hash: [16]byte{1}, Fields: managedfields.NewEntry(appliedFields)}
	for _, c := range []struct {
		name     string
		child    func(*rules.Child)
		waits    bool
		metadata string // "": there is no object
		fields   string // fields that reconcel owns; "": as after its last write
		change   func(*write.Known)
		want     decide.Step
	}{
		{name: "nothing", want: decide.Step{Action: outcome.Created}},
		{name: "nothing, and a closed gate", waits: true, want: decide.SkipFor(decide.ForValues)},
		{name: "ours, as applied", metadata: ours + "," + applied(hash), want: decide.Step{Action: outcome.Unchanged}},
		{name: "ours, as applied, and a closed gate", waits: true, metadata: ours + "," + applied(hash), want: decide.Step{Action: outcome.Unchanged}},
		{name: "ours, fields lost", metadata: ours + "," + applied(hash), fields: `{"f:metadata":{}}`, want: decide.Step{Action: outcome.Configured}},
		{name: "ours, applied again from time to time", metadata: ours + "," + applied(hash), change: func(k *write.Known) { k.Renew = true }, want: decide.Step{Action: outcome.Configured}},
		{name: "ours, of another rendering", metadata: ours + "," + applied("00"), want: decide.Step{Action: outcome.Configured}},
		{name: "ours, of another rendering, and a closed gate", waits: true, metadata: ours + "," + applied("00"), want: decide.SkipFor(decide.ForValues)},
		{name: "ours, of another rendering, onChange: keep", child: keep, metadata: ours + "," + applied("00"), want: decide.Step{Action: outcome.Unchanged}},
		{name: "ours, of another rendering, onChange: replace", child: replace, metadata: ours + "," + applied("00"),
			change: func(k *write.Known) { k.Written = &access.Written{} }, want: decide.Step{Action: outcome.Replaced}},
		{name: "ours, without a mark, onChange: replace", child: replace, metadata: ours, want: decide.Step{Action: outcome.Configured}},
		{name: "ours, being deleted", metadata: ours + ending, want: decide.SkipFor(decide.ForDeletion)},
		{name: "ours, deleted by us", metadata: ours, change: func(k *write.Known) { k.Deleted = true }, want: decide.SkipFor(decide.ForDeletion)},
		{name: "of another owner, being deleted", metadata: other + ending, want: decide.SkipFor(decide.ForDeletion)},
		{name: "of another owner", metadata: other, want: decide.SkipFor(decide.ForName)},
		{name: "of another owner, ifExists: adopt", child: adopt, metadata: other, want: decide.SkipFor(decide.ForName)},
		{name: "of a former primary of the name", metadata: former, want: decide.SkipFor(decide.ForDeletion)},
		{name: "without an owner, never written by us", metadata: `"name":"web"`, change: func(k *write.Known) { k.Written = &access.Written{} }, want: decide.SkipFor(decide.ForName)},
		{name: "without an owner, written by us", metadata: `"name":"web"`, want: decide.Step{Action: outcome.Configured}},
		{name: "without an owner, never written by us, with our labels", metadata: labelled, fields: ownLabels,
			change: func(k *write.Known) { k.Written = &access.Written{} }, want: decide.Step{Action: outcome.Configured}},
		{name: "orphaned by the garbage collector, with our labels", metadata: labelled + "," + applied("00"), fields: ownLabels,
			change: func(k *write.Known) { k.Written = &access.Written{} }, want: decide.SkipFor(decide.ForName)},
		{name: "without an owner, never written by us, with our labels and those of another child", metadata: strings.Replace(labelled, "web", "api", 1), fields: ownLabels,
			change: func(k *write.Known) { k.Written = &access.Written{} }, want: decide.SkipFor(decide.ForName)},
		{name: "without an owner, never written by us, with labels of another writer", metadata: labelled, fields: `{"f:spec":{}}`,
			change: func(k *write.Known) { k.Written = &access.Written{} }, want: decide.SkipFor(decide.ForName)},
		{name: "without an owner, never written by us, with our labels, older than the primary", metadata: labelled, fields: ownLabels,
			change: func(k *write.Known) {
				k.Written, k.Since = &access.Written{}, metav1.Date(2030, 1, 1, 0, 0, 1, 0, time.UTC)
			}, want: decide.SkipFor(decide.ForName)},
		{name: "without an owner, ifExists: adopt", child: adopt, metadata: `"name":"web"`,
			change: func(k *write.Known) { k.Written = &access.Written{} }, want: decide.Step{Action: outcome.Adopted}},
		{name: "without an owner, ifExists: adopt, and a closed gate", child: adopt, waits: true, metadata: `"name":"web"`,
			change: func(k *write.Known) { k.Written = &access.Written{} }, want: decide.SkipFor(decide.ForValues)},
		{name: "without an owner, ifExists: adopt, for a primary that is being deleted", child: adopt, metadata: `"name":"web"`,
			change: func(k *write.Known) { k.Written, k.Ending = &access.Written{}, true }, want: decide.SkipFor(decide.ForName)},
		{name: "orphaned by a former primary of the name", metadata: orphaned, fields: `{"f:metadata":{"f:annotations":{"f:` + rules.AnnotationOwner + `":{}}}}`,
			want: decide.Step{Action: outcome.Adopted}},
		{name: "orphaned by a former primary of the name, by a mark that we have not written", metadata: orphaned, fields: `{}`, want: decide.SkipFor(decide.ForName)},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := rendered(c.child)
			if c.waits {
				d.Waits = []string{"a value"}
			}
			w := last
			k := write.Known{Primary: self, Since: metav1.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), Written: &w}
			if c.change != nil {
				c.change(&k)
			}
			var live *watch.Object
			if c.metadata != "" {
				u := decode(t, []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"default","uid":"u2",`+c.metadata+`}}`))
				live = watch.NewObject(owning(t, u, watch.Child, cmp.Or(c.fields, appliedFields)), watch.Child)
			}
			if got := write.Decide(d, live, k); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

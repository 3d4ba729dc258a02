package shadow_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/shadow"
	"reconcel/rules"
)

var (
	primary = rules.Owner{Kind: schema.GroupKind{Group: "example.com", Kind: "Foo"}, Namespace: "team", Name: "foo", UID: "1"}
	web     = shadow.Part{Resource: schema.GroupResource{Group: "apps", Resource: "deployments"}, Namespace: "team", Name: "web", Manager: "reconcel"}
)

// A book is a ledger, told of what happens to one Deployment.
type book struct {
	*testing.T
	*shadow.Ledger
	now    time.Time
	exists bool
}

func newBook(t *testing.T) *book {
	now := time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)
	return &book{T: t, Ledger: shadow.NewLedger(now), now: now}
}

// wants reconciles: the shadow wants a change, or nothing if the action is "".
func (b *book) wants(action shadow.Action, body string) bool {
	b.now = b.now.Add(time.Millisecond)
	o := shadow.Outcome{Exists: func(string, shadow.Part) bool { return b.exists }}
	if action != "" {
		o.Changes = []shadow.Change{{Part: web, Kind: "Deployment", Action: action, Digest: shadow.DigestOf([]byte(body), false)}}
	}
	return b.Reconciled(primary, o, b.now)
}

func (b *book) saw(action shadow.Action) {
	b.Saw(shadow.Sighting{Part: web, Kind: "Deployment", Action: action, Unsure: action == shadow.Deleted, Primaries: []rules.Owner{primary}})
}

// says checks the whole report.
func (b *book) says(want ...string) {
	b.Helper()
	var got []string
	for _, l := range b.Report().Changes {
		got = append(got, fmt.Sprintf("%s %s: %d agreed, %d outstanding, %d differing, %d withdrawn %v", l.Action, l.Kind, l.Agreed, l.Outstanding, l.Differing, l.Withdrawn, l.Names))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.Errorf("the report has %q, want %q", got, want)
	}
}

func TestAChangeCountsOnce(t *testing.T) {
	b := newBook(t)
	if !b.wants(shadow.Created, `{"spec":1,"metadata":{"resourceVersion":"6"}}`) || b.wants(shadow.Created, `{"spec":1,"metadata":{"resourceVersion":"7"}}`) {
		t.Error("a change is new once")
	}
	b.says("created Deployment: 0 agreed, 1 outstanding, 0 differing, 0 withdrawn [team/web]")
	b.saw(shadow.Created)
	b.wants("", "")
	b.says("created Deployment: 1 agreed, 0 outstanding, 0 differing, 0 withdrawn [team/web]")
}

func TestTheOtherControllerIsFaster(t *testing.T) {
	b := newBook(t)
	b.saw(shadow.Created)
	b.saw(shadow.Configured)
	b.wants("", "")
	b.says("created Deployment: 1 agreed, 0 outstanding, 0 differing, 0 withdrawn [team/web]",
		"configured Deployment: 1 agreed, 0 outstanding, 0 differing, 0 withdrawn [team/web]")
}

func TestTheOtherControllerWritesSomethingElse(t *testing.T) {
	b := newBook(t)
	b.saw(shadow.Configured)
	b.wants(shadow.Configured, `{"spec":1}`)
	b.says("configured Deployment: 0 agreed, 1 outstanding, 1 differing, 0 withdrawn [team/web]")
}

// TestAChangeThatNobodyMakes counts only if it was wanted for a while.
func TestAChangeThatNobodyMakes(t *testing.T) {
	b := newBook(t)
	b.wants(shadow.Configured, `{"spec":1}`)
	b.wants("", "")
	b.says()
	b.wants(shadow.Configured, `{"spec":1}`)
	b.now = b.now.Add(time.Minute)
	b.wants(shadow.Configured, `{"spec":2}`)
	b.says("configured Deployment: 0 agreed, 1 outstanding, 0 differing, 1 withdrawn [team/web]")
}

func TestWhoDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		tell func(*book)
		want []string
	}{
		"the other controller, wanted before":   {func(b *book) { b.wants(shadow.Deleted, ""); b.saw(shadow.Deleted) }, []string{"deleted Deployment: 1 agreed, 0 outstanding, 0 differing, 0 withdrawn [team/web]"}},
		"the other controller, not rendered":    {func(b *book) { b.saw(shadow.Deleted); b.wants("", "") }, []string{"deleted Deployment: 1 agreed, 0 outstanding, 0 differing, 0 withdrawn [team/web]"}},
		"a user, whom the controller is yet to": {func(b *book) { b.exists = true; b.saw(shadow.Deleted); b.wants(shadow.Created, "") }, []string{"created Deployment: 0 agreed, 1 outstanding, 0 differing, 0 withdrawn [team/web]"}},
		"a user, and it is back already":        {func(b *book) { b.exists = true; b.saw(shadow.Deleted); b.saw(shadow.Created); b.wants("", "") }, []string{"created Deployment: 1 agreed, 0 outstanding, 0 differing, 0 withdrawn [team/web]"}},
		"the other controller, which has seen a change first": {func(b *book) {
			b.exists = true
			b.saw(shadow.Deleted)
			b.wants(shadow.Created, "")
			b.exists = false
			b.wants("", "")
		}, []string{"deleted Deployment: 1 agreed, 0 outstanding, 0 differing, 0 withdrawn [team/web]"}},
		"the other controller, while the shadow decides": {func(b *book) {
			b.saw(shadow.Deleted)
			b.wants(shadow.Deleted, "")
			b.wants("", "")
		}, []string{"deleted Deployment: 1 agreed, 0 outstanding, 0 differing, 0 withdrawn [team/web]"}},
		"a user, and it cannot be created yet": {func(b *book) {
			b.exists = true
			b.saw(shadow.Deleted)
			b.wants("", "")
			b.saw(shadow.Created)
			b.wants("", "")
		}, []string{"created Deployment: 1 agreed, 0 outstanding, 0 differing, 0 withdrawn [team/web]"}},
		"the garbage collector": {func(b *book) { b.saw(shadow.Deleted); b.Gone(primary, b.now) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t)
			c.tell(b)
			b.says(c.want...)
		})
	}
}

func TestDigests(t *testing.T) {
	same := func(a, b string, isSecret bool) bool {
		return shadow.DigestOf([]byte(a), isSecret) == shadow.DigestOf([]byte(b), isSecret)
	}
	if !same(`{"metadata":{"name":"a","uid":"1","resourceVersion":"1"},"status":{"conditions":[{"type":"Ready","lastTransitionTime":"x"}]}}`,
		`{"status":{"conditions":[{"lastTransitionTime":"y","type":"Ready"}]},"metadata":{"name":"a"}}`, false) {
		t.Error("the state that a write is for counts")
	}
	if !same(`{"data":{"a":"1"}}`, `{"data":{"a":"2"}}`, true) || same(`{"data":{"a":"1"}}`, `{"data":{"a":"2"}}`, false) {
		t.Error("values count in a Secret, or do not in another object")
	}
}

func TestText(t *testing.T) {
	b := newBook(t)
	if got := b.Report().Text(); got != "The shadow wanted no change, and saw none.\n" {
		t.Errorf("an empty report is %q", got)
	}
	b.wants(shadow.Created, "")
	const want = "ACTION    KIND         AGREED   OUTSTANDING   DIFFERING   WITHDRAWN   OBJECTS\n" +
		"created   Deployment   0        1             0           0           team/web\n"
	if got := b.Report().Text(); got != want {
		t.Errorf("the report is\n%swant\n%s", got, want)
	}
}

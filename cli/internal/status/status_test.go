package status

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/output"
	"reconcel/engine/inventory"
	"reconcel/rules"
	"reconcel/rules/source"
)

// now is the current time in the tests of status.
var now = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// website is a resource of generation 4 with these further fields in YAML.
func website(t *testing.T, rest string) *unstructured.Unstructured {
	t.Helper()
	text := "apiVersion: web.acme.io/v1\nkind: Website\n" + rest
	u := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	u.SetNamespace("default")
	u.SetName("blog")
	u.SetGeneration(4)
	u.SetCreationTimestamp(metav1.NewTime(now.Add(-time.Hour)))
	return u
}

// conditionEntry is an entry of status.conditions with a transition some minutes ago.
func conditionEntry(of, status, reason, message string, minutes int, observed string) string {
	at := now.Add(-time.Duration(minutes) * time.Minute).Format(time.RFC3339)
	return "  - {type: " + of + ", status: \"" + status + "\", reason: " + reason + ", message: " + message +
		", lastTransitionTime: \"" + at + "\", observedGeneration: " + observed + "}\n"
}

func TestStatesOfResources(t *testing.T) {
	const list = "status:\n  conditions:\n"
	const deleted = "metadata: {deletionTimestamp: \"2030-01-01T11:30:00Z\", finalizers: [reconcel.dev/website, other.io/x]}\n"
	notReady := conditionEntry("Ready", "False", "X", "m", 9, "4")
	for name, test := range map[string]struct {
		rest    string
		without bool // the kind has no conditions
		want    string
	}{
		"ready":    {list + conditionEntry("Ready", "True", "Reconciled", "fine", 9, "4"), false, "ready Reconciled 9m fine"},
		"stalled":  {list + notReady + conditionEntry("Stalled", "True", "InvalidSpec", "no host", 5, "4"), false, "stalled InvalidSpec 5m no host"},
		"retrying": {list + notReady + conditionEntry("Reconciling", "True", "Retrying", "webhook", 5, "4"), false, "retrying Retrying 5m webhook"},
		"waiting":  {list + notReady + conditionEntry("Reconciling", "True", "Waiting", "for it", 5, "4"), false, "waiting Waiting 5m for it"},
		"the namespace ends": {list + notReady + conditionEntry("Reconciling", "True", "NamespaceTerminating", "it ends", 5, "4"), false,
			"waiting NamespaceTerminating 5m it ends"},
		"progressing": {list + notReady + conditionEntry("Reconciling", "True", "Progressing", "1 of 3", 5, "4"), false, "progressing Progressing 5m 1 of 3"},
		"paused": {"metadata: {annotations: {reconcel.dev/paused: \"yes\"}}\n" + list + conditionEntry("Ready", "Unknown", "Paused", "paused by me", 5, "4"), false,
			"paused Paused 5m paused by me"},
		"paused, and reconcel has not observed it": {"metadata: {annotations: {reconcel.dev/paused: \"yes\"}}\n" + list + conditionEntry("Ready", "True", "Reconciled", "fine", 9, "4"), false,
			"paused Paused - paused by the annotation reconcel.dev/paused"},
		"Ready of another controller": {list + conditionEntry("Ready", "False", "Theirs", "hm", 5, "4"), false, "unknown Theirs 5m hm"},
		"no conditions yet":           {"", false, "unknown NotObserved 60m reconcel has not written conditions yet"},
		"a newer generation": {"metadata: {managedFields: [{manager: kubectl, time: \"2030-01-01T11:58:00Z\"}, {manager: reconcel, subresource: status, time: \"2030-01-01T11:59:00Z\"}]}\n" +
			list + conditionEntry("Ready", "True", "Reconciled", "fine", 9, "3"), false,
			"unknown NotObserved 2m generation 4 is not observed yet; generation 3 was ready: fine"},
		"a kind that does not count generations": {list + conditionEntry("Ready", "True", "Reconciled", "fine", 9, "0"), false, "ready Reconciled 9m fine"},
		"held":                                   {deleted + list + conditionEntry("Ready", "True", "Reconciled", "fine", 9, "4"), false, "waiting Deleting 30m held by the finalizer reconcel.dev/website"},
		"held, and it says why": {deleted + list + notReady + conditionEntry("Reconciling", "True", "Finalizing", "the backup", 9, "4"), false,
			"waiting Finalizing 30m the backup"},
		"held, by a trouble":         {deleted + list + notReady + conditionEntry("Stalled", "True", "Forbidden", "no right", 9, "4"), false, "stalled Forbidden 9m no right"},
		"without conditions":         {"", true, "unreported NoConditions - the kind has no status.conditions: see its Events"},
		"reported in its annotation": {reported(`{"ready":"False","reason":"Waiting","message":"for it"}`, "reconcel/status.01234567"), true, "waiting Waiting - for it"},
		"reported as ready":          {reported(`{"ready":"True","reason":"Reconciled","message":"fine"}`, "reconcel/status.01234567"), true, "ready Reconciled - fine"},
		"a copy of an annotation": {reported(`{"ready":"True","reason":"Reconciled","message":"fine"}`, "kube-controller-manager"), true,
			"unreported NoConditions - the kind has no status.conditions: see its Events"},
		"an annotation that is not reconcel's": {reported("fine", "reconcel/status.01234567"), true,
			"unreported NoConditions - the kind has no status.conditions: see its Events"},
		"paused and without any":       {"metadata: {annotations: {reconcel.dev/paused: \"1\"}}\n", true, "paused Paused - paused by the annotation reconcel.dev/paused"},
		"held and without any":         {deleted, true, "waiting Deleting 30m held by the finalizer reconcel.dev/website"},
		"conditions that are no list":  {"status: {conditions: x}\n", false, "unknown NotObserved 60m reconcel has not written conditions yet"},
		"a condition without its time": {list + "  - {type: Ready, status: \"True\", reason: Reconciled}\n", false, "ready Reconciled - "},
	} {
		t.Run(name, func(t *testing.T) {
			k := &kind{hasConditions: !test.without}
			s := k.resource(website(t, test.rest))
			if got := strings.Join([]string{string(s.State), s.Reason, output.Age(s.Since, now), s.Message}, " "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// reported is the metadata of a resource with the annotation of report, which a manager owns.
func reported(value, manager string) string {
	return "metadata:\n  annotations: {reconcel.dev/status: '" + value + "'}\n  managedFields:\n  - {manager: " + manager +
		", operation: Apply, fieldsType: FieldsV1, fieldsV1: {f:metadata: {f:annotations: {f:reconcel.dev/status: {}}}}}\n"
}

// resource is a resource that entered a state some minutes ago.
func resource(name string, state State, minutes int, message string) Resource {
	return Resource{Kind: "Website", Namespace: "default", Name: name, State: state, Reason: "R", Message: message,
		Since: &metav1.Time{Time: now.Add(-time.Duration(minutes) * time.Minute)}, Generation: 4, ObservedGeneration: 3}
}

func TestWorstAndOldestComeFirst(t *testing.T) {
	undated := resource("undated", stalled, 0, "")
	undated.Since = nil
	all := []Resource{
		resource("w", waiting, 90, ""), undated, resource("young", stalled, 1, ""), resource("p", paused, 99, ""),
		resource("old", stalled, 50, ""), resource("r", ready, 500, ""), resource("t", retrying, 1, ""),
	}
	slices.SortFunc(all, byUrgency)
	var got []string
	for _, r := range all {
		got = append(got, r.Name)
	}
	if want := []string{"old", "young", "undated", "t", "w", "p", "r"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// printTo returns a function that prints to a buffer.
func printTo(b *bytes.Buffer) func([]byte) error {
	return func(text []byte) error {
		_, err := b.Write(text)
		return err
	}
}

func TestStatusTable(t *testing.T) {
	long := strings.Repeat("long ", 100)
	all := []Resource{resource("blog", stalled, 5, "no\nhost \x1b[31mred"), resource("a-longer-name", waiting, 90, long)}
	var b bytes.Buffer
	table := &Table{Print: printTo(&b), Namespaces: true}
	for _, part := range [][]Resource{all, {resource("later", ready, 0, "")}} {
		if err := table.Write(part, now); err != nil {
			t.Fatal(err)
		}
	}
	want := `NAMESPACE   KIND/NAME               STATE     REASON   FOR   MESSAGE
default     website/blog            stalled   R        5m    no host  [31mred
default     website/a-longer-name   waiting   R        90m   ` + long[:157] + `...
default     website/later           ready     R        0s
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	if err := (&Table{Print: printTo(&b), Wide: true, Coloured: true}).Write(all[1:], now); err != nil {
		t.Fatal(err)
	}
	want = "KIND/NAME               STATE     REASON   FOR   GENERATION   MESSAGE\n" +
		"website/a-longer-name   \x1b[33mwaiting\x1b[0m   R        90m   3/4          " + strings.TrimRight(long, " ") + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestJSONOfStatus pins the names of the fields, because scripts rely on them.
func TestJSONOfStatus(t *testing.T) {
	report := &Report{
		Resources: []Resource{resource("blog", stalled, 5, "no host")},
		Summary:   Summary{Resources: 3, Kinds: 1, States: map[State]int{stalled: 1, ready: 2}},
		Leaders:   []Leader{{Namespace: "a", Name: "b", State: leading, Holder: "me", Renewed: &metav1.Time{Time: now}, Message: "me leads"}},
		Problems:  []Problem{{Type: kindNotServed, Kind: "Shop.acme.io", Rules: []string{"shop"}, Message: "m"}},
	}
	text, err := output.JSON(report)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"resources": []any{map[string]any{
			"apiVersion": "", "kind": "Website", "namespace": "default", "name": "blog", "uid": "", "state": "stalled", "reason": "R",
			"message": "no host", "since": "2030-01-01T11:55:00Z", "generation": 4.0, "observedGeneration": 3.0,
		}},
		"summary":  map[string]any{"resources": 3.0, "kinds": 1.0, "states": map[string]any{"stalled": 1.0, "ready": 2.0}},
		"leaders":  []any{map[string]any{"namespace": "a", "name": "b", "state": "leading", "holder": "me", "renewed": "2030-01-01T12:00:00Z", "message": "me leads"}},
		"problems": []any{map[string]any{"type": "KindNotServed", "kind": "Shop.acme.io", "rules": []any{"shop"}, "message": "m"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := report.Footer(); got != "m\nleader of a/b: me leads\n1 stalled, 2 ready of 3 resources of 1 kind\n" {
		t.Errorf("footer:\n%s", got)
	}
}

// TestResourcesThatNoRuleSelects expects status to omit resources that none of the given
// rules selects.
func TestResourcesThatNoRuleSelects(t *testing.T) {
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(`
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- {name: website, for: {apiVersion: web.acme.io/v1, kind: Website, namespaces: ["team-*"], selector: {matchLabels: {tier: web}}}}
`)}})
	if err != nil {
		t.Fatal(err)
	}
	k := kindsOfProgram(program)[0]
	u := website(t, "metadata: {labels: {tier: web}}\n")
	for namespace, want := range map[string]bool{"team-a": true, "default": false} {
		if u.SetNamespace(namespace); k.isPrimary(u) != want {
			t.Errorf("in namespace %s a rule is for it: %t", namespace, !want)
		}
	}
	u.SetNamespace("team-a")
	u.SetLabels(nil)
	if k.isPrimary(u) {
		t.Error("a rule is for it without the label")
	}
	if u.SetFinalizers([]string{"reconcel.dev/website"}); !k.isPrimary(u) {
		t.Error("one that reconcel holds is left out")
	}
}

func TestKindsOfAnInventory(t *testing.T) {
	entries, err := inventory.Stored{Data: map[string]string{
		"website": `{"for":"Website.web.acme.io","children":[],"former":["Site.web.acme.io"]}`,
		"also":    `{"for":"Website.web.acme.io","children":[]}`,
	}}.Entries()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, k := range kindsOfInventories(entries) {
		got[k.gk.String()] = k.rules
	}
	want := map[string][]string{"Website.web.acme.io": {"also", "website"}, "Site.web.acme.io": nil}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestEventsStandInForConditions has a kind without conditions. Its newest Event shows
// the problem unless a later Event shows success.
func TestEventsStandInForConditions(t *testing.T) {
	event := func(uid, kind, reason, at string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"type": kind, "reason": reason, "note": "n", "eventTime": at, "regarding": map[string]any{"uid": uid},
		}}
	}
	k := &kind{events: newestEvents{}}
	k.events.add(event("bad", "Normal", "Synced", "2030-01-01T11:00:00.000000Z"))
	k.events.add(event("bad", "Warning", "RuleError", "2030-01-01T11:50:00.000000Z"))
	k.events.add(event("good", "Warning", "RuleError", "2030-01-01T11:50:00.000000Z"))
	again := event("good", "Normal", "Synced", "2030-01-01T10:00:00.000000Z")
	again.Object["series"] = map[string]any{"count": int64(2), "lastObservedTime": "2030-01-01T11:59:00.000000Z"}
	k.events.add(again)
	for uid, want := range map[string]string{
		"bad":  "unknown RuleError 10m no conditions, the newest Event: n",
		"good": "unreported NoConditions - the kind has no status.conditions: see its Events",
		"mute": "unreported NoConditions - the kind has no status.conditions: see its Events",
	} {
		u := website(t, "")
		u.SetUID(types.UID(uid))
		s := k.resource(u)
		if got := strings.Join([]string{string(s.State), s.Reason, output.Age(s.Since, now), s.Message}, " "); got != want {
			t.Errorf("%s: got %q, want %q", uid, got, want)
		}
	}
}

// TestFollowedChanges expects a follower to print changes, and nothing about unchanged
// resources.
func TestFollowedChanges(t *testing.T) {
	var b bytes.Buffer
	f := &follower{reader: &Reader{Query: Query{States: Troubles}}, table: &Table{Print: printTo(&b)}, known: map[types.UID]compared{}}
	of := func(uid string, state State) *followed {
		return &followed{metav1.ObjectMeta{UID: types.UID(uid)}, resource(uid, state, 0, ""), true}
	}
	show := func(uid string, state State) { f.changed(of(uid, state)) }
	show("calm", ready)
	show("late", stalled) // It changed between the list and the watch.
	show("calm", ready)
	show("calm", stalled)
	show("calm", stalled)
	show("calm", ready)
	f.changed(&followed{resource: resource("other", stalled, 0, "")}) // The user did not ask for this one.
	f.deleted(of("late", stalled))
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n")[1:] {
		got = append(got, strings.Join(strings.Fields(line)[:2], " "))
	}
	want := []string{"website/late stalled", "website/calm stalled", "website/calm ready", "website/late deleted"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHeldChangesAreProblems(t *testing.T) {
	r := &Reader{Report: newReport()}
	r.readHeld([]inventory.Stored{
		{Namespace: "ns", Installation: "a", Annotations: map[string]string{inventory.AnnotationHeld: `[{"rule":"web","kind":"Foo.example.com","hash":"72b64afd9a","message":"to approve: reconcel approve 72b64afd9a"}]`}},
		{Namespace: "ns", Installation: "b", Annotations: map[string]string{inventory.AnnotationHeld: `?`}},
		{Namespace: "ns", Installation: "c"},
	})
	if len(r.Problems) != 2 {
		t.Fatal(r.Problems)
	}
	want := Problem{Type: "ChangeHeld", Kind: "Foo.example.com", Rules: []string{"web"}, Message: "to approve: reconcel approve 72b64afd9a"}
	if diff := cmp.Diff(want, r.Problems[0]); diff != "" {
		t.Error(diff)
	}
	if p := r.Problems[1]; p.Type != inventoryUnreadable || !strings.Contains(p.Message, "ConfigMap/ns/b-inventory") {
		t.Error(p)
	}
	if !strings.Contains(r.Footer(), "to approve: reconcel approve 72b64afd9a\n") {
		t.Error(r.Footer())
	}
}

// TestRejectedRulesComeFirst expects rejected files before everything else, and an exit code that says so.
func TestRejectedRulesComeFirst(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	r := &Reader{Report: newReport(), now: now}
	r.readRejected([]inventory.Stored{{Namespace: "ns", Installation: "a"}})
	if r.IsStalled() || r.Header() != "" {
		t.Errorf("without a rejection: %q", r.Header())
	}
	r.readRejected([]inventory.Stored{
		{Namespace: "ns", Installation: "b", Annotations: map[string]string{
			inventory.AnnotationRejected: `{"hash":"72b64afd9a","since":"2030-01-02T03:00:05Z","errors":["rules.yaml:4:3: one","rules.yaml:9:3: two"],"more":3}`,
		}},
	})
	r.readRejected([]inventory.Stored{{Namespace: "ns", Installation: "c", Annotations: map[string]string{
		inventory.AnnotationRejected: `{"hash":"1","since":"2030-01-02T03:00:05Z","active":true,"errors":["rules.yaml:5:3: three"]}`,
	}}})
	const want = "ns/b, for 4m: rules files rejected, the last valid rules are active: rules.yaml:4:3: one; rules.yaml:9:3: two; and 3 more\n" +
		"ns/c, for 4m: active rules are not valid for the schemas of the cluster: rules.yaml:5:3: three\n"
	if !r.IsStalled() || r.Header() != want || strings.Contains(r.Footer(), "rules.yaml") {
		t.Errorf("got %q, %v", r.Header(), r.Problems)
	}
}

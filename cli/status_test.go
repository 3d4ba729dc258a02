package cli

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
		"held, by a trouble":           {deleted + list + notReady + conditionEntry("Stalled", "True", "Forbidden", "no right", 9, "4"), false, "stalled Forbidden 9m no right"},
		"without conditions":           {"", true, "unreported NoConditions - the kind has no status.conditions: see its Events"},
		"paused and without any":       {"metadata: {annotations: {reconcel.dev/paused: \"1\"}}\n", true, "paused Paused - paused by the annotation reconcel.dev/paused"},
		"held and without any":         {deleted, true, "waiting Deleting 30m held by the finalizer reconcel.dev/website"},
		"conditions that are no list":  {"status: {conditions: x}\n", false, "unknown NotObserved 60m reconcel has not written conditions yet"},
		"a condition without its time": {list + "  - {type: Ready, status: \"True\", reason: Reconciled}\n", false, "ready Reconciled - "},
	} {
		t.Run(name, func(t *testing.T) {
			reported := withConditions
			if test.without {
				reported = noConditions
			}
			s := newResourceStatus(website(t, test.rest), reported)
			if got := strings.Join([]string{string(s.State), s.Reason, age(s.Since, now), s.Message}, " "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// resource is a resource that entered a state some minutes ago.
func resource(name string, state resourceState, minutes int, message string) resourceStatus {
	return resourceStatus{Kind: "Website", Namespace: "default", Name: name, State: state, Reason: "R", Message: message,
		Since: &metav1.Time{Time: now.Add(-time.Duration(minutes) * time.Minute)}, Generation: 4, ObservedGeneration: 3}
}

func TestWorstAndOldestComeFirst(t *testing.T) {
	undated := resource("undated", stateStalled, 0, "")
	undated.Since = nil
	all := []resourceStatus{
		resource("w", stateWaiting, 90, ""), undated, resource("young", stateStalled, 1, ""), resource("p", statePaused, 99, ""),
		resource("old", stateStalled, 50, ""), resource("r", stateReady, 500, ""), resource("t", stateRetrying, 1, ""),
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

func TestStatusTable(t *testing.T) {
	long := strings.Repeat("long ", 100)
	all := []resourceStatus{resource("blog", stateStalled, 5, "no\nhost \x1b[31mred"), resource("a-longer-name", stateWaiting, 90, long)}
	var b bytes.Buffer
	table := &statusTable{to: &b, namespaces: true}
	for _, part := range [][]resourceStatus{all, {resource("later", stateReady, 0, "")}} {
		if err := table.print(part, now); err != nil {
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
	if err := (&statusTable{to: &b, wide: true, coloured: true}).print(all[1:], now); err != nil {
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
	report := &statusReport{
		Resources: []resourceStatus{resource("blog", stateStalled, 5, "no host")},
		Summary:   statusSummary{Resources: 3, Kinds: 1, States: map[resourceState]int{stateStalled: 1, stateReady: 2}},
		Leaders:   []leaderStatus{{Namespace: "a", Name: "b", State: leading, Holder: "me", Renewed: &metav1.Time{Time: now}, Message: "me leads"}},
		Problems:  []statusProblem{{Type: kindNotServed, Kind: "Shop.acme.io", Rules: []string{"shop"}, Message: "m"}},
	}
	text, err := formatStatus(report, formatJSON)
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
	if got := report.footer(); got != "m\nleader of a/b: me leads\n1 stalled, 2 ready of 3 resources of 1 kind\n" {
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
	found := kindsByName{}
	found.addInventory(entries)
	for _, k := range found.sorted() {
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
	event := func(uid, kind, reason, at string) map[string]any {
		return map[string]any{"type": kind, "reason": reason, "note": "n", "eventTime": at, "regarding": map[string]any{"uid": uid}}
	}
	e := &statusEvents{newest: map[string]statusEvent{}}
	e.add(event("bad", "Normal", "Synced", "2030-01-01T11:00:00.000000Z"))
	e.add(event("bad", "Warning", "RuleError", "2030-01-01T11:50:00.000000Z"))
	e.add(event("good", "Warning", "RuleError", "2030-01-01T11:50:00.000000Z"))
	again := event("good", "Normal", "Synced", "2030-01-01T10:00:00.000000Z")
	again["series"] = map[string]any{"count": int64(2), "lastObservedTime": "2030-01-01T11:59:00.000000Z"}
	e.add(again)
	for uid, want := range map[string]string{
		"bad":  "unknown RuleError 10m no conditions, the newest Event: n",
		"good": "unreported NoConditions - the kind has no status.conditions: see its Events",
		"mute": "unreported NoConditions - the kind has no status.conditions: see its Events",
	} {
		u := website(t, "")
		u.SetUID(types.UID(uid))
		s := newResourceStatus(u, noConditions)
		e.explain(&s)
		if got := strings.Join([]string{string(s.State), s.Reason, age(s.Since, now), s.Message}, " "); got != want {
			t.Errorf("%s: got %q, want %q", uid, got, want)
		}
	}
}

// TestFollowedChanges expects a follower to print changes, and nothing about unchanged
// resources.
func TestFollowedChanges(t *testing.T) {
	var b bytes.Buffer
	f := &statusFollower{wanted: resourceState.trouble, table: &statusTable{to: &b}, cancel: func() {}, known: map[types.UID]said{}}
	show := func(uid string, state resourceState, initial bool) {
		s := resource(uid, state, 0, "")
		s.UID = types.UID(uid)
		f.changed(&followed{status: s, counts: true}, initial)
	}
	show("calm", stateReady, true)
	show("late", stateStalled, true) // It changed between the list and the watch.
	show("calm", stateReady, false)
	show("calm", stateStalled, false)
	show("calm", stateStalled, false)
	show("calm", stateReady, false)
	f.changed(&followed{status: resource("other", stateStalled, 0, "")}, false) // The user did not ask for this one.
	gone := resource("late", stateStalled, 0, "")
	gone.UID = "late"
	f.deleted(&followed{status: gone, counts: true})
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n")[1:] {
		got = append(got, strings.Join(strings.Fields(line)[:2], " "))
	}
	want := []string{"website/late stalled", "website/calm stalled", "website/calm ready", "website/late deleted"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

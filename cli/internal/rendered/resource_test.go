package rendered

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/output"
)

// now is the current time in the tests of resources.
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
			s := (&Reporter{HasConditions: !test.without}).Resource(website(t, test.rest))
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

// TestEventsStandInForConditions has a kind without conditions. Its newest Event shows
// the problem unless a later Event shows success.
func TestEventsStandInForConditions(t *testing.T) {
	event := func(uid, kind, reason, at string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"type": kind, "reason": reason, "note": "n", "eventTime": at, "regarding": map[string]any{"uid": uid},
		}}
	}
	r := &Reporter{events: newestEvents{}}
	r.events.add(event("bad", "Normal", "Synced", "2030-01-01T11:00:00.000000Z"))
	r.events.add(event("bad", "Warning", "RuleError", "2030-01-01T11:50:00.000000Z"))
	r.events.add(event("good", "Warning", "RuleError", "2030-01-01T11:50:00.000000Z"))
	again := event("good", "Normal", "Synced", "2030-01-01T10:00:00.000000Z")
	again.Object["series"] = map[string]any{"count": int64(2), "lastObservedTime": "2030-01-01T11:59:00.000000Z"}
	r.events.add(again)
	for uid, want := range map[string]string{
		"bad":  "unknown RuleError 10m no conditions, the newest Event: n",
		"good": "unreported NoConditions - the kind has no status.conditions: see its Events",
		"mute": "unreported NoConditions - the kind has no status.conditions: see its Events",
	} {
		u := website(t, "")
		u.SetUID(types.UID(uid))
		s := r.Resource(u)
		if got := strings.Join([]string{string(s.State), s.Reason, output.Age(s.Since, now), s.Message}, " "); got != want {
			t.Errorf("%s: got %q, want %q", uid, got, want)
		}
	}
}

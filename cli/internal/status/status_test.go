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
	"reconcel/cli/internal/rendered"
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

// resource is a resource that entered a state some minutes ago.
func resource(name string, state rendered.State, minutes int, message string) rendered.Resource {
	return rendered.Resource{Kind: "Website", Namespace: "default", Name: name, State: state, Reason: "R", Message: message,
		Since: &metav1.Time{Time: now.Add(-time.Duration(minutes) * time.Minute)}, Generation: 4, ObservedGeneration: 3}
}

func TestWorstAndOldestComeFirst(t *testing.T) {
	undated := resource("undated", rendered.Stalled, 0, "")
	undated.Since = nil
	all := []rendered.Resource{
		resource("w", rendered.Waiting, 90, ""), undated, resource("young", rendered.Stalled, 1, ""), resource("p", rendered.Paused, 99, ""),
		resource("old", rendered.Stalled, 50, ""), resource("r", rendered.Ready, 500, ""), resource("t", rendered.Retrying, 1, ""),
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
	all := []rendered.Resource{resource("blog", rendered.Stalled, 5, "no\nhost \x1b[31mred"), resource("a-longer-name", rendered.Waiting, 90, long)}
	var b bytes.Buffer
	table := &output.Table{Print: printTo(&b)}
	for _, part := range [][]rendered.Resource{all, {resource("later", rendered.Ready, 0, "")}} {
		if err := (&Query{}).Write(table, part, now); err != nil {
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
	if err := (&Query{Namespace: "default"}).Write(&output.Table{Print: printTo(&b), Wide: true, Coloured: true}, all[1:], now); err != nil {
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
		Resources: []rendered.Resource{resource("blog", rendered.Stalled, 5, "no host")},
		Summary:   Summary{Resources: 3, Kinds: 1, States: map[rendered.State]int{rendered.Stalled: 1, rendered.Ready: 2}},
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

// TestFollowedChanges expects a follower to print changes, and nothing about unchanged
// resources.
func TestFollowedChanges(t *testing.T) {
	var b bytes.Buffer
	f := &follower{reader: &Reader{Query: Query{States: Troubles, Namespace: "default"}}, table: &output.Table{Print: printTo(&b)}, known: map[types.UID]compared{}}
	of := func(uid string, state rendered.State) *followed {
		return &followed{metav1.ObjectMeta{UID: types.UID(uid)}, resource(uid, state, 0, ""), true}
	}
	show := func(uid string, state rendered.State) { f.changed(of(uid, state)) }
	show("calm", rendered.Ready)
	show("late", rendered.Stalled) // It changed between the list and the watch.
	show("calm", rendered.Ready)
	show("calm", rendered.Stalled)
	show("calm", rendered.Stalled)
	show("calm", rendered.Ready)
	f.changed(&followed{resource: resource("other", rendered.Stalled, 0, "")}) // The user did not ask for this one.
	f.deleted(of("late", rendered.Stalled))
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
	if !r.IsStalled() || r.Header() != "to approve: reconcel approve 72b64afd9a\n" || strings.Contains(r.Footer(), "approve") {
		t.Errorf("header %q, footer %q", r.Header(), r.Footer())
	}
}

// TestStoppedRolloutsComeFirst expects rollouts that do not go on before everything else, with the commands that
// continue them, and an exit code that says so.
func TestStoppedRolloutsComeFirst(t *testing.T) {
	r := &Reader{Report: newReport()}
	rollouts := func(of inventory.Stored, text string) {
		of.Annotations = map[string]string{inventory.AnnotationRollouts: text}
		r.readRollouts([]inventory.Stored{of})
	}
	rollouts(inventory.Stored{Namespace: "ns", Installation: "reconcel"}, `{"Foo.example.com":{"to":"1","state":"Progressing","reached":"7","updated":2,"resources":9}}`)
	if r.IsStalled() || r.Header() != "" {
		t.Errorf("while it goes on: %q", r.Header())
	}
	rollouts(inventory.Stored{Namespace: "ns", Installation: "reconcel"}, `{"Foo.example.com":{"to":"1","state":"Undone","reached":"0","updated":0,"resources":9,"message":"Foo/a/b is stalled"},
		"Bar.example.com":{"to":"1","state":"Paused","reached":"7","updated":2,"resources":9}}`)
	rollouts(inventory.Stored{Namespace: "ns", Installation: "shop"}, `{"Foo.example.com":{"to":"1","state":"Failed","reached":"7","updated":2,"resources":9,"message":"Foo/a/b is stalled"}}`)
	const want = `ns/reconcel: the rollout of Bar.example.com is paused: 2 of 9 resources have the new version; to continue: reconcel rollout resume Bar.example.com -n ns; to undo it: reconcel rollout undo Bar.example.com -n ns
ns/reconcel: the rollout of Foo.example.com is undone: with the new version, Foo/a/b is stalled; 0 of 9 resources have the new version; to try again: change the rules, or reconcel rollout resume Foo.example.com -n ns
ns/shop: the rollout of Foo.example.com has failed: with the new version, Foo/a/b is stalled; 2 of 9 resources have the new version; to continue: reconcel rollout resume Foo.example.com -n ns --name shop; to undo it: reconcel rollout undo Foo.example.com -n ns --name shop
`
	if diff := cmp.Diff(want, r.Header()); diff != "" || !r.IsStalled() || strings.Contains(r.Footer(), "rollout") {
		t.Errorf("%s\nfooter: %s", diff, r.Footer())
	}
	if p := r.Problems[1]; p.Type != "RolloutStopped" || p.Kind != "Foo.example.com" {
		t.Error(p)
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

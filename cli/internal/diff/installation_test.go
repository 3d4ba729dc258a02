package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"reconcel/cli/internal/cluster"
)

// listed has a ConfigMap for each item.
func listed(items string) string {
	return `- name: listed
  for: {apiVersion: v1, kind: ServiceAccount, selector: {matchLabels: {primary: "yes"}}}
  children:
  - id: item
    forEach: [{name: n, in: "` + items + `"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-${n}"}}
`
}

func account(namespace string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ServiceAccount, metadata: {name: x, namespace: %s, labels: {primary: 'yes'}}}", namespace)
}

const otherInventory = "{apiVersion: v1, kind: ConfigMap, metadata: {name: other-inventory, namespace: alpha, labels: {app.kubernetes.io/managed-by: reconcel}}}"

// TestActsAsTheInstallationOfTheRules removes an item, whose object run deletes.
func TestActsAsTheInstallationOfTheRules(t *testing.T) {
	before, after := listed("['a', 'b']"), listed("['a']")
	t.Run("a user of one namespace", func(t *testing.T) {
		r := newRunning(t, before, account("team-a"))
		r.T, r.may = t, func(namespace string) bool { return namespace == "team-a" }
		result := r.diff(after, Options{Namespace: "team-a", Home: "team-a"}, "deleted ConfigMap/team-a/x-b")
		r.notes(result, "reconcel's inventory cannot be read")
	})
	t.Run("another installation comes first", func(t *testing.T) {
		r := newRunning(t, before, account("team-a"))
		r.T = t
		r.put(otherInventory)
		r.diff(after, Options{}, "deleted ConfigMap/team-a/x-b")
	})
	t.Run("two installations run none of the rules", func(t *testing.T) {
		r := newRunning(t, before, account("team-a"))
		r.T = t
		r.put(otherInventory)
		r.diff(strings.Replace(after, "name: listed", "name: renamed", 1), Options{Installation: "kube-system/reconcel"},
			"configured ConfigMap/team-a/x-a")
	})
}

// TestDroppedKind compares one resource of a rule that has dropped its ConfigMap, which the rule for
// another kind still has.
func TestDroppedKind(t *testing.T) {
	const other = `- name: other
  for: {apiVersion: v1, kind: Service}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-config"}}
`
	r := newRunning(t, listed("['a']")+other, account("team"))
	target, _ := cluster.ParseTarget("serviceaccount/x")
	dropped := `- name: listed
  for: {apiVersion: v1, kind: ServiceAccount, selector: {matchLabels: {primary: "yes"}}}
  children:
  - id: secret
    template: {apiVersion: v1, kind: Secret, metadata: {name: "${self.metadata.name}"}}
`
	r.diff(dropped+other, Options{Namespace: "team", Targets: []cluster.Target{target}}, "created Secret/team/x",
		"deleted ConfigMap/team/x-a")
}

// many are the names of 30 items.
func many() string {
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("'i%d'", i))
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// TestSaysWhatRunDoesLater compares rules that run holds, or rolls out.
func TestSaysWhatRunDoesLater(t *testing.T) {
	r := newRunning(t, listed(many()), account("team"))
	var deleted []string
	for i := range 30 {
		deleted = append(deleted, fmt.Sprintf("deleted ConfigMap/team/x-i%d", i))
	}
	slices.Sort(deleted)
	none := listed("[].filter(n, n != '')")
	r.notes(r.diff(none, Options{}, deleted...), `run holds this change until it is approved: the new version of rule "listed" would delete 30 of 30 objects`)
	r.notes(r.diff(none, Options{Namespace: "team"}, deleted...), `rule "listed" is changed: run holds the change if it deletes too much`)
	rollout := strings.Replace(none, "  children:", "  rollout: {maxUnavailable: 1, maxDeletions: 100%}\n  children:", 1)
	result := r.diff(rollout, Options{}, deleted...)
	r.notes(result, `rule "listed" has a rollout: run changes its resources one after another`)
	if strings.Contains(strings.Join(result.Notes, "\n"), "holds") {
		t.Errorf("held: %q", result.Notes)
	}
}

package deploy_test

import (
	"slices"
	"strings"
	"testing"

	"reconcel/deploy"
	"reconcel/rules/source"
)

const accountRules = `- name: fixed
  for: {apiVersion: v1, kind: Pod}
  serviceAccountName: team-a/deployer
  patch: {metadata: {labels: {x: z}}}
  children:` + configMapChild + `- name: same
  for: {apiVersion: v1, kind: ReplicationController}
  serviceAccountName: team-a/deployer
  children:` + configMapChild + `- name: near
  for: {apiVersion: v1, kind: Pod, namespaces: [team-c, team-b]}
  serviceAccountName: team-a/near
  children:
  - id: secret
    template: {apiVersion: v1, kind: Secret, metadata: {name: "${self.metadata.name}-near"}}
- name: also
  for: {apiVersion: apps/v1, kind: Deployment, namespaces: [team-b]}
  serviceAccountName: team-a/near
  children:
  - id: secret
    template: {apiVersion: v1, kind: Secret, metadata: {name: "${self.metadata.name}-also"}}
- name: each
  for: {apiVersion: apps/v1, kind: ReplicaSet}
  serviceAccountName: deployer
  children:
  - id: part
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-each"}}
`

// TestRolesOfAccounts prints the roles of accounts on a cluster whose admission plugin
// enforces permissions for owner references.
func TestRolesOfAccounts(t *testing.T) {
	out := printed(t, options.Roles(needs(t, deploy.EnforcedOwners, written(accountRules))))
	compare(t, "accounts.yaml", out)
	if again := printed(t, options.Roles(needs(t, deploy.EnforcedOwners, written(accountRules)))); string(again) != string(out) {
		t.Error("two runs differ")
	}
}

// TestRolesOfAccountsInSomeNamespaces prints them without any ClusterRole.
func TestRolesOfAccountsInSomeNamespaces(t *testing.T) {
	some := options
	some.Namespaced = []string{"team-a", "team-b"}
	out := printed(t, some.Roles(needs(t, deploy.Usual, written(accountRules))))
	compare(t, "accounts-namespaced.yaml", out)
	if strings.Contains(string(out), "ClusterRole") {
		t.Error("there is a role of the whole cluster")
	}
}

// TestAccountWithNothingToDo has a rule whose account writes in none of the watched
// namespaces.
func TestAccountWithNothingToDo(t *testing.T) {
	some := options
	some.Namespaced = []string{"team-a"}
	idle := written("- name: each\n  for: {apiVersion: v1, kind: Pod, namespaces: [team-b]}\n  serviceAccountName: deployer\n  children:" + configMapChild)
	for _, u := range parse(t, printed(t, some.Roles(needs(t, deploy.Usual, idle)))) {
		if name := u.GetName(); strings.Contains(name, "deployer") {
			t.Errorf("there is %s %s", u.GetKind(), name)
		}
	}
}

// TestReachOfAccounts expects a known set of namespaces if a rule selects named
// namespaces only, and creates nothing elsewhere.
func TestReachOfAccounts(t *testing.T) {
	for _, c := range []struct {
		name, rest string
		want       []string
	}{
		{"any namespace", "", []string{"ClusterRoleBinding reconcel:team-a:near "}},
		{"a pattern", "  for: {apiVersion: v1, kind: Pod, namespaces: [\"team-*\"]}\n", []string{"ClusterRoleBinding reconcel:team-a:near "}},
		{"two names", "  for: {apiVersion: v1, kind: Pod, namespaces: [team-c, team-b]}\n",
			[]string{"RoleBinding reconcel:team-a:near team-b", "RoleBinding reconcel:team-a:near team-c"}},
		{"children elsewhere", "  for: {apiVersion: v1, kind: Pod, namespaces: [team-c]}\n  allow: {namespaces: [x]}\n  finalize:\n  - id: far\n    timeout: 1m\n" +
			"    template: {apiVersion: v1, kind: Secret, metadata: {name: \"${self.metadata.name}-f\", namespace: x}}\n",
			[]string{"ClusterRoleBinding reconcel:team-a:near "}},
		{"children in no namespace", "  for: {apiVersion: v1, kind: Pod, namespaces: [team-c]}\n  allow: {clusterScoped: [{group: \"\", kind: PersistentVolume}]}\n  finalize:\n  - id: far\n    timeout: 1m\n" +
			"    template: {apiVersion: v1, kind: PersistentVolume, metadata: {name: \"${self.metadata.namespace}-${self.metadata.name}\"}}\n",
			[]string{"ClusterRoleBinding reconcel:team-a:near "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rule := "- name: near\n  serviceAccountName: team-a/near\n"
			if c.rest == "" {
				c.rest = "  for: {apiVersion: v1, kind: Pod}\n"
			}
			exampleRules := []source.File{written(rule + c.rest + "  children:" + configMapChild)}
			var got []string
			for _, u := range parse(t, printed(t, options.Roles(needs(t, deploy.Usual, exampleRules...))[4:])) {
				if kind := u.GetKind(); (kind == "RoleBinding" || kind == "ClusterRoleBinding") && u.GetName() != "reconcel-accounts" {
					got = append(got, kind+" "+u.GetName()+" "+u.GetNamespace())
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

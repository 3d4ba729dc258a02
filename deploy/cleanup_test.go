package deploy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"reconcel/deploy"
	"reconcel/rules/source"
)

const cleanupRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: web
  for: {apiVersion: v1, kind: Namespace}
  lookups: [{id: quota, apiVersion: v1, kind: ResourceQuota, name: q}]
  patch: {metadata: {labels: {a: b}}}
  children:
  - {id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}
  - {id: secret, template: {apiVersion: v1, kind: Secret, metadata: {name: a}}}
- name: other
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  serviceAccountName: deployer
  children:
  - {id: job, template: {apiVersion: batch/v1, kind: Job, metadata: {name: a}}}
  - {id: gone, template: {apiVersion: unknown.example.com/v1, kind: Gone, metadata: {name: a}}}
`

// TestCleanupNeeds has lookups, Events, ServiceAccounts of rules and an unknown kind, which a cleanup role does not have.
func TestCleanupNeeds(t *testing.T) {
	permits, unknown := deploy.CleanupNeeds(program(t, source.File{Name: "rules.yaml", Data: []byte(cleanupRules)}), kinds(t))
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"get", "list", "watch", "patch", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch", "patch"}},
		{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{"samplecontroller.k8s.io"}, Resources: []string{"foos"}, Verbs: []string{"get", "list", "watch", "patch"}},
		{APIGroups: []string{"samplecontroller.k8s.io"}, Resources: []string{"foos/status"}, Verbs: []string{"patch"}},
	}
	if diff := cmp.Diff(want, permits.Rules()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(permits, deploy.PermitsIn(permits.Rules())); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
	bundles := deploy.BundleNeeds("reconcel", []string{"a", "b"})
	want = []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"reconcel-bundle-a", "reconcel-bundle-b"},
			Verbs: []string{"get", "patch", "delete"}},
	}
	if diff := cmp.Diff(want, bundles.Rules()); diff != "" {
		t.Errorf("bundles: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(bundles, deploy.PermitsIn(bundles.Rules())); diff != "" {
		t.Errorf("bundles: -written +read:\n%s", diff)
	}
	if len(unknown) != 1 || unknown[0].Kind != "Gone" {
		t.Errorf("unknown kinds: %v", unknown)
	}
}

// TestCleanupRoleHasNoRules expects the cleanup roles not to have the field that reconcel writes: a tool that applies
// them would undo it, and expects that reconcel may write them. A dry run has nothing to clean up. The namespace of the installation has a Role without any bundles,
// too: the last one may be gone with this commit.
func TestCleanupRoleHasNoRules(t *testing.T) {
	permissions := needs(t, deploy.Usual, exampleRules(t, "../examples/foo/rules.yaml"))
	dry := options
	dry.DryRun = true
	for _, c := range []struct {
		o     deploy.Options
		roles int
	}{{options, 2}, {inTeams("reconcel-system"), 3}, {inTeams("team-a"), 2}, {dry, 0}} {
		roles, bindings, writable := 0, 0, 0
		for _, u := range parse(t, printed(t, c.o.Roles(permissions))) {
			if u.GetName() != deploy.CleanupName(c.o.Name) {
				all, _ := u.Object["rules"].([]any)
				writable += len(slices.DeleteFunc(all, func(entry any) bool {
					one := entry.(map[string]any)
					names, _ := one["resourceNames"].([]any)
					return !slices.Equal(names, []any{deploy.CleanupName(c.o.Name)}) ||
						!slices.Equal(one["resources"].([]any), []any{strings.ToLower(u.GetKind()) + "s"})
				}))
				continue
			}
			if u.Object["roleRef"] != nil {
				bindings++
				continue
			}
			roles++
			if _, has := u.Object["rules"]; has {
				t.Errorf("%s/%s has rules", u.GetKind(), u.GetNamespace())
			}
		}
		if roles != c.roles || bindings != c.roles || writable != c.roles {
			t.Errorf("%v: %d roles and %d bindings, and %d may be written; want %d", c.o.Namespaced, roles, bindings, writable, c.roles)
		}
	}
}

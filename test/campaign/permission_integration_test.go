//go:build integration

package campaign

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
	"reconcel/test/soak"
)

// limitedUser is a user that has only the permissions of permissionRules.
const limitedUser = "limited"

// permissionRules have a rule that needs Secrets and one that does not.
const permissionRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: RULE-box
  for: {apiVersion: faults.reconcel.dev/v1, kind: Box, namespaces: ["RULE-*"]}
  children:
  - id: secret
    template: {apiVersion: v1, kind: Secret, metadata: {name: "${self.metadata.name}"}, stringData: {value: "${self.spec.value}"}}
- name: RULE-bin
  for: {apiVersion: faults.reconcel.dev/v1, kind: Bin, namespaces: ["RULE-*"]}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}"}, data: {value: "${self.spec.value}"}}
`

// basicRole has the permissions that both rules need, and those of the second rule.
const basicRole = `
- {apiGroups: [faults.reconcel.dev], resources: [boxes, bins], verbs: [get, list, watch]}
- {apiGroups: [faults.reconcel.dev], resources: [boxes/status, bins/status], verbs: [patch]}
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
`

// permission is what the user may do with Secrets.
type permission string

// The permissions.
const (
	allOfSecrets   permission = "get, list, watch, create, patch, delete"
	writesOfSecret permission = "get, create, patch, delete"
	noSecrets      permission = ""
)

// grant replaces the permissions of the user.
func grant(w *e2e.World, p permission) {
	w.Helper()
	rules := basicRole
	if p != noSecrets {
		rules += fmt.Sprintf(`- {apiGroups: [""], resources: [secrets], verbs: [%s]}`, p)
	}
	role := "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: limited}\nrules:" + rules
	w.Kubectl("apply", "--server-side", "--force-conflicts", "-f", write(w.T, w.TempDir()+"/role.yaml", role))
}

// permissions takes a permission away while the controller works, and grants it again.
// Only the rule that needs it degrades.
func (s *stage) permissions(t *testing.T) {
	const name = "permissions"
	w := s.world.Within(t)
	grant(w, allOfSecrets)
	w.Create(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: limited},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: limited}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: limited}]}`)
	control := s.newControllerAs(t, limitedUser, name, strings.ReplaceAll(permissionRules, "RULE", name), again)
	revoked, cases := 10*time.Second, []permission{noSecrets}
	if soak.Enabled() {
		revoked, cases = time.Minute, append(cases, writesOfSecret)
	}
	for _, p := range cases {
		in := &revocation{World: w.Beside(w.CreateNamespace(name + "-")), control: control}
		in.play(p, revoked)
	}
}

// revocation is a namespace with a primary of each rule.
type revocation struct {
	*e2e.World
	control *controller
}

// play takes all permissions for Secrets but some away for a while.
func (r *revocation) play(left permission, revoked time.Duration) {
	r.Helper()
	box, bin := faultKinds["Box"], faultKinds["Bin"]
	for _, kind := range []string{"Box", "Bin"} {
		r.Create("{apiVersion: faults.reconcel.dev/v1, kind: " + kind + ", metadata: {name: a}, spec: {value: zero}}")
		r.Is(faultKinds[kind], "a", "Ready", "True")
	}
	child := r.Get(faultKinds["Secret"], "a").GetUID()
	grant(r.World, left)
	cuts := r.control.proxy.InjectFrames(func(f faultproxy.Frame) bool { return f.Resource == "secrets" }, faultproxy.FrameFault{Effect: faultproxy.Cut, Times: 1})
	r.Patch(faultKinds["Secret"], "a", `{"data":{"value":"ZWRpdGVk"}}`) // The watch ends with this event.
	r.Patch(box, "a", `{"spec":{"value":"one"}}`)
	began, slowest := time.Now(), time.Duration(0)
	for i := 0; time.Since(began) < revoked; i++ {
		value := fmt.Sprint("v", i)
		r.Patch(bin, "a", `{"spec":{"value":"`+value+`"}}`)
		slowest = max(slowest, r.Has(e2e.ConfigMap, "a", map[string]any{"data.value": value}))
		r.Rest(500 * time.Millisecond)
	}
	cuts.Lift()
	if left == noSecrets {
		r.reportsForbidden()
	}
	rejected := 0
	for _, w := range r.control.writes(r.Namespace) {
		if w.Resource == "secrets" && w.Code == http.StatusForbidden {
			rejected++
		}
	}
	grant(r.World, allOfSecrets)
	took := r.Eventually("the Secret to follow", func() error {
		u := r.Get(faultKinds["Secret"], "a")
		if u == nil {
			return errors.New("it does not exist")
		}
		if got, _, _ := unstructured.NestedString(u.Object, "data", "value"); got != "b25l" {
			return fmt.Errorf("it is %s", got)
		}
		return e2e.Condition(r.Get(box, "a"), "Ready", "True")
	})
	r.Logf("with %q for %s: the other rule took %s at most, %d rejected writes, back after %s", left, revoked, slowest.Round(time.Millisecond), rejected, took.Round(time.Millisecond))
	if took > time.Minute {
		r.Errorf("with %q, it was back only after %s", left, took)
	}
	if slowest > longestPoison {
		r.Errorf("with %q, the other rule took %s", left, slowest)
	}
	if rejected > 15 {
		r.Errorf("with %q, it tried %d times", left, rejected)
	}
	if now := r.Get(faultKinds["Secret"], "a").GetUID(); now != child {
		r.Errorf("with %q, the Secret was created again", left)
	}
}

// reportsForbidden waits until the primary says what is missing.
func (r *revocation) reportsForbidden() {
	r.Helper()
	r.Eventually("the primary to say what is forbidden", func() error {
		status := fmt.Sprint(r.Get(faultKinds["Box"], "a").Object["status"])
		if !strings.Contains(status, "may not patch secrets in namespace "+r.Namespace) || !strings.Contains(status, "reason:Forbidden") || !strings.Contains(status, "type:Stalled") {
			return errors.New(status)
		}
		return nil
	})
}

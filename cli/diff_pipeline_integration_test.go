//go:build integration

package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// TestDiffInAPipeline runs diff as a pipeline does, which reads the exit code and the
// JSON, before a merge of rules that would fail.
func TestDiffInAPipeline(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds", Users: []string{"reviewer:system:masters"}})
	r := &reviewer{T: t, cluster: cluster, binary: e2e.Build(t), kubeconfig: cluster.UserKubeconfig(t, "reviewer"), folder: t.TempDir()}
	e2e.Kubectl(t, cluster, "apply", "-f", "../examples/foo/foo.yaml", "-f", r.rules("account.yaml", account))
	foo := readFile(t, "../examples/foo/rules.yaml")
	r.converge("../examples/foo/rules.yaml")

	for _, c := range []struct {
		name   string
		file   string
		code   int
		action string // and child and object of the only failed entry
		reason string
		stderr string
	}{
		{"an immutable field", r.rules("immutable.yaml", foo, "app: nginx", "app: other"), 4,
			"rejected deployment Deployment/example-foo", "set onChange: replace", ": rejected: "},
		{"a name that another owner holds", r.rules("held.yaml", accountRules, `"${self.metadata.name}-once"`, "kube-root-ca.crt"), 4,
			"rejected once ConfigMap/kube-root-ca.crt", "already exists, managed by", ": rejected: "},
		{"an expression that fails", r.rules("failing.yaml", accountRules, `{a: "1"}`, `{a: "${self.data.nope}"}`), 4,
			"failed once ConfigMap/account-once", "no such key: nope", ": failed: "},
		{"a check that says no", r.rules("check.yaml", accountRules, "  children:", "  validate: [{expression: 'false', message: too big}]\n  children:"), 4,
			"failed  ConfigMap/account", "too big", ": failed: "},
		{"a field that the schema does not have", r.rules("schema.yaml", foo, "nginx:latest", "${self.spec.image}"), 3,
			"", "", "undefined field 'image'"},
		{"nothing", "../examples/foo/rules.yaml", 0, "", "", ""},
		{"a change", r.rules("change.yaml", foo, "nginx:latest", "nginx:1.27"), 1, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := r.diff("-f", c.file, "-o", "json")
			if v.code != c.code || !strings.Contains(v.stderr, c.stderr) || c.stderr == "" && v.stderr != "" {
				t.Errorf("exit code %d, want %d; stderr:\n%s", v.code, c.code, v.stderr)
			}
			if c.code == 3 {
				if v.stdout != "" {
					t.Errorf("stdout: %s", v.stdout)
				}
				return
			}
			var all []struct {
				Child, Action, Reason string
				Object                struct{ Kind, Name string }
			}
			if err := json.Unmarshal([]byte(v.stdout), &all); err != nil {
				t.Fatalf("%v: %s", err, v.stdout)
			}
			var troubles []string
			for _, e := range all {
				if e.Action == "rejected" || e.Action == "failed" {
					troubles = append(troubles, e.Action+" "+e.Child+" "+e.Object.Kind+"/"+e.Object.Name)
					if !strings.Contains(e.Reason, c.reason) {
						t.Errorf("the reason is %q", e.Reason)
					}
				}
			}
			if got := strings.Join(troubles, ", "); got != c.action {
				t.Errorf("got %q, want %q", got, c.action)
			}
			if text := r.diff("-f", c.file); text.code != c.code || text.stderr != v.stderr {
				t.Errorf("without -o json: exit code %d, stderr:\n%s", text.code, text.stderr)
			}
		})
	}
}

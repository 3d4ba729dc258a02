//go:build integration

package cli_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// reviewer runs diff against a cluster as the user reviewer.
type reviewer struct {
	*testing.T
	cluster    *devcluster.Cluster
	binary     string
	kubeconfig string
	folder     string
}

// answer is the output of diff.
type answer struct {
	stdout, stderr string
	code           int
}

func (r *reviewer) diff(args ...string) answer {
	r.Helper()
	cmd := exec.Command(r.binary, append([]string{"diff", "--kubeconfig", r.kubeconfig}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.Fatal(err)
	}
	return answer{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func (r *reviewer) answers(v answer, code int, titles ...string) {
	r.Helper()
	var got []string
	for line := range strings.Lines(v.stdout) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			got = append(got, strings.TrimSpace(title))
		}
	}
	if diff := cmp.Diff(titles, got); diff != "" || v.code != code {
		r.Errorf("exit code %d, expected %d; titles (-want +got):\n%s\nstderr:\n%s", v.code, code, diff, v.stderr)
	}
}

// shows checks which lines differ.
func (r *reviewer) shows(v answer, lines ...string) {
	r.Helper()
	var got []string
	for line := range strings.Lines(v.stdout) {
		if strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++ ") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	if diff := cmp.Diff(lines, got); diff != "" {
		r.Errorf("lines (-want +got):\n%s", diff)
	}
}

// rules writes a rules file after some replacements in its text.
func (r *reviewer) rules(name, text string, replacements ...string) string {
	r.Helper()
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(text, replacements[i]) {
			r.Fatalf("%s: there is no %q", name, replacements[i])
		}
		text = strings.ReplaceAll(text, replacements[i], replacements[i+1])
	}
	path := filepath.Join(r.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
	return path
}

// converge runs reconcel with these rules until diff finds no more differences.
func (r *reviewer) converge(files ...string) {
	r.Helper()
	flags := []string{}
	for _, f := range files {
		flags = append(flags, "-f", f)
	}
	cmd := exec.Command(r.binary, slices.Concat([]string{"run", "--kubeconfig", r.cluster.UserKubeconfig(r.T, "reconcel"), "--listen", "off"}, flags)...)
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			r.Errorf("run: %v", err)
		}
	}()
	var last answer
	for range 60 {
		if last = r.diff(flags...); last.code == 0 {
			r.answers(last, 0)
			return
		}
		e2e.Rest(r.T, 500*time.Millisecond)
	}
	r.Fatalf("differences remain while run works:\n%s\n%s", last.stdout, last.stderr)
}

const accountRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: account
  for: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {kind: account}}}
  children:
  - id: secret
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${self.metadata.name}-secret"}
      stringData: {password: first-password, user: "${self.data.user}"}
  - id: settings
    forEach: [{name: s, in: '["a", "b"]'}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-${s}"}, data: {s: "${s}"}}
  - id: once
    onChange: keep
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-once"}, data: {a: "1"}}
  patch: {metadata: {annotations: {keys: "${string(size(self.data))}"}}}
`

const account = `apiVersion: v1
kind: ConfigMap
metadata: {name: account, labels: {kind: account}}
data: {user: secret-user}
`

// TestDiff takes one cluster from empty to converged, and then compares changed rules
// with it.
func TestDiff(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds", Users: []string{"reviewer:system:masters"}})
	r := &reviewer{T: t, cluster: cluster, binary: e2e.Build(t), kubeconfig: cluster.UserKubeconfig(t, "reviewer"), folder: t.TempDir()}
	e2e.Kubectl(t, cluster, "apply", "-f", "../examples/foo/foo.yaml", "-f", "../examples/webapp/shop.yaml", "-f", r.rules("account.yaml", account))
	foo, webapp := readFile(t, "../examples/foo/rules.yaml"), readFile(t, "../examples/webapp/rules.yaml")
	files := []string{"../examples/foo/rules.yaml", "../examples/webapp/rules.yaml", r.rules("accounts.yaml", accountRules)}

	r.empty(files)
	r.converge(files...)
	r.changed(foo, webapp)
	r.secrets()
	r.strangers()
	r.json()
	r.narrowed(foo)
	r.wroteNothing()
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (r *reviewer) empty(files []string) {
	v := r.diff("-f", files[0], "-f", files[1], "-f", files[2])
	r.answers(v, 1,
		`Foo/default/example-foo: rule "foo", child "deployment": created`,
		`Foo/default/example-foo: rule "foo", status: configured`,
		`WebApp/default/shop: rule "webapp", child "deployment": created`,
		`WebApp/default/shop: rule "webapp", child "service": created`,
		`WebApp/default/shop: rule "webapp", child "ingress": created`,
		`WebApp/default/shop: rule "webapp", status: configured`,
		`ConfigMap/default/account: rule "account", child "secret": created`,
		`ConfigMap/default/account: rule "account", child "settings": created`,
		`ConfigMap/default/account: rule "account", child "settings": created`,
		`ConfigMap/default/account: rule "account", child "once": created`,
		`ConfigMap/default/account: rule "account", patch: configured`,
	)
	if v.stderr != "" {
		r.Errorf("stderr: %s", v.stderr)
	}
	if !strings.Contains(v.stdout, "+  progressDeadlineSeconds: 600\n") {
		r.Error("the defaults of the API server are missing")
	}
	r.discreet(v)
	if made := e2e.Kubectl(r.T, r.cluster, "get", "deployments,services,secrets", "-l", "reconcel.dev/rule", "-o", "name"); made != "" {
		r.Errorf("diff has made %s", made)
	}
}

// changed compares rules with one changed field, and rules without a child that was the
// only one of its kind.
func (r *reviewer) changed(foo, webapp string) {
	v := r.diff("-f", r.rules("foo.yaml", foo, "nginx:latest", "nginx:1.27"))
	r.answers(v, 1, `Foo/default/example-foo: rule "foo", child "deployment": configured`)
	r.shows(v, "-      - image: nginx:latest", "+      - image: nginx:1.27")

	from, to := strings.Index(webapp, "  # It reads the Service"), strings.Index(webapp, "  # A field that reads an excluded child")
	if from < 0 || to < from {
		r.Fatal("the example has changed")
	}
	without := strings.SplitAfter(webapp[:from]+webapp[to:], "\n")
	lines := slices.DeleteFunc(without, func(line string) bool { return strings.Contains(line, "externalURL") })
	v = r.diff("-f", r.rules("webapp.yaml", strings.Join(lines, "")))
	r.answers(v, 1,
		`WebApp/default/shop: rule "webapp", child "ingress": deleted (no rule renders it)`,
		`WebApp/default/shop: rule "webapp", status: configured`)
	if !strings.Contains(v.stdout, "--- live/Ingress/default/shop\n+++ rules/Ingress/default/shop\n@@ -1,") ||
		!strings.Contains(v.stdout, "-kind: Ingress\n") || !strings.Contains(v.stdout, "-  externalURL: https://shop.example.com\n") {
		r.Errorf("got\n%s", v.stdout)
	}

	moved := "- name: moved\n  for: {apiVersion: platform.example.com/v1alpha1, kind: WebApp}\n  validate:\n  - {expression: 'false', message: never}\n" +
		"  children:\n  - id: i\n    template: {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: '${self.metadata.name}'}}\n"
	v = r.diff("-f", r.rules("moved.yaml", strings.Join(lines, "")+moved))
	if strings.Contains(v.stdout, ": deleted") || !strings.Contains(v.stderr, "kept although no rule renders it: ") {
		r.Errorf("what may have moved to a rule that fails: got\n%s\n%s", v.stdout, v.stderr)
	}

	v = r.diff("-f", r.rules("condition.yaml", webapp, "type: Available", "type: Serving"))
	r.answers(v, 1, `WebApp/default/shop: rule "webapp", status: configured`)
	r.shows(v, "-    reason: Available", "+    reason: Serving", "-    type: Available", "+    type: Serving")
}

func (r *reviewer) secrets() {
	v := r.diff("-f", r.rules("secrets.yaml", accountRules, "first-password", "second-password", `{a: "1"}`, `{a: "2"}`, "keys:", "size:", `"a", "b"`, `"b"`))
	r.answers(v, 1,
		`ConfigMap/default/account: rule "account", child "secret": configured`,
		`ConfigMap/default/account: rule "account", patch: configured`,
		`ConfigMap/default/account: rule "account", child "settings": deleted (no rule renders it)`)
	for _, line := range []string{"-  password: '*** (before)'\n", "+  password: '*** (after)'\n", "   user: '***'\n", "-    keys: \"1\"\n", "+    size: \"1\"\n"} {
		if !strings.Contains(v.stdout, line) {
			r.Errorf("%q is missing in\n%s", line, v.stdout)
		}
	}
	r.discreet(v)
	// The API server quotes a value that it rejects.
	v = r.diff("-f", r.rules("refused.yaml", accountRules, "stringData:", "type: kubernetes.io/dockerconfigjson\n      stringData:", "-secret", "-other"))
	if v.code != 4 || !strings.Contains(v.stderr, "its message is withheld") {
		r.Errorf("exit code %d\n%s", v.code, v.stderr)
	}
	r.discreet(v)
}

// discreet checks that the output contains no value of a Secret. The primary may show its
// own.
func (r *reviewer) discreet(v answer) {
	r.Helper()
	for _, value := range []string{"first-password", "second-password"} {
		for _, text := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))} {
			if strings.Contains(v.stdout+v.stderr, text) {
				r.Errorf("%s is shown:\n%s\n%s", text, v.stdout, v.stderr)
			}
		}
	}
}

// strangers compares rules whose children have foreign owners, fail or wait.
func (r *reviewer) strangers() {
	v := r.diff("-f", r.rules("strangers.yaml", `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: stranger
  for: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {kind: account}}}
  children:
  - id: held
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: kube-root-ca.crt}}
  - id: failing
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: failing}, data: {a: "${self.data.nothing}"}}
  - id: waiting
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: waiting}, data: {a: "${held.data.nothing}"}}
  - id: refused
    template: {apiVersion: v1, kind: Service, metadata: {name: refused}, spec: {clusterIP: nowhere, ports: [{port: 80}]}}
`))
	r.answers(v, 4)
	for _, text := range []string{
		`rule "stranger", child "held" (ConfigMap/default/kube-root-ca.crt): rejected: ConfigMap/default/kube-root-ca.crt already exists, managed by "kube-controller-manager"`,
		`child "failing": data.a: no such key: nothing`, `skipped: waits for held.data.nothing`,
		`rule "stranger", child "refused" (Service/default/refused): rejected: `,
	} {
		if !strings.Contains(v.stderr, text) {
			r.Errorf("%q is missing in\n%s", text, v.stderr)
		}
	}
}

func (r *reviewer) json() {
	v := r.diff("-f", r.rules("json.yaml", accountRules, "first-password", "second-password", `"a", "b"`, `"a", "b", "c"`), "-o", "json")
	var changes []struct {
		Child, Action string
		Object        struct{ Kind, Name string }
		Before, After struct{ Data map[string]string }
	}
	if err := json.Unmarshal([]byte(v.stdout), &changes); err != nil {
		r.Fatalf("%v: %s", err, v.stdout)
	}
	var got []string
	for _, c := range changes {
		got = append(got, strings.Join([]string{c.Action, c.Child, c.Object.Kind, c.Object.Name, c.Before.Data["password"], c.After.Data["password"]}, " "))
	}
	want := []string{"configured secret Secret account-secret *** (before) *** (after)", "created settings ConfigMap account-c  "}
	if diff := cmp.Diff(want, got); diff != "" || v.code != 1 {
		r.Errorf("exit code %d (-want +got):\n%s", v.code, diff)
	}
	r.discreet(v)
}

func (r *reviewer) narrowed(foo string) {
	file := r.rules("narrowed.yaml", foo, "nginx:latest", "nginx:1.27")
	r.answers(r.diff("-f", file, "foo/example-foo", "-n", "default"), 1, `Foo/default/example-foo: rule "foo", child "deployment": configured`)
	r.answers(r.diff("-f", file, "-n", "kube-system"), 0)
	r.answers(r.diff("-f", file, "-l", "tier=web"), 0)
	r.answers(r.diff("-f", file, "foos/other"), 3)
	r.answers(r.diff("-f", file, "bar/example-foo"), 2)
	r.answers(r.diff("-f", r.rules("left.yaml", foo, "    kind: Foo\n", "    kind: Foo\n    namespaces: [elsewhere]\n")), 1,
		`Foo/default/example-foo: rule "foo", child "deployment": deleted (the rule no longer selects its resource)`)
}

// wroteNothing checks that the reviewer made no request that changes something.
func (r *reviewer) wroteNothing() {
	if r.cluster.Borrowed() {
		r.Log("a borrowed cluster has no audit log: whether anything was written is not looked at")
		return
	}
	e2e.Rest(r.T, time.Second) // The audit log lags a little.
	found, err := r.cluster.Requests(func(q devcluster.Request) bool { return q.User == "reviewer" && q.IsWrite() })
	if err != nil {
		r.Fatal(err)
	}
	if len(found) == 0 {
		r.Error("no dry run was made")
	}
	for _, q := range found {
		if !strings.Contains(q.URI, "dryRun=All") {
			r.Errorf("it wrote: %s %s", q.Verb, q.URI)
		}
	}
}

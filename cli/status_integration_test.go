//go:build integration

package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// operator runs status against a cluster as the user operator.
type operator struct{ *reviewer }

func (o *operator) status(args ...string) answer {
	o.Helper()
	return o.command(append([]string{"status"}, args...)...)
}

func (o *operator) command(args ...string) answer {
	o.Helper()
	cmd := exec.Command(o.binary, append(args, "--kubeconfig", o.kubeconfig)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		o.Fatal(err)
	}
	return answer{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// becomes retries status until the exit code is right and lines match the patterns in
// their order.
func (o *operator) becomes(code int, patterns []string, args ...string) answer {
	o.Helper()
	return o.eventually(code, patterns, append([]string{"status"}, args...)...)
}

func (o *operator) eventually(code int, patterns []string, args ...string) answer {
	o.Helper()
	var v answer
	missing := ""
	for began := time.Now(); time.Since(began) < time.Minute; e2e.Rest(o.T, 200*time.Millisecond) {
		v = o.command(args...)
		if missing = unmatched(v.stdout, patterns); missing == "" && v.code == code {
			return v
		}
	}
	o.Fatalf("%s: exit code %d, expected %d; no line in its place matches %q in\n%s%s", strings.Join(args, " "), v.code, code, missing, v.stdout, v.stderr)
	return v
}

// unmatched returns the first pattern without a matching line after the previous match.
func unmatched(text string, patterns []string) string {
	lines := strings.Split(text, "\n")
	for _, p := range patterns {
		i := slices.IndexFunc(lines, regexp.MustCompile(p).MatchString)
		if i < 0 {
			return p
		}
		lines = lines[i+1:]
	}
	return ""
}

// troubledRules have a rule for Foos, one for Databases with a finalizer, one for a kind
// without conditions, and two for missing kinds.
const troubledRules = `- name: settings
  for: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {kind: settings}}}
  validate:
  - {expression: 'has(self.data)', message: there is no data}
- name: website
  for: {apiVersion: web.example.com/v1, kind: Website}
- name: held
  for: {apiVersion: stable.example.com/v1, kind: Sample}
  finalize:
  - id: last
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-last"}}
    readyWhen: 'false'
    timeout: 1h
`

const troubledResources = `apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: good}
spec: {deploymentName: good, replicas: 1}
---
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: empty}
spec: {}
---
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: asleep, annotations: {reconcel.dev/paused: "yes"}}
spec: {deploymentName: asleep, replicas: 1}
---
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: insomniac, annotations: {reconcel.dev/pause: "true"}}
spec: {deploymentName: insomniac, replicas: 1}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: bare, labels: {kind: settings}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fine, labels: {kind: settings}}
data: {a: b}
`

// readerRole grants only the permissions that status needs, and not for all kinds.
const readerRole = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: status}
rules:
- {apiGroups: [samplecontroller.k8s.io], resources: [foos], verbs: [get, list]}
- {apiGroups: [""], resources: [configmaps], verbs: [get, list]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: status}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: status}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}]
`

// TestStatus has an operator find several problems, see them resolved, and work with few
// permissions.
func TestStatus(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{Users: []string{"operator:system:masters", "reader"}})
	r := &reviewer{T: t, cluster: cluster, binary: e2e.Build(t), folder: t.TempDir(), kubeconfig: cluster.UserKubeconfig(t, "operator")}
	o := &operator{r}
	if v := o.status(); v.code != 3 || !strings.Contains(v.stderr, "no installation of reconcel found") {
		t.Errorf("in an empty cluster: exit code %d\n%s%s", v.code, v.stdout, v.stderr)
	}
	if v := o.status("-f", "../examples/foo/rules.yaml", "-o", "json"); v.code != 0 ||
		strings.Contains(v.stdout, "null") || !strings.Contains(v.stdout, `"NotInstalled"`) || !strings.Contains(v.stdout, `"KindNotServed"`) {
		t.Errorf("rules without anything of theirs: exit code %d\n%s%s", v.code, v.stdout, v.stderr)
	}
	e2e.Kubectl(t, cluster, "apply", "-f", "../crds/")
	e2e.Kubectl(t, cluster, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	e2e.Kubectl(t, cluster, "apply", "-f", r.rules("resources.yaml", troubledResources))
	e2e.Kubectl(t, cluster, "apply", "-f", r.rules("reader.yaml", readerRole))
	rules := r.rules("rules.yaml", readFile(t, "../examples/foo/rules.yaml")+"\n"+troubledRules)
	leader := o.lead(rules)

	o.troubles(rules)
	o.narrowed(rules)
	o.json()
	o.readsOnly(rules)
	o.follows()
	o.holds()
	leader.Signal(syscall.SIGTERM)
	if err := leader.Ends(20 * time.Second); err != nil {
		t.Error(err)
	}
	o.becomes(1, []string{`^leader of default/reconcel: no process leads: the last leader released the Lease \d+s ago$`})
	o.onlyRead()
}

func (o *operator) lead(rules string) *e2e.Process {
	o.Helper()
	leader := startAs(o.T, o.binary, o.cluster, "reconcel", "--listen=off", "--namespace=default", "-f", rules)
	leader.Logs("msg=running", 30*time.Second)
	return leader
}

// troubles lists all problems at once, with and without the rules.
func (o *operator) troubles(rules string) {
	want := []string{
		`^NAMESPACE +KIND/NAME +STATE +REASON +FOR +MESSAGE$`,
		`^default +foo/empty +stalled +InvalidSpec +\d+s +.*spec.deploymentName must be set$`,
		`^default +foo/asleep +paused +Paused +\d+s +paused by the annotation reconcel.dev/paused$`,
		`^default +configmap/bare +unknown +InvalidSpec +\d+s +no conditions, the newest Event: .*there is no data$`,
		`^$`,
	}
	counts := `^1 stalled, 1 paused, 1 unknown, 1 unreported, 2 ready of 6 resources of 3 kinds$`
	missing := `^the API server does not serve Website.web.example.com, apply its CustomResourceDefinition$`
	none := `^rule "held": there is no Sample.stable.example.com$`
	leads := `^leader of default/reconcel: .* leads, renewed \d+`
	pause := `^default/foo/insomniac: annotation reconcel.dev/pause has no meaning: the resource is not paused`
	for _, pattern := range []string{missing, none, leads, counts, pause} {
		o.becomes(1, append(slices.Clone(want), pattern), "-f", rules)
	}
	// An inventory does not say which ConfigMaps a rule selects.
	o.becomes(1, append(slices.Clone(want), missing, leads, `^1 stalled, 1 paused, 1 unknown, .* 2 ready of \d+ resources of 3 kinds$`))
}

// narrowed filters the output.
func (o *operator) narrowed(rules string) {
	v := o.becomes(1, []string{`^KIND/NAME +STATE`, `^foo/empty +stalled`, `^1 stalled, 1 paused, 2 ready of 4 resources of 1 kind$`}, "-n", "default", "--state", "stalled", "foo")
	if strings.Contains(v.stdout, "asleep") {
		o.Errorf("--state is ignored:\n%s", v.stdout)
	}
	o.becomes(0, []string{`^default +foo/good +ready +Reconciled +\d+s +1/1 `, `^1 ready of 1 resource of 1 kind$`}, "-o", "wide", "foo/good")
	o.becomes(1, []string{`foo/good +ready`, `^1 stalled`}, "--all", "foo")
	o.becomes(0, []string{`^0 resources of 3 kinds$`}, "-f", rules, "-n", "kube-system")
	for code, args := range map[int][]string{2: {"bar"}, 3: {"foo/nobody"}} {
		if v := o.status(args...); v.code != code {
			o.Errorf("status %s: exit code %d, expected %d\n%s", args, v.code, code, v.stderr)
		}
	}
}

func (o *operator) json() {
	v := o.status("-o", "json", "--installation", "default/reconcel", "foo")
	var report struct {
		Resources []struct{ Kind, Namespace, Name, State, Reason, Message, Since string }
		Summary   struct {
			Resources, Kinds int
			States           map[string]int
		}
		Leaders  []struct{ Namespace, Name, State, Holder, Renewed string }
		Problems []struct{ Type, Message string }
	}
	if err := json.Unmarshal([]byte(v.stdout), &report); err != nil {
		o.Fatalf("%v: %s", err, v.stdout)
	}
	if v.code != 1 || len(report.Resources) != 2 || report.Resources[0].Name != "empty" || report.Resources[0].State != "stalled" || report.Resources[0].Since == "" {
		o.Errorf("exit code %d\n%s", v.code, v.stdout)
	}
	if report.Summary.Resources != 4 || report.Summary.States["ready"] != 2 || len(report.Leaders) != 1 || report.Leaders[0].State != "leading" || report.Leaders[0].Renewed == "" {
		o.Errorf("summary and leaders in\n%s", v.stdout)
	}
	if len(report.Problems) != 1 || report.Problems[0].Type != "PauseIgnored" {
		o.Errorf("problems in\n%s", v.stdout)
	}
}

// readsOnly runs status as a user who may get and list some kinds.
func (o *operator) readsOnly(rules string) {
	reader := &operator{&reviewer{T: o.T, cluster: o.cluster, binary: o.binary, kubeconfig: o.cluster.UserKubeconfig(o.T, "reader")}}
	reader.becomes(1, []string{`foo/empty +stalled`, `configmap/bare +unknown`, `^Sample.stable.example.com may not be listed \(-n asks for one namespace\): .*cannot list resource "samples"`, `leads, renewed`}, "-f", rules)
	reader.becomes(1, []string{`foo/empty +stalled`, `may not be listed`})
}

// follows prints changes until it is interrupted.
func (o *operator) follows() {
	says, end := o.following("status", "-w", "foo")
	says(`^default +foo/empty +stalled`)
	says(`of 4 resources of 1 kind$`)
	e2e.Kubectl(o.T, o.cluster, "patch", "foo", "empty", "--type=merge", "-p", `{"spec":{"deploymentName":"full"}}`)
	says(`^default +foo/empty +ready`)
	e2e.Kubectl(o.T, o.cluster, "patch", "foo", "good", "--type=merge", "-p", `{"spec":{"deploymentName":""}}`)
	says(`^default +foo/good +stalled +InvalidSpec`)
	e2e.Kubectl(o.T, o.cluster, "delete", "foo", "asleep", "--wait=false")
	says(`^default +foo/asleep +deleted`)
	end(1)
}

// following starts a command with -w. says waits for a line, and end stops the command.
func (o *operator) following(args ...string) (says func(pattern string), end func(code int)) {
	o.Helper()
	cmd := exec.Command(o.binary, append(args, "--kubeconfig", o.kubeconfig)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		o.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		o.Fatal(err)
	}
	o.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	says = func(pattern string) {
		o.Helper()
		match, late := regexp.MustCompile(pattern), time.After(30*time.Second)
		for {
			select {
			case line, more := <-lines:
				if match.MatchString(line) {
					return
				}
				if !more {
					o.Fatalf("it ended before it said %q", pattern)
				}
			case <-late:
				o.Fatalf("it has not said %q", pattern)
			}
		}
	}
	return says, func(code int) {
		o.Helper()
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			o.Fatal(err)
		}
		for range lines { // Read until the process ends.
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != code {
			o.Errorf("it ended with %v, expected the exit code %d", err, code)
		}
	}
}

// onlyRead checks that status made no request that changes something.
func (o *operator) onlyRead() {
	if o.cluster.Borrowed() {
		o.Log("a borrowed cluster has no audit log: whether anything was written is not looked at")
		return
	}
	e2e.Rest(o.T, time.Second) // The audit log lags a little.
	asked := 0
	found, err := o.cluster.Requests(func(q devcluster.Request) bool {
		by := q.User == "operator" || q.User == "reader"
		if by {
			asked++
		}
		return by && q.IsWrite()
	})
	if err != nil || asked == 0 || len(found) > 0 {
		o.Errorf("%d requests, of which it wrote %v, %v", asked, found, err)
	}
}

// holds deletes a resource with a finalizer of reconcel.
func (o *operator) holds() {
	sample := "apiVersion: stable.example.com/v1\nkind: Sample\nmetadata: {name: held}\nspec: {image: busybox, message: hello}\n"
	e2e.Kubectl(o.T, o.cluster, "apply", "-f", o.rules("sample.yaml", sample))
	e2e.Kubectl(o.T, o.cluster, "wait", "--for=jsonpath={.metadata.finalizers}", "sample/held", "--timeout=30s")
	e2e.Kubectl(o.T, o.cluster, "delete", "sample", "held", "--wait=false")
	o.becomes(0, []string{`^default +sample/held +waiting +Finalizing +\d+s +.*waits for .*held-last`}, "sample")
}

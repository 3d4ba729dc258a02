//go:build integration

package cli_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// mostCommands limits the commands that an operator needs to find the cause and the
// remedy.
const mostCommands = 3

// section is one problem in docs/troubleshooting.md.
type section struct {
	title    string
	commands []transcript
	remedies []string
}

// transcript is a command with its output, as the page shows them.
type transcript struct {
	command string
	lines   []string
}

// sectionsOf parses the page. Console blocks are transcripts, and sh blocks are remedies.
func sectionsOf(page string) (all []section) {
	all = []section{{title: "Troubleshooting"}}
	block := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		last := &all[len(all)-1]
		fence, isFence := strings.CutPrefix(line, "```")
		command, isCommand := strings.CutPrefix(line, "$ ")
		title, isTitle := strings.CutPrefix(line, "## ")
		switch {
		case isFence:
			block = fence
		case block == "sh":
			last.remedies = append(last.remedies, line)
		case block == "console" && isCommand:
			last.commands = append(last.commands, transcript{command: command})
		case block == "console" && line != "" && line != "...":
			t := &last.commands[len(last.commands)-1]
			t.lines = append(t.lines, line)
		case isTitle:
			all = append(all, section{title: title})
		}
	}
	return all
}

// varying matches output that differs between runs.
var varying = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[\w-]+_[0-9a-f]{8}-[0-9a-f-]{27}`), "PROCESS"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), "TIME"},
	{regexp.MustCompile(`\w{3}, \d\d \w{3} \d{4} [\d:]+ [+-]\d{4}`), "TIME"},
	{regexp.MustCompile(`\d+\.\d+\.\d+\.\d+(:\d+)?`), "ADDRESS"},
	{regexp.MustCompile(`\b\d+[dhms](\d+[hms])?\b`), "AGE"},
	{regexp.MustCompile(`\(x\d+ over AGE\)`), ""},
	{regexp.MustCompile(`shop-[a-z0-9]+-[a-z0-9]{5}\b`), "POD"},
	{regexp.MustCompile(`\b\d+ objects belong`), "N objects belong"},
	{regexp.MustCompile(`\s+`), " "},
}

// invariable replaces the varying parts of a line.
func invariable(line string) string {
	for _, v := range varying {
		line = v.pattern.ReplaceAllString(line, v.by)
	}
	return strings.TrimSpace(line)
}

// nightShift is an operator with the page, kubectl, the log and reconcel status.
type nightShift struct {
	*operator
	path string // of reconcel and kubectl
}

// newNightShift starts a cluster with one problem in each namespace, and reconcel on it.
func newNightShift(t *testing.T) (n *nightShift, leader *e2e.Process) {
	cluster := devcluster.Start(t, devcluster.Options{Users: []string{"controller", "second:system:masters", "operator:system:masters"}})
	if cluster.Borrowed() {
		t.Skip("a borrowed cluster's API server cannot be stopped")
	}
	n = &nightShift{operator: &operator{&reviewer{T: t, cluster: cluster, binary: e2e.Build(t), folder: t.TempDir(), kubeconfig: cluster.UserKubeconfig(t, "operator")}}}
	if err := os.CopyFS(n.folder, os.DirFS("testdata/trouble")); err != nil {
		t.Fatal(err)
	}
	supervisor, err := filepath.Abs("../bin/devcluster")
	if err != nil {
		t.Fatal(err)
	}
	n.path = filepath.Dir(n.binary)
	kubectl := "#!/bin/sh\nexec " + supervisor + ` kubectl --kubeconfig="$KUBECONFIG" "$@"` + "\n"
	if err := os.WriteFile(filepath.Join(n.path, "kubectl"), []byte(kubectl), 0o700); err != nil { //nolint:gosec // The file must be executable.
		t.Fatal(err)
	}
	n.must("kubectl apply -f namespaces.yaml && kubectl apply -f crds/websites.yaml -f roles.yaml")
	n.must("kubectl wait --for=condition=Established crd/websites.web.acme.io")
	n.must("kubectl delete namespace archive --wait=false && kubectl apply -f resources.yaml")
	leader = n.run("controller")
	if err := os.Symlink(leader.LogFile, filepath.Join(n.folder, "reconcel.log")); err != nil {
		t.Fatal(err)
	}
	return n, leader
}

func (n *nightShift) run(user string, args ...string) *e2e.Process {
	n.Helper()
	r := startAs(n.T, n.binary, n.cluster, user, append([]string{"-f", filepath.Join(n.folder, "rules.yaml"), "--namespace=reconcel-system", "--listen=off"}, args...)...)
	r.Logs("msg=running", 30*time.Second)
	return r
}

// types runs a command line in a shell.
func (n *nightShift) types(command string) (string, error) {
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = n.folder
	cmd.Env = append(os.Environ(), "PATH="+n.path+":"+os.Getenv("PATH"), "KUBECONFIG="+n.kubeconfig)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must runs a command that has to succeed.
func (n *nightShift) must(command string) string {
	n.Helper()
	out, err := n.types(command)
	if err != nil {
		n.Fatalf("%s: %v\n%s", command, err, out)
	}
	return out
}

// sees runs the commands of a section, and compares their output with the page.
func (n *nightShift) sees(s section) {
	n.Helper()
	if len(s.commands) > mostCommands {
		n.Errorf("%s: cause and remedy take %d commands", s.title, len(s.commands))
	}
	for _, t := range s.commands {
		if len(t.lines) == 0 {
			out, _ := n.types(t.command)
			n.Errorf("%s: the page does not show what $ %s prints:\n%s", s.title, t.command, out)
			continue
		}
		out, missing := "", ""
		for began := time.Now(); time.Since(began) < 40*time.Second; e2e.Rest(n.T, 200*time.Millisecond) {
			out, _ = n.types(t.command) // The exit code of reconcel status is 1.
			if missing = missingLine(out, t.lines); missing == "" {
				break
			}
		}
		if missing != "" {
			n.Errorf("%s: $ %s\ndoes not print the line\n%s\nbut\n%s", s.title, t.command, missing, out)
		}
	}
}

// missingLine returns the first line that the output lacks.
func missingLine(out string, lines []string) string {
	has := map[string]bool{}
	for line := range strings.Lines(out) {
		has[invariable(line)] = true
	}
	for _, line := range lines {
		if !has[invariable(line)] {
			return line
		}
	}
	return ""
}

// fights changes a field of a child until the child is Contested.
func (n *nightShift) fights() {
	n.Helper()
	for i := range 60 {
		n.must(fmt.Sprintf(`kubectl patch deployment -n fight shop --field-manager=autoscaler --type=merge -p '{"spec":{"replicas":%d}}'`, 2+i%4))
		if strings.Contains(n.must("kubectl get website -n fight shop"), "Contested") {
			return
		}
	}
	n.Fatal("it was not Contested")
}

// spoils sets the status of Pods as a kubelet does that cannot pull their image.
func (n *nightShift) spoils() {
	n.Helper()
	n.must("kubectl wait -n image --for=create deployment/shop --timeout=30s && kubectl wait -n image --for=condition=Available deployment/shop --timeout=30s")
	n.must("kubectl wait -n worker --for=create pod/shop-worker --timeout=30s && kubectl wait -n worker --for=condition=Ready pod/shop-worker --timeout=30s")
	web := strings.TrimSpace(n.must("kubectl get pods -n image -o name"))
	for pod, container := range map[string]string{web + " -n image": "web", "pod/shop-worker -n worker": "worker"} {
		n.must(fmt.Sprintf(`kubectl patch %s --subresource=status --type=merge -p '{"status":{"phase":"Pending",
			"conditions":[{"type":"Ready","status":"False","reason":"ContainersNotReady"}],
			"containerStatuses":[{"name":%q,"image":"ngnix:1.27","imageID":"","ready":false,"restartCount":0,
				"state":{"waiting":{"reason":"ImagePullBackOff","message":"Back-off pulling image \"ngnix:1.27\""}}}]}}'`, pod, container))
	}
}

// TestTroubleshooting has an operator work through docs/troubleshooting.md. Each problem
// is injected, the output of the commands matches the page, and the remedies help.
func TestTroubleshooting(t *testing.T) {
	t.Parallel()
	page := sectionsOf(readFile(t, "../docs/troubleshooting.md"))
	n, leader := newNightShift(t)
	n.spoils()
	n.must("kubectl wait -n immutable --for=condition=Ready website/shop --timeout=30s")
	n.must(`kubectl patch website -n immutable shop --type=merge -p '{"spec":{"track":"canary"}}'`)
	n.fights()

	troubles := 0
	for _, s := range page {
		if len(s.commands) > 0 {
			troubles++
		}
		n.meets(s)
		if len(s.remedies) > 0 {
			n.must(strings.Join(s.remedies, "\n"))
		}
	}
	if troubles < 12 {
		t.Errorf("the page has %d troubles", troubles)
	}
	// The page says what to do after more than 10 seconds without an API server.
	renewed := regexp.MustCompile(` leads, renewed [0-2]s ago`)
	e2e.Poll(t, "the process to lead again, or to end", 30*time.Second, 100*time.Millisecond, func() error {
		out, _ := n.types("reconcel status")
		if leader.Ended() {
			n.run("controller")
		} else if !renewed.MatchString(out) {
			return errors.New(out)
		}
		return nil
	})
	n.becomes(0, []string{`^leader of reconcel-system/reconcel: .* leads, renewed`, `^13 ready of 13 resources of 1 kind$`})
	if log := readFile(t, leader.LogFile); strings.Contains(log, "cannot acquire the Lease") || strings.Contains(log, "lost permission") {
		t.Error("the restart of the API server was told as lost permissions")
	}
}

// meets sets up the conditions of a section, and checks the section.
func (n *nightShift) meets(s section) {
	n.Helper()
	switch s.title {
	case "Two installations": // All objects must exist before the second installation starts.
		n.must("kubectl wait --for=condition=Ready website/shop -n budget --timeout=40s && kubectl wait --for=condition=Ready website/shop -n ingress --timeout=20s")
		second := n.run("second", "--name=second")
		n.sees(s)
		second.Signal(syscall.SIGTERM)
		if err := second.Ends(20 * time.Second); err != nil {
			n.Error(err)
		}
		if log := readFile(n.T, second.LogFile); strings.Contains(log, "resource recovered") || strings.Contains(log, "resource synced") {
			n.Error("an installation whose rules are refused tells of resources")
		}
	case "The API server does not answer":
		if err := n.cluster.Stop("kube-apiserver"); err != nil {
			n.Fatal(err)
		}
		n.sees(s)
		if err := n.cluster.Start("kube-apiserver"); err != nil {
			n.Fatal(err)
		}
	default:
		n.sees(s)
	}
}

package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/dev"
	"reconcel/rules"
)

var (
	devFoos        = schema.GroupVersionResource{Group: "samplecontroller.k8s.io", Version: "v1alpha1", Resource: "foos"}
	devDeployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	devConfigMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	devJobs        = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
)

// A devServer is reconcel dev in a process of its own.
type devServer struct {
	dynamic.Interface
	t          *testing.T
	cmd        *exec.Cmd
	kubeconfig string
	config     *rest.Config
	said       lockedBuffer // stderr
	ended      chan error
	stopped    bool
}

type lockedBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// startDev starts reconcel dev and waits until it serves.
func startDev(t *testing.T, args ...string) *devServer {
	t.Helper()
	d := &devServer{t: t, cmd: exec.Command("reconcel", append([]string{"dev"}, args...)...), ended: make(chan error, 1)}
	d.cmd.Stderr = &d.said
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	go func() { d.ended <- d.cmd.Wait() }()
	t.Cleanup(func() {
		if !d.stopped {
			_ = d.stop()
		}
	})
	path, found := strings.CutPrefix(strings.TrimSpace(line), "export KUBECONFIG=")
	if err != nil || !found {
		t.Fatalf("the first line is %q (%v)\n%s", line, err, &d.said)
	}
	d.kubeconfig = path
	if d.config, err = clientcmd.BuildConfigFromFlags("", path); err != nil {
		t.Fatal(err)
	}
	d.Interface = dynamic.NewForConfigOrDie(d.config)
	return d
}

// stop ends the process as Ctrl-C does.
func (d *devServer) stop() error {
	d.t.Helper()
	d.stopped = true
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		d.t.Fatal(err)
	}
	select {
	case err := <-d.ended:
		return err
	case <-time.After(patience):
		_ = d.cmd.Process.Kill()
		d.t.Fatalf("it does not end\n%s", &d.said)
		return nil
	}
}

// eventually waits until something is so.
func (d *devServer) eventually(what string, is func() bool) {
	d.t.Helper()
	err := wait.PollUntilContextTimeout(d.t.Context(), 10*time.Millisecond, patience, true,
		func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		d.t.Fatalf("%s: not after %s\n%s", what, patience, &d.said)
	}
}

// get returns an object, or an empty one.
func (d *devServer) get(gvr schema.GroupVersionResource, name string) *unstructured.Unstructured {
	u, err := d.Resource(gvr).Namespace("default").Get(d.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return &unstructured.Unstructured{}
	}
	return u
}

func (d *devServer) create(gvr schema.GroupVersionResource, text string) {
	d.t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.Resource(gvr).Namespace("default").Create(d.t.Context(), u, metav1.CreateOptions{}); err != nil {
		d.t.Fatal(err)
	}
}

// readiness returns the status and the message of the condition Ready.
func readiness(u *unstructured.Unstructured) (status, message string) {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == "Ready" {
			return c["status"].(string), c["message"].(string)
		}
	}
	return "", ""
}

func (d *devServer) fooIsReady() bool {
	status, _ := readiness(d.get(devFoos, "example-foo"))
	return status == "True"
}

// edit replaces text in a file.
func edit(t *testing.T, path, from, to string) {
	t.Helper()
	text := readText(t, path)
	if !strings.Contains(text, from) {
		t.Fatalf("%s has no %q", path, from)
	}
	write(t, path, strings.ReplaceAll(text, from, to))
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// devFolder returns a folder with the rules, the CRD and the resource of examples/foo.
func devFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, from := range map[string]string{"rules.yaml": "../examples/foo/rules.yaml", "foo.yaml": "../examples/foo/foo.yaml",
		"crd.yaml": "../crds/samplecontroller.k8s.io_foos.yaml"} {
		write(t, filepath.Join(folder, name), readText(t, from))
	}
	return folder
}

// TestDevRunsRules creates a Foo by a client, and edits the rules while they run.
func TestDevRunsRules(t *testing.T) {
	t.Parallel()
	folder := devFolder(t)
	rules := filepath.Join(folder, "rules.yaml")
	d := startDev(t, "-f", rules, "--crd", filepath.Join(folder, "crd.yaml"))
	d.create(devFoos, readText(t, filepath.Join(folder, "foo.yaml")))
	d.eventually("the Foo is ready", d.fooIsReady)
	if image := imageOf(d.get(devDeployments, "example-foo")); image != "nginx:latest" {
		t.Errorf("the image is %q", image)
	}
	edit(t, rules, "nginx:latest", "nginx:1")
	d.eventually("the Deployment follows the rules", func() bool { return imageOf(d.get(devDeployments, "example-foo")) == "nginx:1" })
	edit(t, rules, "nginx:1", "${nothing}")
	d.eventually("the mistake is reported", func() bool { return strings.Contains(d.said.String(), "nothing") })
	edit(t, rules, "${nothing}", "nginx:2")
	d.eventually("the Deployment follows the mended rules", func() bool { return imageOf(d.get(devDeployments, "example-foo")) == "nginx:2" })
	if err := d.stop(); err != nil {
		t.Errorf("it ends with %v\n%s", err, &d.said)
	}
}

// TestDevRunsRulesObjects creates rules as an object.
func TestDevRunsRulesObjects(t *testing.T) {
	t.Parallel()
	folder := devFolder(t)
	d := startDev(t, "--rules-objects", "--crd", filepath.Join(folder, "crd.yaml"), "-r", filepath.Join(folder, "foo.yaml"))
	d.create(rules.RulesResource, strings.Replace(readText(t, filepath.Join(folder, "rules.yaml")), "kind: Rules\n", "kind: Rules\nmetadata: {name: web}\n", 1))
	d.eventually("the Foo is ready", d.fooIsReady)
	d.eventually("so are the rules", func() bool {
		status, _ := readiness(d.get(rules.RulesResource, "web"))
		return status == "True"
	})
}

func imageOf(deployment *unstructured.Unstructured) string {
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if len(containers) == 0 {
		return ""
	}
	image, _ := containers[0].(map[string]any)["image"].(string)
	return image
}

// TestDevWaitsForValidRules starts with rules that are invalid.
func TestDevWaitsForValidRules(t *testing.T) {
	t.Parallel()
	folder := devFolder(t)
	rules := filepath.Join(folder, "rules.yaml")
	edit(t, rules, "nginx:latest", "${nothing}")
	d := startDev(t, "-f", rules, "--crd", filepath.Join(folder, "crd.yaml"), "-r", filepath.Join(folder, "foo.yaml"))
	d.eventually("the mistake is reported", func() bool { return strings.Contains(d.said.String(), "no rules are active until they are valid") })
	if d.get(devFoos, "example-foo").GetName() == "" {
		t.Error("the objects of -r are not there")
	}
	edit(t, rules, "${nothing}", "nginx:latest")
	d.eventually("the mended rules run", d.fooIsReady)
}

// TestDevRejectsRulesOfStdin passes invalid rules on stdin, which cannot be read again.
func TestDevRejectsRulesOfStdin(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("reconcel", "dev", "-f", "-")
	cmd.Stdin = strings.NewReader("kind: Rules\n")
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || !strings.Contains(string(out), "apiVersion") {
		t.Errorf("it ends with %v\n%s", err, out)
	}
}

// TestDevWaitsForRules starts before the file of its rules exists.
func TestDevWaitsForRules(t *testing.T) {
	t.Parallel()
	folder := devFolder(t)
	rules, later := filepath.Join(folder, "rules.yaml"), filepath.Join(folder, "later.yaml")
	d := startDev(t, "-f", later, "--crd", filepath.Join(folder, "crd.yaml"), "-r", filepath.Join(folder, "foo.yaml"))
	d.eventually("the missing file is reported", func() bool {
		return strings.Contains(d.said.String(), "later.yaml: cannot be read")
	})
	write(t, later, readText(t, rules))
	d.eventually("the rules run", d.fooIsReady)
}

// TestDevStartsInterrupted has a signal before the CRDs are applied.
func TestDevStartsInterrupted(t *testing.T) {
	t.Parallel()
	served, err := dev.Start(dev.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer served.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var said bytes.Buffer
	devCommand{out: &printer{&said, &said}}.apply(ctx, &dev.Files{Cluster: served.Cluster, CRDs: []string{"../crds"}})
	if said.Len() > 0 {
		t.Errorf("it says\n%s", &said)
	}
}

// TestDevKeepsObjectsOfFilesWithMistakes removes the CRD of an object, and edits the file of the object meanwhile.
func TestDevKeepsObjectsOfFilesWithMistakes(t *testing.T) {
	t.Parallel()
	folder := devFolder(t)
	objects := filepath.Join(folder, "objects.yaml")
	write(t, objects, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\n"+readText(t, filepath.Join(folder, "foo.yaml")))
	d := startDev(t, "--crd", filepath.Join(folder, "crd.yaml"), "-r", objects)
	edit(t, objects, "kind: ConfigMap", "kind: Configmap")
	d.eventually("the mistake is reported", func() bool { return strings.Contains(d.said.String(), "no kind Configmap") })
	if d.get(devConfigMaps, "a").GetName() == "" {
		t.Error("an object with a mistake in its file is deleted")
	}
	edit(t, objects, "kind: Configmap", "kind: ConfigMap")
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if err := d.Resource(crds).Delete(t.Context(), "foos.samplecontroller.k8s.io", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	edit(t, objects, "replicas: 1", "replicas: 2")
	d.eventually("the missing kind is reported", func() bool { return strings.Contains(d.said.String(), "no kind Foo") })
	write(t, objects, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n")
	d.eventually("the objects follow the file", func() bool {
		return d.get(devConfigMaps, "a").GetName() == "" && d.get(devConfigMaps, "b").GetName() == "b"
	})
	if err := d.stop(); err != nil {
		t.Errorf("it ends with %v\n%s", err, &d.said)
	}
}

// TestDevFollowsFiles edits files of CRDs and objects.
func TestDevFollowsFiles(t *testing.T) {
	t.Parallel()
	folder := devFolder(t)
	crd, objects := filepath.Join(folder, "crd.yaml"), filepath.Join(folder, "objects.yaml")
	const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME\ndata:\n  key: one\n---\n"
	write(t, objects, strings.ReplaceAll(configMap, "NAME", "a")+strings.ReplaceAll(configMap, "NAME", "b"))
	d := startDev(t, "--crd", crd, "-r", objects, "-r", filepath.Join(folder, "foo.yaml"))
	for _, name := range []string{"a", "b"} {
		if d.get(devConfigMaps, name).GetName() == "" {
			t.Errorf("ConfigMap %s is not there", name)
		}
	}
	write(t, objects, strings.ReplaceAll(strings.ReplaceAll(configMap, "NAME", "a"), "one", "two"))
	d.eventually("an object follows its file", func() bool {
		value, _, _ := unstructured.NestedString(d.get(devConfigMaps, "a").Object, "data", "key")
		return value == "two"
	})
	d.eventually("an object that is gone from its file is deleted", func() bool { return d.get(devConfigMaps, "b").GetName() == "" })

	write(t, objects, "kind: [")
	d.eventually("a mistake is reported", func() bool { return strings.Contains(d.said.String(), "objects.yaml:1:") })
	if d.get(devConfigMaps, "a").GetName() == "" {
		t.Error("a file that cannot be read deletes its objects")
	}

	edit(t, crd, "deploymentName:\n", "color:\n                type: string\n              deploymentName:\n")
	d.eventually("a new field of a CRD is kept", func() bool {
		_, err := d.Resource(devFoos).Namespace("default").Patch(t.Context(), "example-foo", "application/merge-patch+json",
			[]byte(`{"spec":{"color":"red"}}`), metav1.PatchOptions{})
		color, _, _ := unstructured.NestedString(d.get(devFoos, "example-foo").Object, "spec", "color")
		return err == nil && color == "red"
	})
}

// advance moves the clock, and returns what the command prints.
func (d *devServer) advance(by string) string {
	d.t.Helper()
	out, err := exec.Command("reconcel", "dev", "advance", by, "--kubeconfig", d.kubeconfig).CombinedOutput()
	if err != nil {
		d.t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

const finishedJob = `
apiVersion: batch/v1
kind: Job
metadata:
  name: once
spec:
  ttlSecondsAfterFinished: 3600
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: busybox
`

// TestDevAdvance lets the time to live of a finished Job pass.
func TestDevAdvance(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	d.create(devJobs, finishedJob)
	d.eventually("the Job is complete", func() bool {
		_, done, _ := unstructured.NestedString(d.get(devJobs, "once").Object, "status", "completionTime")
		return done
	})
	began := time.Now()
	if out := d.advance("59m"); !strings.HasPrefix(out, "it is 20") {
		t.Errorf("it prints %q", out)
	}
	if d.get(devJobs, "once").GetName() == "" {
		t.Error("the Job is gone before its time")
	}
	out := d.advance("2m")
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(strings.TrimPrefix(out, "it is ")))
	if least, most := began.Add(time.Hour), time.Now().Add(61*time.Minute); err != nil || at.Before(least) || at.After(most) {
		t.Errorf("it prints %q, want between %s and %s", out, least.UTC(), most.UTC())
	}
	d.eventually("the Job is deleted", func() bool { return d.get(devJobs, "once").GetName() == "" })
}

const agedRules = `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: aged
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  status: {availableReplicas: '${elapsed(self.metadata.creationTimestamp, "24h") ? 2 : 1}'}
`

// TestDevAdvanceRules lets the time pass for which a rule waits.
func TestDevAdvanceRules(t *testing.T) {
	t.Parallel()
	folder := devFolder(t)
	rules := filepath.Join(folder, "rules.yaml")
	write(t, rules, agedRules)
	d := startDev(t, "-f", rules, "--crd", filepath.Join(folder, "crd.yaml"), "-r", filepath.Join(folder, "foo.yaml"))
	shows := func(want int64) func() bool {
		return func() bool {
			n, _, _ := unstructured.NestedInt64(d.get(devFoos, "example-foo").Object, "status", "availableReplicas")
			return n == want
		}
	}
	d.eventually("the Foo is new", shows(1))
	d.advance("25h")
	d.eventually("the Foo is a day old", shows(2))
}

// TestDevAdvanceElsewhere sends advance to a server that dev did not start, and to an address without a server.
func TestDevAdvanceElsewhere(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	other := filepath.Join(t.TempDir(), "kubeconfig")
	write(t, other, readText(t, d.kubeconfig))
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("reconcel", "dev", "advance", "1h", "--kubeconfig", other).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "refused") {
		t.Errorf("without a server it prints %q, %v", out, err)
	}
	elsewhere := http.Server{Handler: http.NotFoundHandler()}
	elsewhere.Addr = strings.TrimPrefix(d.config.Host, "https://")
	go func() { _ = elsewhere.ListenAndServe() }()
	defer elsewhere.Close()
	edit(t, other, "https://", "http://")
	d.eventually("the other server is recognized", func() bool {
		out, _ = exec.Command("reconcel", "dev", "advance", "1h", "--kubeconfig", other).CombinedOutput()
		return strings.Contains(string(out), "is not served by reconcel dev")
	})
}

// TestDevFails lets the first writes of the controller fail.
func TestDevFails(t *testing.T) {
	t.Parallel()
	folder := devFolder(t)
	d := startDev(t, "-f", filepath.Join(folder, "rules.yaml"), "--crd", filepath.Join(folder, "crd.yaml"),
		"-r", filepath.Join(folder, "foo.yaml"), "--fail", "verb=apply,kind=Deployment,times=always,error=Forbidden,message=no, not now")
	d.eventually("the Foo says why it is not ready", func() bool {
		_, message := readiness(d.get(devFoos, "example-foo"))
		return strings.Contains(message, "no, not now")
	})
	if d.get(devDeployments, "example-foo").GetName() != "" {
		t.Error("the Deployment exists")
	}
	for text, want := range map[string]string{
		"verb=create,kind=Deploymant": "there is no kind Deploymant", "verb=shout": "verb", "soon": `"soon" is not key=value`,
		"when=now": `unknown key "when"`,
	} {
		out, err := exec.Command("reconcel", "dev", "--fail", text).CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 2 || !strings.Contains(string(out), want) {
			t.Errorf("--fail %s: %v\n%s", text, err, out)
		}
	}
}

// TestDevFailsForATime breaks two connections.
func TestDevFailsForATime(t *testing.T) {
	t.Parallel()
	folder := devFolder(t)
	d := startDev(t, "-f", filepath.Join(folder, "rules.yaml"), "--crd", filepath.Join(folder, "crd.yaml"),
		"-r", filepath.Join(folder, "foo.yaml"), "--fail", "verb=apply,kind=Deployment,times=2,error=ConnectionLost", "--log-level", "info")
	d.eventually("the Foo is ready in the end", d.fooIsReady)
	if !strings.Contains(d.said.String(), "stream error") {
		t.Errorf("no broken connection is logged:\n%s", &d.said)
	}
}

// TestDevAccess holds that only its user gets access, and that nothing is left.
func TestDevAccess(t *testing.T) {
	t.Parallel()
	d := startDev(t)
	info, err := os.Stat(d.kubeconfig)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig has mode %v, %v", info.Mode(), err)
	}
	if folder, err := os.Stat(filepath.Dir(d.kubeconfig)); err != nil || folder.Mode().Perm() != 0o700 {
		t.Errorf("its folder has mode %v, %v", folder.Mode(), err)
	}
	if !strings.HasPrefix(d.config.Host, "https://127.0.0.1:") {
		t.Errorf("it listens on %s", d.config.Host)
	}
	second := startDev(t)
	if d.config.BearerToken == second.config.BearerToken {
		t.Error("two servers have the same token")
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, token := range []string{"", second.config.BearerToken} {
		for _, path := range []string{"/api/v1/namespaces", "/version", "/reconcel.dev/advance?by=1h"} {
			request, err := http.NewRequest(http.MethodPost, d.config.Host+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+token)
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s with the token %q answers %s", path, token, response.Status)
			}
		}
	}
	for _, s := range []*devServer{d, second} {
		if err := s.stop(); err != nil {
			t.Errorf("it ends with %v\n%s", err, &s.said)
		}
		if _, err := os.Stat(filepath.Dir(s.kubeconfig)); !os.IsNotExist(err) {
			t.Errorf("the kubeconfig stays: %v", err)
		}
	}
}

// TestDevKubeconfigFile names the file of the kubeconfig.
func TestDevKubeconfigFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "its kubeconfig")
	write(t, path, "mine")
	out, err := exec.Command("reconcel", "dev", "--write-kubeconfig", path).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--write-kubeconfig") || readText(t, path) != "mine" {
		t.Errorf("with an existing file it prints %q, %v", out, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	d := exec.Command("reconcel", "dev", "--write-kubeconfig", path)
	stdout, err := d.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	if line != "export KUBECONFIG='"+path+"'\n" {
		t.Errorf("it prints %q", line)
	}
	_ = d.Process.Signal(syscall.SIGTERM)
	if err := d.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the kubeconfig stays: %v", err)
	}
}

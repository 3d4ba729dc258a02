package cli

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
)

// reconcile runs reconcel reconcile in the cluster of d, and returns what it says.
func (d *devServer) reconcile(args ...string) (code int, stdout, stderr string) {
	d.t.Helper()
	var out, problems bytes.Buffer
	cmd := exec.Command("reconcel", append([]string{"reconcile", "--kubeconfig", d.kubeconfig}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		d.t.Fatal(err)
	}
	return code, out.String(), problems.String()
}

// breaks changes the image of the Deployment in the name of reconcel's own field manager, so that nothing shows another writer.
func (d *devServer) breaks() {
	d.t.Helper()
	u := d.get(devDeployments, "example-foo")
	u.SetManagedFields(nil)
	containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	containers[0].(map[string]any)["image"] = "broken"
	if err := unstructured.SetNestedSlice(u.Object, containers, "spec", "template", "spec", "containers"); err != nil {
		d.t.Fatal(err)
	}
	delete(u.Object, "status")
	body, err := u.MarshalJSON()
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.Resource(devDeployments).Namespace("default").Patch(d.t.Context(), "example-foo", types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: "reconcel", Force: new(true)}); err != nil {
		d.t.Fatal(err)
	}
}

// TestReconcileCommand reconciles a Foo whose Deployment is broken, a paused Foo, and objects that no rule is for.
func TestReconcileCommand(t *testing.T) {
	t.Parallel()
	folder := devFolder(t)
	d := startDev(t, "-f", filepath.Join(folder, "rules.yaml"), "--crd", filepath.Join(folder, "crd.yaml"), "-r", filepath.Join(folder, "foo.yaml"))
	d.eventually("the Foo is ready", d.fooIsReady)
	d.breaks()
	code, stdout, stderr := d.reconcile("foo/example-foo", "--wait", "--timeout", "30s")
	want := regexp.MustCompile(`^foo/example-foo: requested, reconcel.dev/reconcile-at is \S+Z\nfoo/example-foo: (ready, Reconciled|progressing, Progressing): .+\n$`)
	if code != 0 || !want.MatchString(stdout) || stderr != "" {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if image := imageOf(d.get(devDeployments, "example-foo")); image != "nginx:latest" {
		t.Errorf("after the command, the image is %q", image)
	}
	asked := d.get(devFoos, "example-foo").GetAnnotations()[rules.AnnotationReconcileAt]
	if got := d.get(devDeployments, "example-foo").GetAnnotations()[rules.AnnotationReconciledAt]; got != asked {
		t.Errorf("the Deployment was applied for %q, the Foo asks for %q", got, asked)
	}

	annotate := func(text string) {
		if _, err := d.Resource(devFoos).Namespace("default").Patch(t.Context(), "example-foo", types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"reconcel.dev/paused":`+text+`}}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	annotate(`"true"`)
	d.breaks()
	code, stdout, stderr = d.reconcile("foos.samplecontroller.k8s.io/example-foo", "--wait")
	if code != 0 || !strings.Contains(stderr, "is paused by its annotation reconcel.dev/paused: the request counts when the pause ends") {
		t.Errorf("of a paused Foo: exit code %d\n%s%s", code, stdout, stderr)
	}
	if image := imageOf(d.get(devDeployments, "example-foo")); image != "broken" {
		t.Errorf("in the pause, the image is %q", image)
	}
	annotate("null")
	d.eventually("the request to count after the pause", func() bool { return imageOf(d.get(devDeployments, "example-foo")) == "nginx:latest" })

	for _, test := range []struct {
		args       []string
		code       int
		stdout     string
		stderrText string
	}{
		{[]string{"bar/example-foo"}, 2, "", `error: "bar/example-foo": the API server does not serve that kind`},
		{[]string{"foo/other"}, 3, "", "error: foo/other not found in namespace default"},
		{[]string{"foo/example-foo", "-n", "elsewhere"}, 3, "", "error: foo/example-foo not found in namespace elsewhere"},
		{[]string{"deployment/example-foo", "--wait", "--timeout", "1s"}, 1, "deployment/example-foo: requested, ",
			"no installation in the cluster has rules for Deployment"},
	} {
		code, stdout, stderr := d.reconcile(test.args...)
		if code != test.code || !strings.HasPrefix(stdout, test.stdout) || stdout == "" != (test.stdout == "") || !strings.Contains(stderr, test.stderrText) {
			t.Errorf("%q: exit code %d\n%s%s", test.args, code, stdout, stderr)
		}
	}
}

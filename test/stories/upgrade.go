package stories

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"reconcel/rules"
	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// OlderProgram returns the program of an earlier version, which the environment names.
func OlderProgram(t *testing.T) string {
	t.Helper()
	const variable = "RECONCEL_OLD"
	older := os.Getenv(variable)
	if older == "" {
		t.Skipf("%s is not set: set it to the program of an earlier version, such as one that is built from d92ad49",
			variable)
	}
	return older
}

// An Upgrade is the story of an installation that two versions of reconcel run, one after the other.
type Upgrade struct {
	*testing.T
	Config     *rest.Config // of an administrator
	Kubeconfig string       // of reconcel
	Older      string       // the program of the older version
	Newer      string
	Root       string // of the repository
	Copies     int    // of the resources of each example
	// Writes returns the writes of reconcel so far.
	Writes func() []devcluster.Request

	client dynamic.Interface
	kinds  []kindOf
	names  []string // of the examples
	files  string   // the folder of the rules
}

// A kindOf is a kind that the cluster serves.
type kindOf struct {
	gvr        schema.GroupVersionResource
	kind       string
	namespaced bool
}

// installed is the namespace of the installation.
const installed = "default"

// Tell goes from the rules files of the older version to Rules objects and back to the older version, with and without
// files of the newer version in between. After the objects of all examples have converged, nothing is written but
// reconcel's own objects, and annotations of primaries that remember finished Jobs.
func (u *Upgrade) Tell() {
	u.Helper()
	u.prepare()
	u.createResources()
	p := u.start(u.Older, "-f", u.files)
	u.eventually("all resources to be ready", u.converged)
	before := u.rests()
	made := 0
	for _, o := range before {
		if o.GetLabels()[rules.LabelRule] != "" {
			made++
		}
	}
	u.Logf("%d objects, %d of them made by the older version", len(before), made)
	if made < 50*u.Copies {
		u.Errorf("the older version made %d objects of %d copies of the examples", made, u.Copies)
	}
	for _, step := range []struct {
		program string
		args    []string
	}{
		{u.Newer, []string{"-f", u.files}},
		{u.Newer, []string{rulesObjects}},
		{u.Newer, []string{"-f", u.files}},
		{u.Older, []string{"-f", u.files}},
		{u.Newer, []string{rulesObjects}},
		{u.Older, []string{"-f", u.files}},
	} {
		u.ends(p)
		name := strings.Join(append([]string{filepath.Base(step.program)}, step.args...), " ")
		objects := slices.Contains(step.args, rulesObjects)
		if objects {
			u.applyRules()
		}
		written := len(u.Writes())
		p = u.start(step.program, step.args...)
		if !objects {
			u.deleteRules()
		}
		now := u.rests()
		u.onlyOwn(name, u.Writes()[written:], u.same(name, before, now))
		if p.Logged("rule removed") {
			u.Errorf("%s: a rule is removed:\n%s", name, p.Log())
		}
		before = now
	}
	u.ends(p)
}

const rulesObjects = "--rules-objects"

// prepare defines all kinds, and writes the rules files as the older version deploys them: as the files of a ConfigMap.
func (u *Upgrade) prepare() {
	u.Helper()
	config := rest.CopyConfig(u.Config)
	config.UserAgent, config.QPS, config.WarningHandler = "story", -1, rest.NoWarnings{}
	u.client = dynamic.NewForConfigOrDie(config)
	crdFolder := filepath.Join(u.Root, "crds")
	definitions, err := filepath.Glob(filepath.Join(crdFolder, "*.yaml"))
	if err != nil || len(definitions) == 0 {
		u.Fatalf("%d CRDs, %v", len(definitions), err)
	}
	crds := u.client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"})
	texts := []string{u.output(u.Newer, "crd", rulesObjects)}
	for _, path := range definitions {
		texts = append(texts, u.read(path))
	}
	for _, text := range texts {
		for _, o := range e2e.Parse(u.T, text) {
			u.apply(crds, o)
			u.eventually(o.GetName()+" to be established", func() error {
				live, err := crds.Get(u.Context(), o.GetName(), metav1.GetOptions{})
				if err != nil {
					return err
				}
				return e2e.Condition(live, "Established", "True")
			})
		}
	}
	d := discovery.NewDiscoveryClientForConfigOrDie(config)
	u.eventually("all kinds to be served", func() error { return u.discover(d, len(texts)) })

	folder := u.TempDir()
	paths, err := filepath.Glob(filepath.Join(u.Root, "examples", "*", "rules.yaml"))
	if err != nil || len(paths) == 0 {
		u.Fatalf("%d examples, %v", len(paths), err)
	}
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		file := filepath.Join(folder, name+".yaml")
		u.write(file, olderRules(u.read(path)))
		known := exec.Command(u.Older, "manifests", "-f", file, "--crd", crdFolder, "-n", installed)
		known.Env = e2e.Environment()
		if err := known.Run(); err != nil {
			u.Logf("the older version does not know example %s", name)
			if err := os.Remove(file); err != nil {
				u.Fatal(err)
			}
			continue
		}
		u.names = append(u.names, name)
	}
	u.files = u.TempDir()
	manifests := u.output(u.Older, "manifests", "-f", folder, "--crd", crdFolder, "-n", installed)
	for _, o := range e2e.Parse(u.T, manifests) {
		data, _, _ := unstructured.NestedStringMap(o.Object, "data")
		if o.GetKind() != "ConfigMap" || len(data) == 0 {
			continue
		}
		u.apply(u.of(o), o)
		for name, text := range data {
			u.write(filepath.Join(u.files, name), text)
		}
	}
}

// unknownKeys are lines of the examples that earlier versions do not know.
var unknownKeys = regexp.MustCompile(`(?m)^ +(reason: NotAllowed|event: Normal|url: \{text: .*|names: \{shortNames: .*)\n`)

// toKnown replaces mergeApply by a function that both versions know, which gives the same without lists to merge.
var toKnown = strings.NewReplacer(`mergeApply("v1/PodTemplateSpec", `, "deepMerge(",
	"group.?podTemplate.orValue({})", "{}")

// Earlier versions run a Job again that is gone, so no Job of the story is deleted. The newer version sets the time to
// live later than the older one.
var (
	timeToLive = regexp.MustCompile(`(?m)^ +ttlSecondsAfterFinished: .*\n`)
	jobSpec    = regexp.MustCompile(`(?m)^( +)backoffLimit: .*\n`)
)

// olderRules returns the rules of an example as earlier versions know them. All Jobs have a time to live.
func olderRules(text string) string {
	text = toKnown.Replace(text)
	text = timeToLive.ReplaceAllString(unknownKeys.ReplaceAllString(text, ""), "")
	return jobSpec.ReplaceAllString(text, "${0}${1}ttlSecondsAfterFinished: 86400\n")
}

// discover finds the kinds that can be listed, and returns an error until enough of them are custom resources.
func (u *Upgrade) discover(d discovery.DiscoveryInterface, custom int) error {
	groups, err := restmapper.GetAPIGroupResources(d)
	if err != nil {
		return err
	}
	u.kinds = nil
	found := 0
	for _, g := range groups {
		for _, r := range g.VersionedResources[cmp.Or(g.Group.PreferredVersion.Version, g.Group.Versions[0].Version)] {
			if !slices.Contains(r.Verbs, "list") || strings.Contains(r.Name, "/") {
				continue
			}
			gvr := schema.GroupVersionResource{Group: g.Group.Name,
				Version: cmp.Or(g.Group.PreferredVersion.Version, g.Group.Versions[0].Version), Resource: r.Name}
			u.kinds = append(u.kinds, kindOf{gvr, r.Kind, r.Namespaced})
			if isCustom(gvr.Group) {
				found++
			}
		}
	}
	if found < custom {
		return fmt.Errorf("%d of %d", found, custom)
	}
	return nil
}

// isCustom reports whether an API group is one of the examples, or reconcel's own.
func isCustom(group string) bool {
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") || group == "samplecontroller.k8s.io"
}

// of returns the client for an object.
func (u *Upgrade) of(o *unstructured.Unstructured) dynamic.ResourceInterface {
	u.Helper()
	gvk := o.GroupVersionKind()
	for _, k := range u.kinds {
		if k.gvr.Group == gvk.Group && k.kind == gvk.Kind {
			resource := u.client.Resource(k.gvr.GroupResource().WithVersion(gvk.Version))
			if !k.namespaced {
				return resource
			}
			return resource.Namespace(cmp.Or(o.GetNamespace(), installed))
		}
	}
	u.Fatalf("the cluster does not serve %s", gvk)
	return nil
}

func (u *Upgrade) apply(to dynamic.ResourceInterface, o *unstructured.Unstructured) {
	u.Helper()
	options := metav1.ApplyOptions{FieldManager: "author", Force: true}
	if _, err := to.Apply(u.Context(), o.GetName(), o, options); err != nil {
		u.Fatalf("apply %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// createResources creates the resources of all examples, in a namespace for each copy of an example. What names its own
// namespace or has none exists once.
func (u *Upgrade) createResources() {
	u.Helper()
	for _, name := range u.names {
		paths, err := filepath.Glob(filepath.Join(u.Root, "examples", name, "*.yaml"))
		if err != nil {
			u.Fatal(err)
		}
		paths = slices.DeleteFunc(paths, func(path string) bool {
			return slices.Contains([]string{"rules.yaml", "tests.yaml", "expected.yaml", "observed.yaml", "none.yaml",
				"deleted.yaml", "snapshot.yaml"}, filepath.Base(path))
		})
		for i := range u.Copies {
			namespace := &unstructured.Unstructured{}
			namespace.SetAPIVersion("v1")
			namespace.SetKind("Namespace")
			namespace.SetName(name + "-" + strconv.Itoa(i))
			u.apply(u.of(namespace), namespace)
			for _, path := range paths {
				for _, o := range e2e.Parse(u.T, u.read(path)) {
					if o.GetNamespace() == "" {
						o.SetNamespace(namespace.GetName())
					}
					to := u.of(o)
					if !u.namespaced(o) {
						o.SetNamespace("")
					}
					u.apply(to, o)
				}
			}
		}
	}
}

func (u *Upgrade) namespaced(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(u.kinds, func(k kindOf) bool {
		return k.gvr.Group == o.GroupVersionKind().Group && k.kind == o.GetKind() && k.namespaced
	})
}

// rulesOf returns the rules of the older version as objects.
func (u *Upgrade) rulesOf() (all []*unstructured.Unstructured) {
	u.Helper()
	for _, name := range u.names {
		text := olderRules(u.read(filepath.Join(u.Root, "examples", name, "rules.yaml")))
		for _, o := range e2e.Parse(u.T, text) {
			o.SetName(name)
			o.SetNamespace(installed)
			all = append(all, o)
		}
	}
	return all
}

func (u *Upgrade) applyRules() {
	u.Helper()
	for _, o := range u.rulesOf() {
		u.apply(u.client.Resource(rules.RulesResource).Namespace(installed), o)
	}
}

func (u *Upgrade) deleteRules() {
	u.Helper()
	for _, o := range u.rulesOf() {
		err := u.client.Resource(rules.RulesResource).Namespace(installed).
			Delete(u.Context(), o.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			u.Fatal(err)
		}
	}
}

// A running process serves its metrics.
type running struct {
	*e2e.Process
	address string
}

func (u *Upgrade) start(program string, args ...string) *running {
	u.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		u.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	p := &running{address: address}
	p.Process = e2e.Command{Binary: program, Name: filepath.Base(program), Args: append([]string{"--kubeconfig",
		u.Kubeconfig, "-n", installed, "--leader-elect=false", "--listen", address}, args...)}.Start(u.T)
	u.eventually("all resources to be reconciled", p.reconciled)
	return p
}

func (u *Upgrade) ends(p *running) {
	u.Helper()
	p.Signal(syscall.SIGTERM)
	if err := p.Ends(time.Minute); err != nil {
		u.Errorf("%s ends with %v", p.Name, err)
	}
}

var metric = regexp.MustCompile(`(?m)^(reconcel_\w+)(?:\{.*\})? (\S+)$`)

// reconciled returns an error until the process has reconciled as many resources as its rules select.
func (p *running) reconciled() error {
	if p.Ended() {
		return fmt.Errorf("it has ended:\n%s", p.Log())
	}
	answer, err := http.Get("http://" + p.address + "/metrics")
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	sums := map[string]float64{}
	for _, m := range metric.FindAllStringSubmatch(string(text), -1) {
		value, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return err
		}
		sums[m[1]] += value
	}
	selected, done := sums["reconcel_rule_primaries"], sums["reconcel_rule_reconciles_total"]
	if selected == 0 || done < selected || sums["reconcel_queue_length"] > 0 {
		return fmt.Errorf("%v of %v are reconciled, %v wait", done, selected, sums["reconcel_queue_length"])
	}
	return nil
}

// converged returns an error until all custom resources are ready.
func (u *Upgrade) converged() error {
	ready := 0
	for _, o := range u.state() {
		_, has, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		if !isCustom(o.GroupVersionKind().Group) {
			continue
		}
		if !has {
			return fmt.Errorf("%s has no conditions", identity(o))
		}
		if err := e2e.Condition(o, "Ready", "True"); err != nil {
			return fmt.Errorf("%s: %w", identity(o), err)
		}
		ready++
	}
	if ready < 20*u.Copies {
		return fmt.Errorf("%d are ready", ready)
	}
	return nil
}

func identity(o *unstructured.Unstructured) string {
	return o.GetKind() + "." + o.GroupVersionKind().Group + " " + o.GetNamespace() + "/" + o.GetName()
}

// state returns all objects of the cluster but those that change without a reason, and those of the installation.
func (u *Upgrade) state() map[string]*unstructured.Unstructured {
	u.Helper()
	all := map[string]*unstructured.Unstructured{}
	for _, k := range u.kinds {
		if slices.Contains([]string{"Event", "Lease", "Node", "CSINode", "Rules", "ComponentStatus"}, k.kind) {
			continue
		}
		list, err := u.client.Resource(k.gvr).List(u.Context(), metav1.ListOptions{})
		if apierrors.IsMethodNotSupported(err) {
			continue
		}
		if err != nil {
			u.Fatalf("list %s: %v", k.gvr, err)
		}
		for i := range list.Items {
			if o := &list.Items[i]; !own(k.gvr.Resource, o.GetName()) {
				all[identity(o)] = o
			}
		}
	}
	return all
}

// own reports whether an object is one of those that reconcel keeps for itself.
func own(resource, name string) bool {
	return strings.HasPrefix(name, "reconcel") &&
		slices.Contains([]string{"configmaps", "roles", "clusterroles"}, resource)
}

// rests waits until nothing changes and nothing is written any more, and returns all objects.
func (u *Upgrade) rests() map[string]*unstructured.Unstructured {
	u.Helper()
	now, written := u.state(), len(u.Writes())
	u.eventually("a rest", func() error {
		e2e.Rest(u.T, 5*time.Second)
		before, writes := now, written
		now, written = u.state(), len(u.Writes())
		if changed := differences(before, now); len(changed) > 0 || written > writes {
			return fmt.Errorf("%d writes in 5 s, %q", written-writes, changed[:min(len(changed), 20)])
		}
		return nil
	})
	return now
}

// differences says how objects differ, by resourceVersion and UID.
func differences(before, now map[string]*unstructured.Unstructured) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		was, is := before[name], now[name]
		switch {
		case is == nil:
			all = append(all, name+" is gone")
		case was.GetUID() != is.GetUID():
			all = append(all, name+" is another one")
		case was.GetResourceVersion() != is.GetResourceVersion():
			last := slices.MaxFunc(append(is.GetManagedFields(), metav1.ManagedFieldsEntry{Time: &metav1.Time{}}),
				func(a, b metav1.ManagedFieldsEntry) int { return a.Time.Compare(b.Time.Time) })
			all = append(all, fmt.Sprintf("%s is written by %s", name, last.Manager))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if before[name] == nil {
			all = append(all, name+" is new")
		}
	}
	return all
}

// same expects all objects to be the same, and returns those that remember finished Jobs now.
func (u *Upgrade) same(step string, before, now map[string]*unstructured.Unstructured) (remember map[string]bool) {
	u.Helper()
	before, remember = maps.Clone(before), map[string]bool{}
	for name, is := range now {
		if was := before[name]; was != nil && was.GetResourceVersion() != is.GetResourceVersion() &&
			reflect.DeepEqual(withoutDone(was), withoutDone(is)) && was.GetLabels()[rules.LabelRule] == "" {
			before[name], remember[name] = is, true
		}
	}
	u.Logf("%s: %d resources remember finished Jobs", step, len(remember))
	if changed := differences(before, now); len(changed) > 0 {
		u.Errorf("%s: %d objects change:\n%s", step, len(changed), strings.Join(changed[:min(len(changed), 20)], "\n"))
	}
	return remember
}

// withoutDone returns an object without the annotations that remember finished Jobs.
func withoutDone(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	annotations := o.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.HasPrefix(key, rules.DonePrefix) })
	if len(annotations) == 0 {
		annotations = nil // An empty map would differ from none.
	}
	o.SetAnnotations(annotations)
	o.SetManagedFields(nil)
	o.SetResourceVersion("")
	return o.Object
}

// onlyOwn expects no writes besides Events, Leases, what reconcel keeps for itself, and one for each resource that
// remembers finished Jobs.
func (u *Upgrade) onlyOwn(step string, writes []devcluster.Request, remember map[string]bool) {
	u.Helper()
	kinds := map[schema.GroupResource]string{}
	for _, k := range u.kinds {
		kinds[k.gvr.GroupResource()] = k.kind
	}
	counts := map[string]int{}
	for _, w := range writes {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: w.Group, Version: w.Version,
			Kind: kinds[schema.GroupResource{Group: w.Group, Resource: w.Resource}]})
		o.SetNamespace(w.Namespace)
		o.SetName(w.Name)
		switch {
		case w.Resource == "events", w.Resource == "leases":
		case w.Resource == "rules" && w.Subresource == "status":
		case own(w.Resource, w.Name):
			u.Logf("%s: %s %s", step, w, w.Name)
		case w.Subresource == "" && remember[identity(o)]:
			delete(remember, identity(o))
		default:
			counts[w.String()]++
		}
	}
	if len(counts) > 0 {
		u.Errorf("%s writes %v", step, counts)
	}
}

func (u *Upgrade) eventually(what string, check func() error) {
	u.Helper()
	e2e.Poll(u.T, what, 10*time.Minute, time.Second, check)
}

func (u *Upgrade) output(program string, args ...string) string {
	u.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = e2e.Environment()
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		u.Fatalf("%s %q: %v\n%s", program, args, err, exit.Stderr)
	}
	if err != nil {
		u.Fatal(err)
	}
	return string(out)
}

func (u *Upgrade) read(path string) string {
	u.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		u.Fatal(err)
	}
	return string(text)
}

func (u *Upgrade) write(path, text string) {
	u.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		u.Fatal(err)
	}
}

package ecosystem

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"github.com/fluxcd/pkg/ssa"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"reconcel/deploy"
	"reconcel/engine/inventory"
	"reconcel/rules"
	rulesschema "reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
)

// A site is a cluster with a place for one repository.
type site struct {
	kubeconfig string        // of the administrator
	namespace  string        // of the resources and of reconcel
	name       string        // of the installation
	account    *rest.Config  // of reconcel
	lease      bool          // whether reconcel works only while it has the Lease
	every      time.Duration // between two applies of the folder
	patience   time.Duration // the deadline of what a commit does. A removal is announced for 30 seconds.
}

// A tool applies a folder, and prunes what it has applied before. It returns what it changes.
type tool interface {
	apply(r *repository, folder []*unstructured.Unstructured) (changed []string, err error)
}

// A repository is a folder that a tool applies again and again, as GitOps tools do it, while reconcel follows its Rules
// objects through a proxy.
type repository struct {
	*testing.T
	site
	tool     tool
	client   client.Client
	flux     *ssa.ResourceManager
	health   *cel.StatusEvaluator
	script   string // of Argo CD
	proxy    *faultproxy.Proxy
	binary   string
	reconcel *e2e.Process
	active   map[string]string // the text of each Rules object that was valid last
	versions versions
	killer   *killer // nil: nobody kills reconcel
}

// A commit is a version of the folder, and what the cluster is afterwards.
type commit struct {
	does     string
	rules    map[string]string // by the name of the object
	foos     int               // 0: 3
	lacks    string            // the resource for which the folder has no permissions yet
	field    string            // the field that Foos have instead of replicas
	approves string            // the object that approves the change of it that is held
	then     func(*repository) // before the folder is applied once more
	fails    map[string]string // the objects that have failed, with a part of their conditions. The others are healthy.
	has      string            // children of all Foos, and their version
	prunes   string            // the children that are deleted
}

func newRepository(t *testing.T, s site, with tool) *repository {
	t.Helper()
	log.SetLogger(logr.Discard())
	r := &repository{T: t, site: s, tool: with, binary: e2e.Build(t), active: map[string]string{}}
	r.proxy = faultproxy.Start(t, s.account)
	var page struct {
		Spec struct{ HealthCheckExprs []kustomize.CustomHealthCheck }
	}
	snippet(t, "kind: Rules", &page)
	r.script = argoScript(t)
	var err error
	if r.client, err = client.New(r.config(), client.Options{}); err != nil {
		t.Fatal(err)
	}
	reader, err := cel.NewStatusReader(page.Spec.HealthCheckExprs)
	if err != nil {
		t.Fatal(err)
	}
	if r.health, err = cel.NewStatusEvaluator(&page.Spec.HealthCheckExprs[0].HealthCheckExpressions); err != nil {
		t.Fatal(err)
	}
	mapper := r.client.RESTMapper()
	r.flux = ssa.NewResourceManager(r.client, polling.NewStatusPoller(r.client, mapper,
		polling.Options{CustomStatusReaders: []engine.StatusReader{reader(mapper)}}),
		ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	return r
}

// config returns the configuration of the administrator.
func (r *repository) config() *rest.Config {
	r.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", r.kubeconfig)
	if err != nil {
		r.Fatal(err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	return config
}

// start starts reconcel, after the end of the last one.
func (r *repository) start() {
	r.Helper()
	if r.reconcel != nil {
		r.reconcel.Kill()
	}
	r.proxy.OnWrite(nil)
	if r.killer != nil {
		r.proxy.OnWrite(r.killer.next(r.T))
	}
	r.reconcel = e2e.Command{Binary: r.binary, Name: "reconcel", Args: []string{"--rules-objects", "--listen=off", "-n=" + r.namespace,
		"--name=" + r.name, fmt.Sprintf("--leader-elect=%t", r.lease), "--kubeconfig=" + r.proxy.Kubeconfig(r.T)}}.Start(r.T)
}

// tend does what a kubelet does: a process that was killed starts again.
func (r *repository) tend() {
	r.Helper()
	switch {
	case r.killer.reached():
		r.reconcel.Kill()
		r.killer.bury()
		r.start()
	case r.reconcel != nil && r.reconcel.Ended():
		r.Fatalf("reconcel ended by itself: %v", r.reconcel.Ends(0))
	}
}

// fill completes a text with the group of the repository's kind: each repository has its own, because they may share a
// cluster.
func (r *repository) fill(text string) string {
	return strings.ReplaceAll(text, "samplecontroller.k8s.io", r.namespace+".example.com")
}

// object returns the text of a Rules object.
func (r *repository) object(name, rules string) string {
	return "apiVersion: " + syntax.APIVersion + "\nkind: " + syntax.Kind + "\nmetadata: {name: " + name + "}\nrules:\n" + r.fill(rules)
}

// folder returns the objects of a commit.
func (r *repository) folder(c commit) (all []*unstructured.Unstructured) {
	r.Helper()
	definition, err := deploy.RulesDefinition().YAML()
	if err != nil {
		r.Fatal(err)
	}
	foos := r.fill(string(readFile(r.T, "../../crds/samplecontroller.k8s.io_foos.yaml")))
	if c.field != "" {
		foos = strings.Replace(foos, "              replicas:", "              "+c.field+":", 1)
	}
	texts := []string{string(definition), foos}
	for i := range max(c.foos, 3) {
		texts = append(texts, r.fill(fmt.Sprintf("{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, metadata: {name: foo%[1]d}, spec: {deploymentName: foo%[1]d}}", i)))
	}
	for _, name := range slices.Sorted(maps.Keys(c.rules)) {
		texts = append(texts, r.object(name, c.rules[name]))
	}
	for _, text := range texts {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			r.Fatal(err)
		}
		if u.GetKind() != "CustomResourceDefinition" {
			u.SetNamespace(r.namespace)
		}
		if c.approves != "" && u.GetName() == c.approves && u.GetKind() == syntax.Kind {
			u.SetAnnotations(map[string]string{rules.AnnotationApprove: r.heldHash(c.approves)})
		}
		all = append(all, u)
	}
	return slices.Concat(all[:2], r.roles(c), all[2:])
}

// heldHash returns the hash of the change of an object that is held, from its status.
func (r *repository) heldHash(name string) string {
	r.Helper()
	found := regexp.MustCompile(`reconcel approve ([0-9a-f]+)`).FindStringSubmatch(conditions(r.rules()[name]))
	if found == nil {
		r.Fatalf("the status of %s names no hash: %s", name, conditions(r.rules()[name]))
	}
	return found[1]
}

// roles returns the roles that `reconcel manifests` prints for the rules of a commit, as they are without the typo.
func (r *repository) roles(c commit) (all []*unstructured.Unstructured) {
	r.Helper()
	texts := maps.Clone(c.rules)
	for name, text := range texts {
		texts[name] = strings.ReplaceAll(text, "templates:", "template:")
	}
	var crd map[string]any
	if err := yaml.Unmarshal([]byte(r.fill(string(readFile(r.T, "../../crds/samplecontroller.k8s.io_foos.yaml")))), &crd); err != nil {
		r.Fatal(err)
	}
	kinds, err := rulesschema.New(rulesschema.Sources{CRDs: []map[string]any{crd}})
	if err != nil {
		r.Fatal(err)
	}
	needs, complaints := deploy.Needs(r.program(texts), kinds, deploy.Usual)
	if len(complaints) > 0 {
		r.Fatal(complaints)
	}
	options := deploy.Options{Name: r.name, Namespace: r.namespace, Image: usual.Image, Replicas: 1, RulesObjects: true}
	printed := parse(r.T, printed(r.T, options.Roles(needs)))
	for _, id := range slices.Sorted(maps.Keys(printed)) {
		u := &unstructured.Unstructured{Object: printed[id].(map[string]any)}
		if entries, found, _ := unstructured.NestedSlice(u.Object, "rules"); found && c.lacks != "" {
			u.Object["rules"] = slices.DeleteFunc(entries, func(entry any) bool {
				return slices.Contains(entry.(map[string]any)["resources"].([]any), any(c.lacks))
			})
		}
		all = append(all, u)
	}
	return all
}

// program compiles the texts of Rules objects.
func (r *repository) program(texts map[string]string) *rules.Program {
	r.Helper()
	var files []source.File
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(r.object(name, texts[name])), &object); err != nil {
			r.Fatal(err)
		}
		text, err := yaml.Marshal(object) // An object has its keys in order, which counts for the digests of rules.
		if err != nil {
			r.Fatal(err)
		}
		files = append(files, source.File{Name: name, Data: text})
	}
	program, err := rules.Load(files)
	if err != nil {
		r.Fatal(err)
	}
	return program
}

// commit applies a folder again and again until the cluster is as the commit says. Then, one more apply changes nothing.
func (r *repository) commit(c commit) {
	r.Helper()
	folder := r.folder(c)
	before, seen, generations := r.children(), r.versions.count(), map[string]int64{}
	for name, u := range r.rules() {
		generations[name] = u.GetGeneration()
	}
	for name, text := range c.rules {
		if c.fails[name] == "" {
			r.active[name] = text
		}
	}
	maps.DeleteFunc(r.active, func(name, _ string) bool { return c.rules[name] == "" })
	for began, reached := time.Now(), false; ; {
		changed, err := r.tool.apply(r, folder)
		if err == nil && reached {
			if len(changed) > 0 {
				r.Errorf("%s: applied again, it changes %q", c.does, changed)
			}
			break
		}
		if r.reconcel == nil && err == nil {
			r.versions.follow(r)
			r.start() // The folder has it, too.
		}
		missing := r.until(r.every, func() error { return errors.Join(err, r.missing(c)) })
		if reached = missing == nil; reached && c.then != nil {
			c.then(r)
			c.then, reached = nil, false
		}
		if time.Since(began) > r.patience {
			r.Fatalf("%s: after %s, not yet: %v", c.does, r.patience, missing)
		}
	}
	if err := r.missing(c); err != nil {
		r.Errorf("%s: it did not last: %v", c.does, err)
	}
	r.waits(c, folder)
	r.saw(c, seen, generations)
	r.lost(c, before)
}

// until waits for a condition, and returns what is missing after the deadline.
func (r *repository) until(within time.Duration, check func() error) error {
	r.Helper()
	for began := time.Now(); ; e2e.Rest(r.T, 50*time.Millisecond) {
		r.tend()
		err := check()
		if err == nil || time.Since(began) > within {
			return err
		}
	}
}

// missing compares the cluster with a commit.
func (r *repository) missing(c commit) error {
	r.Helper()
	found := r.rules()
	if got, want := slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(c.rules)); !slices.Equal(got, want) {
		return fmt.Errorf("there are the Rules objects %q, not %q", got, want)
	}
	for name, u := range found {
		want := status.CurrentStatus
		if c.fails[name] != "" {
			want = status.FailedStatus
		}
		if got := r.healthOf(u); got != want || !strings.Contains(conditions(u), c.fails[name]) {
			return fmt.Errorf("%s is %s, not %s with %q: %s", name, got, want, c.fails[name], conditions(u))
		}
	}
	if got := has(r.children(), max(c.foos, 3)); got != c.has {
		return fmt.Errorf("the children are %q, not %q", got, c.has)
	}
	if len(c.fails) > 0 {
		return nil
	}
	return errors.Join(r.unhealthy(), r.agree())
}

// unhealthy returns which resource Flux does not take for ready. Rules can be ready before: a resource that was stalled
// remains so until reconcel has written its status, for which the next process has to wait if the leader was killed.
func (r *repository) unhealthy() error {
	r.Helper()
	for _, u := range r.list(schema.GroupVersionKind{Group: r.fill("samplecontroller.k8s.io"), Version: "v1alpha1", Kind: "Foo"}) {
		result, err := status.Compute(&u)
		if err != nil {
			return err
		}
		if result.Status != status.CurrentStatus {
			return fmt.Errorf("%s is not ready: %s", u.GetName(), conditions(&u))
		}
	}
	return nil
}

// agree compares what reconcel has stored with the rules that are active: the inventory, and the texts of the rules.
func (r *repository) agree() error {
	r.Helper()
	c, err := dynamic.NewForConfig(r.config())
	if err != nil {
		return err
	}
	stored, err := inventory.New(c, inventory.Options{Namespace: r.namespace, Installation: r.name}).RecordedWithTexts(r.Context())
	if err != nil {
		return err
	}
	program, entries := r.program(r.active), 0
	for key, entry := range stored.Entries {
		if inventory.FindRule(program, key, entry.Digest) == nil {
			return fmt.Errorf("the inventory has rule %s in another version than the one that is active", key.Rule)
		}
		if stored.Rule(key) == nil {
			return fmt.Errorf("the text of rule %s is not stored", key.Rule)
		}
		entries++
	}
	active := inventory.Digests(program)
	if len(active) != entries {
		return fmt.Errorf("the inventory has %d of the rules %q", entries, slices.Sorted(maps.Keys(active)))
	}
	texts := inventory.Stored{Namespace: r.namespace, Installation: r.name}
	if err := texts.ReadTexts(r.Context(), c); err != nil {
		return err
	}
	files, err := inventory.New(c, inventory.Options{Namespace: r.namespace, Installation: r.name, Source: texts.Texts.Source}).LastFiles(r.Context())
	if err != nil {
		return err
	}
	last, err := rules.Load(files)
	if err != nil {
		return fmt.Errorf("the last valid rules: %w", err)
	}
	if !maps.Equal(inventory.Digests(last), active) {
		return fmt.Errorf("the last valid rules are not those that are active: %q", files)
	}
	if len(stored.Held) > 0 || len(stored.Rollouts) > 0 {
		return fmt.Errorf("the inventory still has the held changes %v and the rollouts %v", stored.Held, stored.Rollouts)
	}
	return nil
}

// waits lets Flux wait as kustomize-controller does, until all is ready or something has failed. It ends at the first
// failure: then it waits for Rules objects alone, because their resources may have failed, too.
func (r *repository) waits(c commit, folder []*unstructured.Unstructured) {
	r.Helper()
	if len(c.fails) > 0 {
		folder = slices.DeleteFunc(folder, func(u *unstructured.Unstructured) bool { return u.GetKind() != syntax.Kind })
	}
	err := r.flux.WaitForSetWithContext(r.Context(), object.UnstructuredSetToObjMetadataSet(folder),
		ssa.WaitOptions{Interval: 20 * time.Millisecond, Timeout: r.patience, FailFast: true})
	if (len(c.fails) == 0) != (err == nil) {
		r.Errorf("%s: Flux says %v", c.does, err)
	}
	for name := range c.fails {
		if err != nil && !strings.Contains(err.Error(), "Rules/"+r.namespace+"/"+name+" status: 'Failed'") {
			r.Errorf("%s: Flux says %v, not that %s has failed", c.does, err, name)
		}
	}
}

// healthOf returns what Flux says about an object, and checks that Argo CD says the same.
func (r *repository) healthOf(u *unstructured.Unstructured) status.Status {
	r.Helper()
	flux := status.InProgressStatus
	if result, err := r.health.Evaluate(r.Context(), u); err == nil {
		flux = result.Status
	}
	same := map[string]status.Status{"Healthy": status.CurrentStatus, "Degraded": status.FailedStatus, "Progressing": status.InProgressStatus}
	if argo := argoHealth(r.T, r.script, u.Object); same[argo] != flux {
		r.Errorf("%s is %s for Argo CD, and %s for Flux: %s", u.GetName(), argo, flux, conditions(u))
	}
	return flux
}

// saw checks all versions of Rules objects since a commit: none that the commit has changed was healthy or failed by
// mistake, even for a moment.
func (r *repository) saw(c commit, seen int, generations map[string]int64) {
	r.Helper()
	for _, u := range r.versions.since(seen) {
		wrong := status.FailedStatus
		if c.fails[u.GetName()] != "" {
			wrong = status.CurrentStatus
		}
		if c.rules[u.GetName()] != "" && u.GetGeneration() > generations[u.GetName()] && r.healthOf(u) == wrong {
			r.Errorf("%s: for a moment, %s is %s: %s", c.does, u.GetName(), wrong, conditions(u))
		}
	}
}

// lost checks that no child but the expected was deleted, not even to make it again.
func (r *repository) lost(c commit, before []*unstructured.Unstructured) {
	r.Helper()
	there := map[types.UID]bool{}
	for _, u := range r.children() {
		there[u.GetUID()] = true
	}
	var gone []string
	for _, u := range before {
		if !there[u.GetUID()] {
			gone = append(gone, u.GetName())
		}
	}
	if got := strings.Join(gone, " "); got != c.prunes {
		r.Errorf("%s: it deletes %q, want %q", c.does, got, c.prunes)
	}
}

// list returns the objects of a kind in the namespace.
func (r *repository) list(gvk schema.GroupVersionKind) []unstructured.Unstructured {
	r.Helper()
	var all unstructured.UnstructuredList
	all.SetGroupVersionKind(gvk)
	if err := r.client.List(r.Context(), &all, client.InNamespace(r.namespace)); err != nil && !(meta.IsNoMatchError(err) && r.reconcel == nil) {
		r.Fatal(err) // Before the first apply, there are no Rules.
	}
	return all.Items
}

// rules returns the Rules objects by name.
func (r *repository) rules() map[string]*unstructured.Unstructured {
	r.Helper()
	all := map[string]*unstructured.Unstructured{}
	for _, u := range r.list(schema.FromAPIVersionAndKind(syntax.APIVersion, syntax.Kind)) {
		all[u.GetName()] = &u
	}
	return all
}

// children returns the children of Foos, by name.
func (r *repository) children() (all []*unstructured.Unstructured) {
	r.Helper()
	for _, kind := range []string{"ConfigMap", "Secret"} {
		for _, u := range r.list(schema.GroupVersionKind{Version: "v1", Kind: kind}) {
			if metav1.GetControllerOf(&u) != nil {
				all = append(all, &u)
			}
		}
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all
}

// has returns which children all Foos have, as child=version.
func has(children []*unstructured.Unstructured, foos int) string {
	count := map[string]int{}
	for _, u := range children {
		_, child, _ := strings.Cut(u.GetName(), "-")
		count[child+"="+u.GetAnnotations()["version"]]++
	}
	var all []string
	for _, child := range slices.Sorted(maps.Keys(count)) {
		if n := count[child]; n != foos {
			child += fmt.Sprintf(" (%d of %d)", n, foos)
		}
		all = append(all, child)
	}
	return strings.Join(all, " ")
}

// deletes deletes a child, as others do, and waits for it to be back.
func (r *repository) deletes(name string) {
	r.Helper()
	find := func() *unstructured.Unstructured {
		for _, u := range r.children() {
			if u.GetName() == name {
				return u
			}
		}
		return nil
	}
	was := find()
	if err := r.client.Delete(r.Context(), was.DeepCopy()); err != nil {
		r.Fatal(err)
	}
	if err := r.until(r.patience, func() error {
		if now := find(); now == nil || now.GetUID() == was.GetUID() {
			return errors.New("it is not")
		}
		return nil
	}); err != nil {
		r.Fatalf("%s to be back: %v", name, err)
	}
}

func conditions(u *unstructured.Unstructured) string {
	if u == nil {
		return ""
	}
	return fmt.Sprint(u.Object["status"])
}

// versions are all versions of the Rules objects that a watch has shown.
type versions struct {
	sync.Mutex
	all []*unstructured.Unstructured
}

// follow notes each version until the end of the test.
func (v *versions) follow(r *repository) {
	r.Helper()
	c, err := dynamic.NewForConfig(r.config())
	if err != nil {
		r.Fatal(err)
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(c, rules.RulesResource, r.namespace, 0, cache.Indexers{}, nil).Informer()
	note := func(u any) {
		v.Lock()
		defer v.Unlock()
		v.all = append(v.all, u.(*unstructured.Unstructured))
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: note, UpdateFunc: func(_, u any) { note(u) }}); err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { informer.Run(ctx.Done()) })
	r.Cleanup(func() { cancel(); running.Wait() })
}

func (v *versions) count() int {
	v.Lock()
	defer v.Unlock()
	return len(v.all)
}

func (v *versions) since(n int) []*unstructured.Unstructured {
	v.Lock()
	defer v.Unlock()
	return slices.Clone(v.all[n:])
}

// A killer ends each process at one of its first writes: before the API server gets it, and the next one before it gets
// the answer. No later write of that process arrives.
type killer struct {
	among int // the first writes among which is the last one, in turn. 1: no process completes more than one write.
	kills int
	at    chan struct{} // closed at the write
	dead  func()
}

// next returns the hook for the next process.
func (k *killer) next(t *testing.T) func(faultproxy.Write) bool {
	at, dead := make(chan struct{}), make(chan struct{})
	reach := sync.OnceFunc(func() { close(at) })
	k.at, k.dead = at, sync.OnceFunc(func() { close(dead) })
	t.Cleanup(k.dead)
	n, committed := 1+k.kills/2%k.among, k.kills%2 == 1
	return func(w faultproxy.Write) bool {
		if w.N < n || w.N == n && w.Committed != committed {
			return true
		}
		reach()
		<-dead
		return false
	}
}

// reached reports whether the process waits for its end.
func (k *killer) reached() bool {
	if k == nil || k.at == nil {
		return false
	}
	select {
	case <-k.at:
		return true
	default:
		return false
	}
}

// bury lets the writes of the process fail, which has ended.
func (k *killer) bury() {
	k.kills++
	k.dead()
}

// every returns the names of a child of n Foos.
func every(child string, n int) string {
	var names []string
	for i := range n {
		names = append(names, "foo"+strconv.Itoa(i)+"-"+child)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

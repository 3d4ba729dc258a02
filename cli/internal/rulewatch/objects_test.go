package rulewatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/dev"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/ruleobjects"
	"reconcel/deploy"
	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/sim"
	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
)

// home is the namespace of the objects.
const home = "home"

// A stage is a cluster in memory with Rules objects, and processes that follow them.
type stage struct {
	*testing.T
	served *dev.Server
	config *rest.Config // of the next process
	client dynamic.Interface
	file   string        // of rules, or ""
	policy judge.Policy  // of the next process
	stored []source.File // what an inventory has: the files that were active last
	check  func(*rules.Loaded) error

	watch *Watch
	f     *follower
	log   *e2e.Log
	end   func()
}

func newStage(t *testing.T) *stage {
	t.Helper()
	served, err := dev.Start(dev.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(served.Stop)
	s := &stage{T: t, served: served, config: served.Config, client: dynamic.NewForConfigOrDie(served.Config),
		check: func(*rules.Loaded) error { return nil }, end: func() {}}
	t.Cleanup(func() { s.end() })
	s.createHome()
	s.define()
	return s
}

// behindProxy lets the next processes reach the cluster through a proxy.
func (s *stage) behindProxy() *faultproxy.Proxy {
	s.Helper()
	proxy := faultproxy.Start(s.T, s.served.Config)
	s.config = &rest.Config{Host: proxy.URL()}
	return proxy
}

func onRules(r faultproxy.Request) bool { return r.Resource == "rules" && !r.IsWrite() }

// eventsOf matches the events of an object in watches.
func eventsOf(name, kind string) func(faultproxy.Frame) bool {
	return func(f faultproxy.Frame) bool {
		return onRules(f.Request) && f.Type == kind && strings.Contains(string(f.Line), `"name":"`+name+`"`)
	}
}

var namespaces = runtimeschema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

func (s *stage) createHome() {
	s.Helper()
	s.create("", namespaces, "apiVersion: v1\nkind: Namespace\nmetadata: {name: home}\n")
}

var definitions = runtimeschema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// define creates the CustomResourceDefinition, and waits until its kind is served.
func (s *stage) define() {
	s.Helper()
	text, err := deploy.RulesDefinition().YAML()
	if err != nil {
		s.Fatal(err)
	}
	s.create("", definitions, string(text))
	s.eventually("Rules are served", func() bool {
		_, err := s.client.Resource(rules.RulesResource).Namespace(home).List(s.Context(), metav1.ListOptions{})
		return err == nil
	})
}

func (s *stage) create(namespace string, gvr runtimeschema.GroupVersionResource, text string) {
	s.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		s.Fatal(err)
	}
	if _, err := s.client.Resource(gvr).Namespace(namespace).Create(s.Context(), u, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// apply creates or changes an object with these rules.
func (s *stage) apply(name, text string) {
	s.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		s.Fatal(err)
	}
	u.SetName(name)
	if _, err := s.client.Resource(rules.RulesResource).Namespace(home).Apply(s.Context(), name, u, metav1.ApplyOptions{FieldManager: "author", Force: true}); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) delete(namespace string, gvr runtimeschema.GroupVersionResource, name string) {
	s.Helper()
	if err := s.client.Resource(gvr).Namespace(namespace).Delete(s.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
}

// start starts a process, after the end of the last one.
func (s *stage) start() (*rules.Program, error) {
	s.Helper()
	s.end()
	s.log = &e2e.Log{}
	var o Options
	o, s.f, _ = watchOf(s.file)
	if s.file == "" {
		o.Paths, o.Read = nil, func() ([]source.File, source.Errors) { return nil, nil }
	}
	s.f.names = "nothing"
	o.Log, o.Policy, o.Metrics = slog.New(slog.NewTextHandler(s.log, nil)), s.policy, NewMetrics(prometheus.NewRegistry())
	o.Objects = ruleobjects.New(ruleobjects.Options{Client: dynamic.NewForConfigOrDie(s.config), Discovery: discovery.NewDiscoveryClientForConfigOrDie(s.config), Namespace: home, Log: o.Log})
	o.Check = func(_ context.Context, l *rules.Loaded) error { return s.check(l) }
	last := s.stored
	o.Last = func(context.Context) ([]source.File, error) { return last, nil }
	follow := o.Reload
	o.Reload = func(ctx context.Context, p *rules.Program) error {
		if !p.Incomplete() {
			s.stored = p.Sources()
		}
		return follow(ctx, p)
	}
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan struct{})
	go func() { defer close(done); o.Objects.Run(ctx) }()
	files, unread := o.Read()
	s.watch = New(o, rules.Compile(files, unread...))
	program, err := s.watch.Approve(ctx)
	if err != nil {
		cancel()
		<-done
		return nil, err
	}
	if err := o.Reload(ctx, program); err != nil {
		s.Fatal(err)
	}
	running := s.watch.Start(ctx)
	s.end = func() {
		cancel()
		running.Wait()
		<-done
		s.end = func() {}
	}
	return program, nil
}

func (s *stage) mustStart() *rules.Program {
	s.Helper()
	program, err := s.start()
	if err != nil {
		s.Fatal(err)
	}
	return program
}

func (s *stage) eventually(what string, so func() bool) {
	s.Helper()
	if !eventually(s.T, so) {
		s.Fatalf("not after %s: %s", e2e.Patience, what)
	}
}

// follows waits until these rules are active, and this is wrong: parts of the errors.
func (s *stage) follows(names string, wrong ...string) {
	s.Helper()
	var got string
	var errs []string
	if !eventually(s.T, func() bool {
		got, _ = s.f.state()
		errs = nil
		if r := s.watch.State().Rejected; r != nil {
			errs = r.Errors
		}
		return got == names && len(errs) == len(wrong) && !slices.ContainsFunc(wrong, func(part string) bool {
			return !strings.Contains(strings.Join(errs, "\n"), part)
		})
	}) {
		s.Fatalf("after %s the rules %q are active, want %q; and this is wrong, want %q:\n%s\n\n%s", e2e.Patience, got, names, wrong, strings.Join(errs, "\n"), s.log)
	}
}

// TestObjectsBecomeActive creates, changes and removes objects. One that is wrong stops only its own change.
func TestObjectsBecomeActive(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.mustStart()
	s.follows("")
	s.apply("one", named("a", "b"))
	s.follows("a b")
	s.apply("two", named("c"))
	s.follows("a b c")
	s.apply("one", named("a", "B!"))
	s.apply("two", named("c", "d"))
	s.follows("a b c d", "Rules home/one: rules[1].name: ")
	s.apply("three", strings.Replace(named("e"), "for:", "fro:", 1))
	s.follows("a b c d", "Rules home/one: ", "Rules home/three: rules[0].fro: ")

	s.mustStart() // With both mistakes.
	s.follows("a b c d", "Rules home/one: rules[1].name: ", "Rules home/three: rules[0].fro: ")
	s.apply("one", named("a", "f"))
	s.follows("a f c d", "Rules home/three: ")
	s.apply("three", named("e"))
	s.follows("a f e c d")
	s.delete(home, rules.RulesResource, "one")
	s.follows("e c d")
	s.delete(home, rules.RulesResource, "three")
	s.apply("two", named(`"on"`, `"y"`, `"12"`))
	s.follows("on y 12")
	s.delete(home, rules.RulesResource, "two")
	s.follows("")
	if strings.Contains(s.log.String(), "deleted with") {
		t.Errorf("removed objects are lost:\n%s", s.log)
	}
	s.end()
	s.served.Cluster.Fail(forbidden)
	s.mustStart() // The objects are not known. None were there.
	s.follows("", "cannot be listed")
}

var forbidden = sim.Failure{Verb: "list", Kind: runtimeschema.GroupKind{Group: "reconcel.dev", Kind: "Rules"}, Times: sim.Always,
	Err: apierrors.NewForbidden(rules.RulesResource.GroupResource(), "", errors.New("no"))}

// TestWhatIsActiveInPlaceOfInvalidObjects has objects of which some were valid before. The status of the installation,
// the Event and the log say what is true.
func TestWhatIsActiveInPlaceOfInvalidObjects(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.mustStart()
	says := func(record, log string) {
		t.Helper()
		var now string
		if !eventually(t, func() bool {
			now = ""
			if r := s.watch.State().Record(); r != nil {
				now = r.String()
			}
			return strings.HasPrefix(now, record) && strings.Contains(s.log.String(), log) && slices.ContainsFunc(s.f.said(), func(note string) bool {
				return strings.Contains(note, strings.Split(record, ", ")[1])
			})
		}) {
			t.Fatalf("the installation says %q, and the Events %q, not %q; the log must have %q:\n%s", now, s.f.said(), record, log, s.log)
		}
	}
	s.apply("new", named("A!"))
	says("Rules objects rejected, none of them is active until it is valid: Rules home/new: ", "no rules are active until they are valid")
	s.apply("good", named("b"))
	s.follows("b", "Rules home/new: ")
	s.mustStart()
	says("Rules objects rejected, none of them is active until it is valid: Rules home/new: ", "rules not reloaded, some have no last valid version")
	s.apply("good", named("B!"))
	says("Rules objects rejected, the last valid rules are active, but Rules home/new has none: Rules home/good: ", `objects="[Rules home/new]"`)
	s.apply("new", named("a"))
	s.follows("b a", "Rules home/good: ")
	says("Rules objects rejected, the last valid rules are active: Rules home/good: ", "rules not reloaded, the last valid rules stay active")
	s.apply("good", named("b"))
	s.follows("b a")
	if text := s.log.String(); !strings.Contains(text, "rules match the active ones again") || strings.Contains(text, "rules files") {
		t.Errorf("without files, the log speaks of files, or not of objects:\n%s", text)
	}
}

// TestObjectsInvalidForTheCluster has rules that only the schemas of the cluster make invalid.
func TestObjectsInvalidForTheCluster(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.check = func(l *rules.Loaded) error {
		var all []*source.Error
		for _, r := range l.File.Rules {
			if strings.HasPrefix(r.Name.Value, "unfit") {
				all = append(all, source.NewError(r.Name.Pos, r.Name.Value, "has no such field", ""))
			}
		}
		return source.Collect(l.Sources, all).Err()
	}
	s.apply("one", named("a"))
	s.apply("two", named("b"))
	s.mustStart()
	s.follows("a b")
	s.apply("one", named("unfit"))
	s.apply("two", named("c"))
	s.follows("a c", `Rules home/one: rules[0].name: rule "unfit": has no such field`)
	s.end()
	s.check = func(*rules.Loaded) error { return nil }
	s.mustStart()
	s.follows("unfit c")
}

// TestObjectsWithTheSameRule has two objects with one rule. What was active first keeps it, or else the older object.
func TestObjectsWithTheSameRule(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.mustStart()
	s.apply("older", named("c"))
	s.apply("younger", named("a"))
	s.follows("c a")
	s.apply("older", named("a", "b"))
	s.follows("c a", `Rules home/older: rules[0].name: rule "a": is also in Rules home/younger, which had it first`)
	s.mustStart()
	s.follows("c a", "Rules home/older: ")
	s.end()
	s.stored = nil
	s.mustStart()
	s.follows("a b", "Rules home/younger: ")
	s.apply("older", named("b"))
	s.follows("b a")
}

// TestObjectsThatAreLost lose the namespace or the kind of the objects, or cannot list them. Nothing is removed.
func TestObjectsThatAreLost(t *testing.T) {
	t.Parallel()
	t.Run("the kind is deleted", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.apply("one", named("a"))
		s.apply("two", named("b"))
		s.mustStart()
		s.follows("a b")
		s.delete("", definitions, "rules.reconcel.dev")
		s.follows("a b", "Rules home/one: it was deleted with its CustomResourceDefinition, its rules stay active", "Rules home/two: ")
		s.define()
		s.apply("two", named("c"))
		s.follows("a c", "Rules home/one: it was deleted")
		s.apply("one", named("a"))
		s.follows("a c")
		s.delete(home, rules.RulesResource, "one")
		s.follows("c")
	})
	t.Run("the kind is replaced before a restart", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.apply("one", named("a"))
		s.apply("two", named("b"))
		s.mustStart()
		s.follows("a b")
		s.delete("", definitions, "rules.reconcel.dev")
		s.follows("a b", "Rules home/one: it was deleted with", "Rules home/two: it was deleted with")
		s.define()
		s.apply("two", named("b"))
		s.follows("a b", "Rules home/one: it was deleted with")
		s.mustStart()
		s.apply("three", named("c"))
		s.follows("a c b", "Rules home/one: it was deleted with its CustomResourceDefinition, its rules stay active")
		s.delete(home, rules.RulesResource, "two")
		s.follows("a c", "Rules home/one: it was deleted with")
		s.apply("one", named("a"))
		s.follows("a c")
		s.delete(home, rules.RulesResource, "one")
		s.follows("c")
	})
	t.Run("the namespace is deleted", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.create(home, runtimeschema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: last, finalizers: [example.com/wait]}\n")
		s.apply("one", named("a"))
		s.mustStart()
		s.follows("a")
		s.delete("", namespaces, home)
		s.follows("a", "Rules home/one: it was deleted with its namespace, its rules stay active")
		s.mustStart()
		s.follows("a", "Rules home/one: it was deleted with its namespace, its rules stay active")
	})
	t.Run("the kind is missing at the start", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.apply("one", named("a"))
		s.apply("two", named("b"))
		s.mustStart()
		s.follows("a b")
		s.end()
		s.delete("", definitions, "rules.reconcel.dev")
		s.eventually("Rules are not served", func() bool {
			_, err := s.client.Resource(rules.RulesResource).Namespace(home).List(t.Context(), metav1.ListOptions{})
			return apierrors.IsNotFound(err)
		})
		s.mustStart()
		s.follows("a b", "the Rules objects in the namespace home cannot be listed: ")
		s.define()
		s.apply("two", named("c"))
		s.follows("a c", "Rules home/one: it was deleted with its CustomResourceDefinition, its rules stay active")
		s.apply("one", named("a"))
		s.follows("a c")
		s.delete(home, rules.RulesResource, "one")
		s.follows("c")
	})
	t.Run("the namespace is replaced before the process sees it", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		proxy := s.behindProxy()
		s.apply("one", named("a"))
		s.mustStart()
		s.follows("a")
		silence := proxy.InjectFrames(eventsOf("one", "DELETED"), faultproxy.FrameFault{Effect: faultproxy.Silence})
		s.served.Clock.Move(2 * time.Second) // Creation times have seconds.
		s.delete("", namespaces, home)
		s.eventually("the namespace is gone", func() bool {
			_, err := s.client.Resource(namespaces).Get(t.Context(), home, metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
		s.createHome()
		silence.Lift()
		s.follows("a", "Rules home/one: it was deleted with its namespace, its rules stay active")
		s.apply("one", named("b"))
		s.follows("b")
		s.delete(home, rules.RulesResource, "one")
		s.follows("")
	})
	t.Run("a list lacks one that exists", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		proxy := s.behindProxy()
		s.apply("one", named("a"))
		s.apply("two", named("b"))
		s.mustStart()
		s.follows("a b")
		s.end()
		s.delete(home, rules.RulesResource, "two")
		proxy.InjectFrames(eventsOf("one", "ADDED"), faultproxy.FrameFault{Effect: faultproxy.Drop})
		s.mustStart()
		s.follows("a")
		s.apply("one", named("c"))
		s.follows("c")
		if strings.Contains(s.log.String(), "Rules object removed object=Rules/home/one") {
			t.Errorf("an object that exists is removed:\n%s", s.log)
		}
	})
	t.Run("they cannot be listed", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.apply("one", named("a"))
		s.mustStart()
		s.follows("a")
		s.end()
		s.served.Cluster.Fail(forbidden)
		s.mustStart()
		s.follows("a", "the Rules objects in the namespace home cannot be listed: ")
		s.apply("one", named("b"))
		s.served.Cluster.Recover()
		s.follows("b")
	})
	t.Run("they cannot be listed, nor are the last rules known", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.apply("one", named("a"))
		s.served.Cluster.Fail(forbidden)
		if !s.mustStart().Incomplete() {
			t.Error("what is not known counts as removed")
		}
		s.served.Cluster.Recover()
		s.follows("a")
	})
	t.Run("the namespace cannot be read", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.apply("one", named("a"))
		s.mustStart()
		s.follows("a")
		s.served.Cluster.Fail(sim.Failure{Verb: "get", Kind: runtimeschema.GroupKind{Kind: "Namespace"}, Times: sim.Always,
			Err: apierrors.NewForbidden(runtimeschema.GroupResource{Resource: "namespaces"}, home, errors.New("no"))})
		s.delete(home, rules.RulesResource, "one")
		s.follows("a", "Rules home/one: its rules stay active, as it is not known whether it was removed: ")
		s.served.Cluster.Recover()
		s.follows("")
	})
	t.Run("it was deleted while no process ran", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.apply("one", named("a"))
		s.apply("two", named("b"))
		s.mustStart()
		s.follows("a b")
		s.end()
		s.delete(home, rules.RulesResource, "one")
		s.mustStart()
		s.follows("b")
	})
}

// TestObjectsAreSeenAgain breaks the watch of the objects, and lets the requests that follow fail. A change is seen soon
// afterwards.
func TestObjectsAreSeenAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frame faultproxy.FrameFault
		fault faultproxy.Fault
		wrong []string
	}{
		"the permission is missing": {faultproxy.FrameFault{Effect: faultproxy.Cut, Times: 1},
			faultproxy.Fault{Effect: faultproxy.Reply, Answer: faultproxy.Answer{Code: http.StatusForbidden}},
			[]string{"the Rules objects in the namespace home cannot be listed: "}},
		"the API server does not answer": {faultproxy.FrameFault{Effect: faultproxy.Cut, Times: 1},
			faultproxy.Fault{Effect: faultproxy.CutBefore}, nil},
		"the history is gone": {faultproxy.FrameFault{Effect: faultproxy.Status, Code: http.StatusGone, Times: 1},
			faultproxy.Fault{Effect: faultproxy.CutBefore}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			proxy := s.behindProxy()
			s.apply("one", named("a"))
			s.apply("two", named("b"))
			s.mustStart()
			s.follows("a b")
			fault := proxy.Inject(onRules, c.fault)
			proxy.InjectFrames(eventsOf("one", "MODIFIED"), c.frame)
			s.apply("one", named("c"))
			s.delete(home, rules.RulesResource, "two")
			s.eventually("the objects are asked for six times", func() bool { n, _ := fault.Hits(); return n >= 6 })
			s.follows("a b", c.wrong...)
			fault.Lift()
			s.follows("c")
		})
	}
}

// TestObjectsWithoutAValidVersion start with an object whose last version is not known, or not valid any more: its
// rules do not count as removed.
func TestObjectsWithoutAValidVersion(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.apply("one", named("A!"))
	s.apply("two", named("b"))
	if !s.mustStart().Incomplete() {
		t.Error("the rules of an object that was never valid, as far as is known, count as removed")
	}
	s.follows("b", "Rules home/one: ")
	s.apply("one", named("a"))
	s.follows("a b")

	const privileged = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- {name: p, for: {apiVersion: example.com/v1, kind: A}, children: [{id: node, template: {apiVersion: v1, kind: Node, metadata: {name: node}}}]}\n"
	s.policy.AllowedKinds = []string{"Node"}
	s.mustStart()
	s.apply("one", privileged)
	s.follows("p b")
	s.policy.AllowedKinds = nil
	if !s.mustStart().Incomplete() {
		t.Error("the rules of an object that is not allowed any more count as removed")
	}
	s.follows("b", "Rules home/one: rules[0].children[0]")
	s.delete(home, rules.RulesResource, "one")
	s.follows("b")
}

// TestObjectsBesideFiles moves a rule from a file to an object and back, and has mistakes in both.
func TestObjectsBesideFiles(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.file = t.TempDir() + "/rules.yaml"
	write(t, s.file, named("a", "b"))
	s.mustStart()
	s.follows("a b")
	s.apply("one", named("b"))
	s.follows("a b", `Rules home/one: rules[0].name: rule "b": is also in a rules file, which had it first`)
	write(t, s.file, named("a"))
	s.follows("a b")
	write(t, s.file, named("A!"))
	s.apply("one", named("b", "c"))
	s.follows("a b c", "rules.yaml:4:")
	s.mustStart()
	s.follows("a b c", "rules.yaml:4:")
	s.apply("one", named("c", "B!"))
	write(t, s.file, named("a", "d"))
	s.follows("a d b c", "Rules home/one: ")
}

// TestObjectsWithMistakesInWholeMaps names the map that lacks a key, and each path once.
func TestObjectsWithMistakesInWholeMaps(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.mustStart()
	s.apply("child", "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- {name: a, for: {apiVersion: example.com/v1, kind: A}, children: [{id: one}]}\n")
	s.apply("none", "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\n")
	s.apply("null", "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules: null\n")
	s.follows("", `Rules home/child: rules[0].children[0]: rule "a": children[0] "one": missing template`, "Rules home/none: missing rules",
		"Rules home/null: rules: is empty")
	if text := s.watch.State().Record().String(); !strings.HasPrefix(text, "Rules objects rejected, none of them is active until it is valid: Rules home/child: ") {
		t.Errorf("an installation says %q", text)
	}
	s.end()
	s.file = t.TempDir() + "/rules.yaml"
	write(t, s.file, named("b"))
	s.mustStart()
	s.follows("b", "Rules home/child: ", "Rules home/none: ", "Rules home/null: ")
	if text := s.watch.State().Record().String(); !strings.HasPrefix(text, "rules files or Rules objects rejected, ") {
		t.Errorf("an installation with files and objects says %q", text)
	}
}

// TestObjectsWithTooManyRules has an object with which there are too many rules. The ones that are younger become active.
func TestObjectsWithTooManyRules(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.mustStart()
	many := func(prefix string, n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprint(prefix, i))
		}
		return names
	}
	first := many("m", 1000)
	s.apply("m", named(first...))
	s.follows(strings.Join(first, " "))
	const tooMany = "has 30 rules, and with those of all other files and objects there are more than 1024 rules"
	s.apply("a", named(many("a", 30)...))
	s.apply("z", named("z1", "z2"))
	s.follows(strings.Join(append(first, "z1", "z2"), " "), "Rules home/a: "+tooMany)
	s.apply("a", named("a1"))
	s.follows("a1 " + strings.Join(append(first, "z1", "z2"), " "))
}

package cleanuprole

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"reconcel/deploy"
	"reconcel/engine/access"
	"reconcel/engine/discover"
	"reconcel/engine/inventory"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/test/e2e"
)

var (
	clusterRoles = rbacv1.SchemeGroupVersion.WithResource("clusterroles")
	roles        = rbacv1.SchemeGroupVersion.WithResource("roles")
)

// home is the namespace of the installation.
const home = "reconcel-system"

// A stage is an API server with RBAC, for a process that holds what its main roles and the cleanup roles say.
type stage struct {
	*testing.T
	*Keeper
	client *fake.FakeDynamicClient
	log    *e2e.Log
	main   deploy.Permits // for the whole cluster
	own    deploy.Permits // in the namespace of the installation
	left   inventory.Left
	gone   map[string]bool // kinds that are not served
}

// onStage runs a test on a stage with a clock of its own.
func onStage(t *testing.T, test func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newStage(t)) })
}

// newStage returns a cluster with cleanup roles that have no rules.
func newStage(t *testing.T) *stage {
	t.Helper()
	role := func(kind, namespace string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind}}
		u.SetName("reconcel-cleanup")
		u.SetNamespace(namespace)
		return u
	}
	s := &stage{T: t, client: fake.NewSimpleDynamicClient(runtime.NewScheme(), role("ClusterRole", ""), role("Role", home)),
		log: &e2e.Log{}, main: deploy.Permits{}}
	s.Keeper = New(Options{Client: s.client, Kinds: s, Name: "reconcel", Namespace: home, Log: slog.New(slog.NewTextHandler(s.log, nil))})
	s.Learn(kindschema.Builtin())
	s.client.PrependReactor("update", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		next := s.permits(a.(clienttesting.UpdateAction).GetObject().(*unstructured.Unstructured))
		for permit := range next {
			if !s.holds(a.GetNamespace(), permit) {
				return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "reconcel-cleanup", nil)
			}
		}
		return false, nil, nil
	})
	s.client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		u := a.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured).DeepCopy()
		of, _, _ := unstructured.NestedStringMap(u.Object, "spec", "resourceAttributes")
		permit := deploy.Permit{Group: of["group"], Resource: strings.TrimSuffix(of["resource"]+"/"+of["subresource"], "/"),
			Name: of["name"], Verb: of["verb"]}
		u.Object["status"] = map[string]any{"allowed": s.holds(of["namespace"], permit)}
		return true, u, nil
	})
	return s
}

// Find implements discover.Kinds.
func (s *stage) Find(_ context.Context, gvk schema.GroupVersionKind) (discover.Kind, error) {
	if s.gone[gvk.Kind] {
		return discover.Kind{}, discover.NoKindError{GVK: gvk}
	}
	return discover.Kind{GVK: gvk, GVR: gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s")}, nil
}

// Versions implements discover.Kinds.
func (s *stage) Versions(context.Context, string) ([]string, error) { return []string{"v1"}, nil }

// Ownership implements discover.Kinds.
func (s *stage) Ownership(context.Context, schema.GroupVersionKind) (discover.Ownership, error) {
	return discover.Ownership{}, nil
}

func (s *stage) permits(role *unstructured.Unstructured) deploy.Permits {
	var content rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(role.Object, &content); err != nil {
		s.Fatal(err)
	}
	return deploy.PermitsIn(content.Rules)
}

// live returns the permissions of the cleanup role for what rules make.
func (s *stage) live() deploy.Permits {
	s.Helper()
	return s.in(clusterRoles, "")
}

// in returns the permissions of a cleanup role.
func (s *stage) in(resource schema.GroupVersionResource, namespace string) deploy.Permits {
	s.Helper()
	u, err := s.client.Tracker().Get(resource, namespace, "reconcel-cleanup")
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.Fatal(err)
	}
	return s.permits(u.(*unstructured.Unstructured))
}

func (s *stage) holds(namespace string, permit deploy.Permit) bool {
	return s.main[permit] || s.live()[permit] || namespace == home && (s.own[permit] || s.in(roles, home)[permit])
}

// grantBundles lets the main role in the namespace of the installation permit what bundles need.
func (s *stage) grantBundles(rules ...string) { s.own = deploy.BundleNeeds("reconcel", rules) }

// grant lets the main role permit all verbs for some resources and no others.
func (s *stage) grant(resources ...string) {
	s.main = deploy.Permits{}
	for _, resource := range resources {
		for _, verb := range []string{"get", "list", "watch", "create", "patch", "delete"} {
			s.main[deploy.Permit{Resource: resource, Verb: verb}] = true
		}
	}
}

// programOf compiles a rule for Pods with children of these kinds; without any there is no rule.
func (s *stage) programOf(kinds ...string) *rules.Program {
	s.Helper()
	text := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"
	if len(kinds) == 0 {
		return &rules.Program{}
	}
	text += "- name: r\n  for: {apiVersion: v1, kind: Pod}\n  children:\n"
	for _, kind := range kinds {
		text += "  - {id: " + strings.ToLower(kind) + ", template: {apiVersion: v1, kind: " + kind + ", metadata: {name: x}}}\n"
	}
	return s.load(text)
}

// bundles compiles rules for the cluster.
func (s *stage) bundles(names ...string) *rules.Program {
	s.Helper()
	text := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"
	for _, name := range names {
		text += "- name: " + name + "\n  for: cluster\n  allow: {namespaces: [a]}\n" +
			"  children: [{id: s, template: {apiVersion: v1, kind: Secret, metadata: {name: " + name + ", namespace: a}}}]\n"
	}
	return s.load(text)
}

func (s *stage) load(text string) *rules.Program {
	s.Helper()
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(text)}})
	if err != nil {
		s.Fatal(err)
	}
	return program
}

// keeps has a process work with a program, while something is left of other kinds.
func (s *stage) keeps(program *rules.Program, left ...string) {
	s.left = inventory.Left{Kinds: map[schema.GroupKind]bool{}}
	for _, kind := range left {
		s.left.Kinds[schema.GroupKind{Kind: kind}] = true
	}
	s.keep(program)
}

// keepsBundles has a process work with a program, while the ConfigMaps of other rules for the cluster are left.
func (s *stage) keepsBundles(program *rules.Program, left ...string) {
	s.left = inventory.Left{Bundles: left}
	s.keep(program)
}

func (s *stage) keep(program *rules.Program) {
	s.Keep(s.Context(), access.Remains{Programs: []*rules.Program{program},
		Left: func(context.Context) (inventory.Left, error) { return s.left, nil }})
}

// has checks which resources the cleanup role is about.
func (s *stage) has(want ...string) {
	s.Helper()
	var got []string
	for permit := range s.live() {
		if !slices.Contains(got, permit.Resource) {
			got = append(got, permit.Resource)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.Errorf("the cleanup role has %v, want %v\n%s", got, want, s.log)
	}
}

// rests keeps the role again, every five seconds, and checks that no role is written.
func (s *stage) rests(times int, keep func()) {
	s.Helper()
	s.client.ClearActions()
	for range times {
		time.Sleep(5 * time.Second)
		keep()
	}
	for _, a := range s.client.Actions() {
		if a.GetVerb() == "update" {
			s.Errorf("at rest, a role is written: %v", a)
		}
	}
}

// TestPermissionsStayUntilNothingIsLeft takes a kind out of the rules and out of the main role, in both orders, with a
// process that is another one in between.
func TestPermissionsStayUntilNothingIsLeft(t *testing.T) {
	for _, rolesFirst := range []bool{true, false} {
		onStage(t, func(s *stage) {
			s.grant("configmaps", "pods", "secrets")
			s.keeps(s.programOf("ConfigMap", "Secret"))
			s.has("configmaps", "pods", "secrets")
			if s.live()[deploy.Permit{Resource: "secrets", Verb: "create"}] {
				s.Error("the cleanup role permits to create objects")
			}
			if rolesFirst {
				s.grant("pods", "secrets")
				s.keeps(s.programOf("ConfigMap", "Secret"))
				s.has("configmaps", "pods", "secrets")
			}
			s.Keeper = New(s.Options)
			s.Learn(kindschema.Builtin())
			now := s.programOf("Secret")
			s.keeps(now, "ConfigMap")
			s.has("configmaps", "pods", "secrets")
			s.grant("pods", "secrets")
			time.Sleep(time.Minute)
			s.keeps(now, "ConfigMap")
			s.has("configmaps", "pods", "secrets")
			s.keeps(now)
			s.has("pods", "secrets")
			s.rests(100, func() { s.keeps(now) })
		})
	}
}

// TestARuleIsGoneWithItsPermissions removes the only rule. Its primaries have finalizers.
func TestARuleIsGoneWithItsPermissions(t *testing.T) {
	onStage(t, func(s *stage) {
		s.grant("configmaps", "pods")
		s.keeps(s.programOf("ConfigMap"))
		s.grant()
		s.keeps(s.programOf(), "Pod")
		s.has("pods")
		s.keeps(s.programOf())
		s.has()
	})
}

// TestBundlesAreGoneWithTheirPermissions removes rules for the cluster one after the other. Their ConfigMaps are in the
// namespace of the installation, and no other role has permissions for them.
func TestBundlesAreGoneWithTheirPermissions(t *testing.T) {
	for _, watched := range [][]string{nil, {home}, {"team-a"}} {
		onStage(t, func(s *stage) {
			s.Namespaces = watched
			again := func() {
				s.Keeper = New(s.Options)
				s.Learn(kindschema.Builtin())
			}
			again()
			s.grant("pods", "secrets")
			other := s.programOf("Secret")
			has := func(wants ...string) {
				s.Helper()
				bundles := deploy.Permits{}
				for permit := range s.in(roles, home) {
					if permit.Resource == "configmaps" {
						bundles[permit] = true
					}
				}
				if diff := cmp.Diff(deploy.BundleNeeds("reconcel", wants), bundles); diff != "" {
					s.Errorf("watched namespaces %v: -want +got:\n%s\n%s", watched, diff, s.log)
				}
				for permit := range s.live() {
					if permit.Resource == "configmaps" {
						s.Errorf("a role has %v for all namespaces", permit)
					}
				}
			}
			s.grantBundles("a", "b")
			s.keepsBundles(s.bundles("a", "b"))
			has("a", "b")
			s.grantBundles("a")
			s.keepsBundles(s.bundles("a", "b"))
			has("a", "b")
			s.keepsBundles(s.bundles("a"), "b")
			has("a", "b")
			s.keepsBundles(s.bundles("a"))
			has("a")
			s.grantBundles()
			again()
			s.keepsBundles(other, "a")
			has("a")
			s.keepsBundles(other)
			has()
			s.rests(100, func() { s.keepsBundles(other) })
		})
	}
}

// TestPermissionsThatComeLate has rules whose permissions come a minute later. What is held already is in the cleanup
// role at once.
func TestPermissionsThatComeLate(t *testing.T) {
	onStage(t, func(s *stage) {
		s.grant("pods")
		program := s.programOf("ConfigMap")
		s.keeps(program)
		s.has("pods")
		s.rests(12, func() { s.keeps(program) })
		s.grant("configmaps", "pods")
		time.Sleep(retryEvery)
		s.keeps(program)
		s.has("configmaps", "pods")
	})
}

// TestKindsThatAreNotServed keeps the permissions of a kind whose CustomResourceDefinition may come back, until nothing
// of it is left.
func TestKindsThatAreNotServed(t *testing.T) {
	onStage(t, func(s *stage) {
		s.grant("configmaps", "pods", "secrets")
		s.keeps(s.programOf("ConfigMap", "Secret"))
		s.gone = map[string]bool{"ConfigMap": true}
		now := s.programOf("Secret")
		s.keeps(now, "ConfigMap")
		s.has("configmaps", "pods", "secrets")
		s.keeps(now)
		s.has("pods", "secrets")
	})
}

// TestNobodyWantsACleanupRole expects no object that nobody has applied, and the role to be used once it is applied.
func TestNobodyWantsACleanupRole(t *testing.T) {
	onStage(t, func(s *stage) {
		role, _ := s.client.Tracker().Get(clusterRoles, "", "reconcel-cleanup")
		if err := s.client.Tracker().Delete(clusterRoles, "", "reconcel-cleanup"); err != nil {
			s.Fatal(err)
		}
		s.grant("configmaps", "pods")
		program := s.programOf("ConfigMap")
		s.keeps(program)
		if s.live() != nil || s.log.String() != "" {
			s.Errorf("the role is %v, the log says:\n%s", s.live(), s.log)
		}
		if err := s.client.Tracker().Add(role); err != nil {
			s.Fatal(err)
		}
		time.Sleep(readEvery)
		s.keeps(program)
		s.has("configmaps", "pods")
	})
}

// TestMayNotReadTheRole has an installation with the roles of an older version. That is said once.
func TestMayNotReadTheRole(t *testing.T) {
	onStage(t, func(s *stage) {
		s.client.PrependReactor("get", "clusterroles", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(clusterRoles.GroupResource(), "reconcel-cleanup", nil)
		})
		program := s.programOf("ConfigMap")
		for range 100 {
			s.keeps(program)
			time.Sleep(5 * time.Second)
		}
		if n := strings.Count(s.log.String(), "cleanup role not updated"); n != 1 {
			s.Errorf("it is said %d times:\n%s", n, s.log)
		}
	})
}

// TestOthersWriteTheRole has another writer change the role at the same time, and empty it later.
func TestOthersWriteTheRole(t *testing.T) {
	onStage(t, func(s *stage) {
		raced := false
		s.client.PrependReactor("update", "clusterroles", func(clienttesting.Action) (bool, runtime.Object, error) {
			if raced {
				return false, nil, nil
			}
			raced = true
			return true, nil, apierrors.NewConflict(clusterRoles.GroupResource(), "reconcel-cleanup", nil)
		})
		s.grant("configmaps", "pods")
		program := s.programOf("ConfigMap")
		s.keeps(program)
		s.has("configmaps", "pods")
		empty, err := s.client.Resource(clusterRoles).Get(s.Context(), "reconcel-cleanup", metav1.GetOptions{})
		if err != nil {
			s.Fatal(err)
		}
		delete(empty.Object, "rules")
		if err := s.client.Tracker().Update(clusterRoles, empty, ""); err != nil {
			s.Fatal(err)
		}
		time.Sleep(readEvery)
		s.keeps(program)
		s.has("configmaps", "pods")
	})
}

// TestRulesWaitOnlyForWhatIsMissing lets requests for the role hang. Rules need not wait for them if the role has what
// they need, also while a write hangs that removes other permissions.
func TestRulesWaitOnlyForWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.grant("configmaps", "pods", "secrets")
		both, secret := s.programOf("ConfigMap", "Secret"), s.programOf("Secret")
		expect := func(when string, program *rules.Program, want bool) {
			t.Helper()
			if got := s.Keeps([]*rules.Program{program}); got != want {
				t.Errorf("%s, the role has what rules need: %v", when, got)
			}
		}
		expect("at the start", both, false)
		s.keeps(both)
		expect("after a write", both, true)
		expect("after a write", secret, true)
		expect("after a write", s.programOf("Service"), false)
		hang := func(verb string) {
			s.client.PrependReactor(verb, "clusterroles", func(clienttesting.Action) (bool, runtime.Object, error) {
				time.Sleep(10 * time.Second)
				return true, nil, apierrors.NewTimeoutError("no answer", 1)
			})
		}
		keep := func(program *rules.Program) (ended chan struct{}) {
			ended = make(chan struct{})
			time.Sleep(readEvery)
			go func() {
				defer close(ended)
				s.keeps(program)
			}()
			synctest.Wait()
			return ended
		}
		hang("update")
		ended := keep(secret)
		expect("while a write hangs", secret, true)
		expect("while a write hangs that removes the rest", both, false)
		<-ended
		hang("get")
		ended = keep(secret)
		expect("while a read hangs", secret, true)
		<-ended
		expect("after that", secret, true)
	})
}

package stories

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
)

// BundleRules make one ConfigMap from all Services with a label, and a ServiceAccount. They
// have no primary. NAMESPACE stands for the namespace of the story.
const BundleRules = rulesHead + fanInRule

const fanInRule = `- name: fan-in-NAMESPACE
  for: cluster
  onRuleRemoval: delete
  allow: {namespaces: [NAMESPACE], read: {namespaces: [NAMESPACE]}}
  lookups:
  - {id: services, apiVersion: v1, kind: Service, namespace: NAMESPACE, selector: {matchLabels: {exposed: "yes"}}}
  validate:
  - {expression: size(services) < 3, message: too many services are exposed}
  children:
  - id: routes
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: routes, namespace: NAMESPACE}
      data: {routes: '${services.map(s, s.metadata.name).join(" ")}'}
  - id: account
    when: size(services) > 0
    template:
      apiVersion: v1
      kind: ServiceAccount
      metadata: {name: router, namespace: NAMESPACE}
`

// renamedRule makes the same objects as fanInRule, once a Service says so.
var renamedRule = strings.NewReplacer("name: fan-in-", "name: renamed-", `services.map(s, s.metadata.name).join(" ")`,
	`services[0].metadata.labels.go + ""`).Replace(fanInRule)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// A bundleStory tells of the objects of a rule for the cluster.
type bundleStory struct{ *Stage }

// bundle returns the ConfigMap of the bundle of a rule, or nil.
func (s *bundleStory) bundle(rule string) *unstructured.Unstructured {
	s.Helper()
	list, err := s.Client.Resource(configMaps).List(s.Context,
		metav1.ListOptions{LabelSelector: rules.LabelBundle + "=" + rule + "-" + s.Namespace})
	if err != nil {
		s.Fatal(err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

// says waits until the report of the bundle has a reason and contains a message.
func (s *bundleStory) says(what, rule, reason, message string) *unstructured.Unstructured {
	s.Helper()
	var found *unstructured.Unstructured
	s.Eventually(what, func() error {
		if found = s.bundle(rule); found == nil {
			return fmt.Errorf("there is no ConfigMap of the bundle")
		}
		report := struct{ Reason, Message string }{}
		text := found.GetAnnotations()[rules.AnnotationStatus]
		if err := json.Unmarshal([]byte(text), &report); err != nil || report.Reason != reason ||
			!strings.Contains(report.Message, message) {
			return fmt.Errorf("it reports %s", text)
		}
		return nil
	})
	return found
}

// routes waits until the routes are as wanted, and returns the ConfigMap that has them.
func (s *bundleStory) routes(what, want string) *unstructured.Unstructured {
	s.Helper()
	var found *unstructured.Unstructured
	s.Eventually(what, func() (err error) {
		if found, err = s.resource("", "v1", "configmaps").Get(s.Context, "routes", metav1.GetOptions{}); err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedString(found.Object, "data", "routes"); got != want {
			return fmt.Errorf("the routes are %q, want %q", got, want)
		}
		return nil
	})
	return found
}

func (s *bundleStory) expose(name string) {
	s.Helper()
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": name, "labels": map[string]any{"exposed": "yes"}},
		"spec":     map[string]any{"ports": []any{map[string]any{"port": int64(80)}}},
	}}
	if _, err := s.resource("", "v1", "services").Create(s.Context, service,
		metav1.CreateOptions{FieldManager: "someone"}); err != nil {
		s.Fatal(err)
	}
}

func (s *bundleStory) hide(name string) {
	s.Helper()
	if err := s.resource("", "v1", "services").Delete(s.Context, name, metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
}

// mark changes the metadata of an object.
func (s *bundleStory) mark(resource schema.GroupVersionResource, u *unstructured.Unstructured, section, key string,
	value any) {
	s.Helper()
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{section: map[string]any{key: value}}})
	if err != nil {
		s.Fatal(err)
	}
	if _, err := s.Client.Resource(resource).Namespace(u.GetNamespace()).Patch(s.Context, u.GetName(),
		types.MergePatchType, text, metav1.PatchOptions{FieldManager: "someone"}); err != nil {
		s.Fatal(err)
	}
}

// unchanged checks that an object is the same one, and was not written.
func (s *bundleStory) unchanged(what string, before, now *unstructured.Unstructured) {
	s.Helper()
	if before.GetUID() != now.GetUID() || before.GetResourceVersion() != now.GetResourceVersion() {
		s.Errorf("%s: the routes were written: %s %s, then %s %s", what, before.GetUID(), before.GetResourceVersion(),
			now.GetUID(), now.GetResourceVersion())
	}
}

// tellBundle tells how a rule for the cluster makes its objects, what its ConfigMap is good
// for, and that nothing is lost with it.
func tellBundle(stage *Stage) {
	s := &bundleStory{stage}
	s.routes("the routes of no Service", "")
	s.expose("web")
	s.expose("api")
	s.says("the bundle to be ready", "fan-in", "Reconciled", "")
	before := s.routes("the routes of two Services", "api web")
	s.keepsObjects(before)
	s.pauses()
	s.expose("more")
	s.says("a failed check to be reported", "fan-in", "InvalidSpec", "too many services are exposed")
	s.routes("the routes to stay", "api web")
	s.hide("more")
	s.isRenamed(before)
}

// keepsObjects tells that the loss of the ConfigMap changes no object.
func (s *bundleStory) keepsObjects(before *unstructured.Unstructured) {
	s.Helper()
	lost := s.bundle("fan-in")
	if err := s.Client.Resource(configMaps).Namespace(lost.GetNamespace()).Delete(s.Context, lost.GetName(),
		metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
	again := s.says("a deleted ConfigMap to come back", "fan-in", "Reconciled", "")
	if again.GetUID() == lost.GetUID() {
		s.Error("the ConfigMap was not deleted")
	}
	s.unchanged("without its ConfigMap", before, s.routes("the routes to stay", "api web"))
	for what, value := range map[string]any{"a removed": nil, "another": "wrong"} {
		s.mark(configMaps, again, "labels", rules.LabelBundle, value)
		s.Eventually(what+" label to be restored", func() error {
			if s.bundle("fan-in") == nil {
				return fmt.Errorf("it is not restored")
			}
			return nil
		})
		s.unchanged(what+" label", before, s.routes("the routes to stay", "api web"))
	}
	s.Restart()
	s.hide("web")
	s.routes("the routes to follow after a restart", "api")
	s.expose("web")
	s.routes("the routes to be back", "api web")
}

// pauses tells that an annotation on the ConfigMap pauses the bundle.
func (s *bundleStory) pauses() {
	s.Helper()
	s.mark(configMaps, s.bundle("fan-in"), "annotations", rules.AnnotationPaused, "true")
	s.says("the pause to be reported", "fan-in", "Paused", "")
	s.hide("web")
	s.mark(configMaps, s.routes("the routes to rest", "api web"), "annotations", "note", "mine")
	s.mark(configMaps, s.bundle("fan-in"), "annotations", rules.AnnotationPaused, nil)
	s.routes("the routes to follow after the pause", "api")
	s.expose("web")
	s.routes("the routes to be back", "api web")
}

// isRenamed tells that a rule under another name takes the objects over, even if it cannot
// render them at first, and that they go with the last rule.
func (s *bundleStory) isRenamed(before *unstructured.Unstructured) {
	s.Helper()
	s.Reload(rulesHead + renamedRule + elsewhereRule)
	s.says("a new rule to wait", "renamed", "Waiting", "services[0].metadata.labels.go")
	if now := s.routes("the routes to stay meanwhile", "api web"); now.GetUID() != before.GetUID() {
		s.Error("the routes are another ConfigMap while the new rule waits")
	}
	service, err := s.resource("", "v1", "services").Get(s.Context, "api", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	s.mark(schema.GroupVersionResource{Version: "v1", Resource: "services"}, service, "labels", "go", "on")
	now := s.routes("the new rule to take the routes over", "on")
	if now.GetUID() != before.GetUID() || now.GetLabels()[rules.LabelRule] != "renamed-"+s.Namespace {
		s.Errorf("the routes are another ConfigMap, or of %s", now.GetLabels())
	}
	s.says("the new bundle to be ready", "renamed", "Reconciled", "")
	s.gone("the ConfigMap of the old bundle to go", func() bool { return s.bundle("fan-in") == nil })
	s.Reload(rulesHead + elsewhereRule)
	s.gone("the objects of the removed rule to go", func() bool {
		_, err := s.resource("", "v1", "configmaps").Get(s.Context, "routes", metav1.GetOptions{})
		_, other := s.resource("", "v1", "serviceaccounts").Get(s.Context, "router", metav1.GetOptions{})
		return err != nil && other != nil && s.bundle("renamed") == nil
	})
}

func (s *bundleStory) gone(what string, isGone func() bool) {
	s.Helper()
	s.Eventually(what, func() error {
		if !isGone() {
			return fmt.Errorf("something is left")
		}
		return nil
	})
}

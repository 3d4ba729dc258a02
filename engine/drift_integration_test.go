//go:build integration

package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"reconcel/test/e2e"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// variant is a kind of child, foreign writes that take a field of reconcel away, and
// foreign writes that do not. Each foreign write is a JSON merge patch unless it names
// another way.
type variant struct {
	id       string
	template string
	drift    []string
	harmless []string
}

var variants = []variant{
	{"configmap", `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, labels: {a: b}}, data: {k: v, empty: ""}}`,
		[]string{`{"data":{"k":"other"}}`, `{"data":{"k":null}}`, `{"metadata":{"labels":{"a":"c"}}}`, `{"metadata":{"labels":{"a":null}}}`,
			`{"metadata":{"ownerReferences":null}}`, `{"metadata":{"annotations":{"reconcel.dev/applied":null}}}`, `{"metadata":{"labels":{"reconcel.dev/rule":null}}}`},
		[]string{`{"data":{"more":"x"}}`, `{"metadata":{"labels":{"more":"x"},"annotations":{"more":"x"}}}`, `{"data":{"k":"v"}}`, `{"metadata":{"finalizers":["test.reconcel.dev/hold"]}}`, `{"metadata":{"finalizers":null}}`}},
	{"binary", `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, binaryData: {k: AAEC}}`, []string{`{"binaryData":{"k":"AAAA"}}`}, []string{`{"data":{"x":"y"}}`}},
	{"secret", `{apiVersion: v1, kind: Secret, metadata: {name: NAME}, stringData: {password: hunter2}}`,
		[]string{`{"data":{"password":"AAAA"}}`, `{"data":null}`, `apply-stringData`}, []string{`{"data":{"more":"AAAA"}}`}},
	{"deployment", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: NAME}, spec: {replicas: 1, selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: c, image: busybox, ports: [{containerPort: 80}], resources: {limits: {cpu: "1000m", memory: 1024Mi}}, env: [{name: A, value: "1"}]}], volumes: [{name: v, emptyDir: {}}]}}}}`,
		[]string{`{"spec":{"replicas":2}}`, `scale`, `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"nginx"}]}}}}`, `strategic:{"spec":{"template":{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"2"}}}]}}}}`,
			`strategic:{"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"A","value":"2"}]}]}}}}`, `strip`, `update-as-us`},
		[]string{`{"spec":{"revisionHistoryLimit":3}}`, `strategic:{"spec":{"template":{"spec":{"containers":[{"name":"sidecar","image":"busybox"}]}}}}`, `strategic:{"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"B","value":"x"}]}]}}}}`, `{"metadata":{"annotations":{"x":"y"}}}`}},
	{"statefulset", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: NAME}, spec: {serviceName: NAME, replicas: 0, selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: c, image: busybox}]}}}}`, []string{`{"spec":{"replicas":1}}`}, []string{`{"metadata":{"labels":{"x":"y"}}}`}},
	{"daemonset", `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: NAME}, spec: {selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {nodeSelector: {none: such}, containers: [{name: c, image: busybox}]}}}}`, []string{`{"spec":{"template":{"spec":{"nodeSelector":{"none":"other"}}}}}`}, []string{`{"spec":{"minReadySeconds":1}}`}},
	{"job", `{apiVersion: batch/v1, kind: Job, metadata: {name: NAME}, spec: {suspend: true, parallelism: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}`, []string{`{"spec":{"parallelism":2}}`}, []string{`{"spec":{"activeDeadlineSeconds":100}}`}},
	{"cronjob", `{apiVersion: batch/v1, kind: CronJob, metadata: {name: NAME}, spec: {schedule: "0 0 1 1 *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}}}`, []string{`{"spec":{"schedule":"0 0 2 1 *"}}`}, []string{`{"spec":{"suspend":true}}`}},
	{"pod", `{apiVersion: v1, kind: Pod, metadata: {name: NAME, labels: {a: b}}, spec: {containers: [{name: c, image: "busybox:1"}]}}`, []string{`strategic:{"spec":{"containers":[{"name":"c","image":"busybox:2"}]}}`, `{"metadata":{"labels":{"a":"x"}}}`}, []string{`{"metadata":{"annotations":{"x":"y"}}}`}},
	{"service", `{apiVersion: v1, kind: Service, metadata: {name: NAME}, spec: {selector: {app: x}, ports: [{name: http, port: 80, targetPort: http}]}}`, []string{`{"spec":{"selector":{"app":"y"}}}`, `{"spec":{"selector":{"more":"x"}}}` /* the map is atomic */, `strategic:{"spec":{"ports":[{"port":80,"targetPort":81}]}}`, `{"spec":{"ports":[{"name":"b","port":81}]}}`}, []string{`strategic:{"spec":{"ports":[{"name":"more","port":82}]}}`}},
	{"headless", `{apiVersion: v1, kind: Service, metadata: {name: NAME}, spec: {clusterIP: None, selector: {app: x}}}`, []string{`{"spec":{"selector":null}}`}, []string{`{"spec":{"publishNotReadyAddresses":true}}`}},
	{"serviceaccount", `{apiVersion: v1, kind: ServiceAccount, metadata: {name: NAME}, automountServiceAccountToken: false}`, []string{`{"automountServiceAccountToken":true}`}, []string{`{"imagePullSecrets":[{"name":"x"}]}`}},
	{"role", `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: NAME}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`, []string{`{"rules":[]}`}, []string{`{"metadata":{"labels":{"x":"y"}}}`}},
	{"rolebinding", `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: NAME}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: NAME}, subjects: [{kind: ServiceAccount, name: default, namespace: "${self.metadata.namespace}"}]}`, []string{`{"subjects":null}`}, nil},
	{"networkpolicy", `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: NAME}, spec: {podSelector: {}, policyTypes: [Ingress, Egress], ingress: [], egress: [{to: [{podSelector: {matchLabels: {}}}]}]}}`, []string{`{"spec":{"policyTypes":["Ingress"]}}`, `{"spec":{"egress":[]}}`}, []string{`{"metadata":{"labels":{"x":"y"}}}`}},
	{"ingress", `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: NAME}, spec: {rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: x, port: {number: 80}}}}]}}]}}`, []string{`{"spec":{"rules":[{"host":"b.example.com"}]}}`}, []string{`{"spec":{"ingressClassName":"x"}}`}},
	{"pdb", `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: NAME}, spec: {minAvailable: "50%", selector: {matchLabels: {app: x}}}}`, []string{`{"spec":{"minAvailable":1}}`}, []string{`{"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}}`}},
	{"hpa", `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: NAME}, spec: {minReplicas: 1, maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nope}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}}`, []string{`{"spec":{"maxReplicas":5}}`}, []string{`{"metadata":{"labels":{"x":"y"}}}`}},
	{"quota", `{apiVersion: v1, kind: ResourceQuota, metadata: {name: NAME}, spec: {hard: {requests.cpu: "100000m", pods: "1e3"}}}`, []string{`{"spec":{"hard":{"pods":"999"}}}`}, []string{`{"spec":{"hard":{"configmaps":"500"}}}`}},
	{"limitrange", `{apiVersion: v1, kind: LimitRange, metadata: {name: NAME}, spec: {limits: [{type: PersistentVolumeClaim, max: {storage: 1024Gi}}]}}`, []string{`{"spec":{"limits":[]}}`}, nil},
	{"pvc", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: NAME, labels: {a: b}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}`, []string{`{"metadata":{"labels":{"a":"c"}}}`}, []string{`{"metadata":{"labels":{"x":"y"}}}`}},
	{"lease", `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: NAME}, spec: {leaseDurationSeconds: 15}}`, []string{`{"spec":{"leaseDurationSeconds":16}}`}, []string{`{"spec":{"holderIdentity":"x"}}`}},
	{"endpointslice", `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: NAME}, addressType: IPv4, endpoints: [{addresses: [10.1.2.3]}], ports: [{port: 80}]}`, []string{`{"endpoints":[]}`}, nil},
	{"custom", `{apiVersion: test.reconcel.dev/v1, kind: Widget, metadata: {name: NAME}, spec: {list: [], none: {}, deep: {a: [1, {b: 2.5}], s: x}}}`, []string{`{"spec":{"deep":{"s":"y"}}}`, `{"spec":{"deep":{"a":[]}}}`, `{"spec":{"list":[1]}}`, `{"spec":{"deep":null}}`}, []string{`{"spec":{"more":1}}`, `{"spec":{"deep":{"more":1}}}`}},
}

// child returns the entry of children that creates the variant. Drift is repaired in
// place. For a Pod, onChange must allow that.
func (v variant) child(name string) string {
	policy := "apply"
	if v.id == "pod" {
		policy = "replace"
	}
	return fmt.Sprintf("  - id: %s\n    onChange: %s\n    template: %s\n", v.id, policy, strings.ReplaceAll(v.template, "NAME", name))
}

// TestDrift makes every foreign write to every kind. A write that takes a field of
// reconcel away is repaired, and any other causes no write at all.
func TestDrift(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	children := make([]string, len(variants))
	for i, v := range variants {
		children[i] = v.child("drift-" + v.id)
	}
	w.run(widgetRules("when: self.metadata.name == 'parent'", children...))
	w.Create(widget("parent", "x: y"))
	w.Eventually("every child to exist", func() error {
		for _, v := range variants {
			if w.child(v) == nil {
				return fmt.Errorf("%s does not", v.id)
			}
		}
		return nil
	})
	w.settles()
	for _, v := range variants {
		for _, foreign := range v.drift {
			t.Run(v.id+" repairs "+foreign, func(t *testing.T) { w.repairs(t, v, foreign) })
		}
	}
	since := time.Now()
	for _, v := range variants {
		for _, foreign := range v.harmless {
			w.write(t, v, foreign)
		}
	}
	w.Rest(3 * time.Second)
	for _, r := range w.Writes(since) {
		// The parent's status follows its children, and one of them starts a new rollout.
		if r.Group != "events.k8s.io" && r.Subresource != "status" {
			t.Errorf("a harmless change caused %s of %s", r, r.Name)
		}
	}
}

func (v variant) gvk(t *testing.T) schema.GroupVersionKind {
	return e2e.Parse(t, strings.ReplaceAll(v.template, "NAME", "x"))[0].GroupVersionKind()
}

func (w *world) child(v variant) *unstructured.Unstructured {
	w.Helper()
	return w.Get(v.gvk(w.T), "drift-"+v.id)
}

// repairs makes a foreign write and waits until the object is repaired.
func (w *world) repairs(t *testing.T, v variant, foreign string) {
	before := ours(w.child(v))
	w.write(t, v, foreign)
	took := w.Eventually("the repair", func() error {
		u := w.child(v)
		if u == nil {
			return fmt.Errorf("it is gone")
		}
		if now := ours(u); now != before {
			return fmt.Errorf("it is\n%s\nnot\n%s", now, before)
		}
		return nil
	})
	if took > time.Second {
		t.Errorf("took %s", took)
	}
}

// ours returns reconcel's managedFields entry, with the values of those fields that are
// scalar.
func ours(u *unstructured.Unstructured) string {
	for _, entry := range u.GetManagedFields() {
		if entry.Manager == "reconcel" && entry.Operation == metav1.ManagedFieldsOperationApply {
			var tree map[string]any
			_ = json.Unmarshal(entry.FieldsV1.GetRawBytes(), &tree)
			var lines []string
			leaves("", tree, u.Object, &lines)
			slices.Sort(lines)
			return strings.Join(lines, "\n")
		}
	}
	return "no entry of ours"
}

func leaves(path string, tree map[string]any, value any, lines *[]string) {
	if len(tree) == 0 {
		text, _ := json.Marshal(value)
		*lines = append(*lines, path+" = "+string(text))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		sub, _ := tree[key].(map[string]any)
		name, isField := strings.CutPrefix(key, "f:")
		object, isMap := value.(map[string]any)
		if isField && isMap {
			leaves(path+"."+name, sub, object[name], lines)
			continue
		}
		leaves(path+"["+key+"]", sub, item(key, value), lines)
	}
}

// item returns the element of an associative list with this key.
func item(key string, list any) any {
	var want map[string]any
	raw, ok := strings.CutPrefix(key, "k:")
	if !ok || json.Unmarshal([]byte(raw), &want) != nil {
		return nil
	}
	items, _ := list.([]any)
	for _, i := range items {
		have, _ := i.(map[string]any)
		if !slices.ContainsFunc(slices.Collect(maps.Keys(want)), func(k string) bool { return fmt.Sprint(want[k]) != fmt.Sprint(have[k]) }) {
			return have
		}
	}
	return nil
}

func (w *world) write(t *testing.T, v variant, foreign string) {
	t.Helper()
	resource, name := w.Resource(v.gvk(t)), "drift-"+v.id
	options := metav1.PatchOptions{FieldManager: "foreigner"}
	force := true
	var err error
	kind, body, strategic := strings.Cut(foreign, "strategic:")
	_ = kind
	switch {
	case strategic:
		_, err = resource.Patch(w.Context(), name, types.StrategicMergePatchType, []byte(body), options)
	case foreign == "scale":
		_, err = resource.Patch(w.Context(), name, types.MergePatchType, []byte(`{"spec":{"replicas":4}}`), options, "scale")
	case foreign == "strip":
		_, err = resource.Patch(w.Context(), name, types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`), options)
	case foreign == "update-as-us":
		_, err = resource.Patch(w.Context(), name, types.MergePatchType, []byte(`{"spec":{"replicas":7}}`), metav1.PatchOptions{FieldManager: "reconcel"})
	case foreign == "apply-stringData":
		options.Force = &force
		body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":%q},"stringData":{"password":"stolen"}}`, name)
		_, err = resource.Patch(w.Context(), name, types.ApplyPatchType, []byte(body), options)
	default:
		_, err = resource.Patch(w.Context(), name, types.MergePatchType, []byte(foreign), options)
	}
	if err != nil {
		t.Fatalf("%s: %s: %v", v.id, foreign, err)
	}
}

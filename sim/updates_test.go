package sim_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	aPod = "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {activeDeadlineSeconds: 60, " +
		"tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}], nodeSelector: {disk: ssd}, " +
		"containers: [{name: main, image: a}]}}"
	aGatedPod = "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {schedulingGates: [{name: x.dev/a}, {name: x.dev/b}], nodeSelector: {disk: ssd}, " +
		"affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a, b]}]}]}}}, " +
		"containers: [{name: main, image: a}]}}"
	aClaim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {accessModes: [ReadWriteOnce], " +
		"resources: {requests: {storage: 2Gi}}}}"
	aBoundClaim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {accessModes: [ReadWriteOnce], volumeName: v, " +
		"storageClassName: fast, resources: {requests: {storage: 2Gi}}}, status: {phase: Bound, capacity: {storage: 1Gi}}}"
	aJob = "{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {SPECmanualSelector: true, selector: {matchLabels: {a: b}}, " +
		"template: {metadata: {labels: {a: b}}, spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}}STATUS}"
	indexed = "completionMode: Indexed, completions: 3, parallelism: 3, backoffLimitPerIndex: 1, successPolicy: {rules: [{succeededCount: 1}]}, " +
		"podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: \"True\"}]}]}, managedBy: x.dev/a, "
	immutableClaim = "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"
	immutablePod   = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
		"`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
		"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
)

// job returns a Job with more fields and a status.
func job(spec, status string) string {
	return strings.NewReplacer("SPEC", spec, "STATUS", status).Replace(aJob)
}

// updates are merge patches of objects, with what the API server says. "" is accepted.
var updates = []struct{ name, given, patch, want string }{
	{"a claim shrinks below its capacity", aBoundClaim, `{"spec":{"resources":{"requests":{"storage":"512Mi"}}}}`,
		"spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"},
	{"a claim shrinks to more than its capacity", aBoundClaim, `{"spec":{"resources":{"requests":{"storage":"1536Mi"}}}}`, ""},
	{"a bound claim grows", aBoundClaim, `{"spec":{"resources":{"requests":{"storage":"3Gi"}}}}`, ""},
	{"a claim grows before it has a volume", aClaim, `{"spec":{"resources":{"requests":{"storage":"3Gi"}}}}`, immutableClaim},
	{"a claim gets a limit", aBoundClaim, `{"spec":{"resources":{"limits":{"storage":"3Gi"}}}}`, immutableClaim},
	{"a claim gets a class", aClaim, `{"spec":{"storageClassName":"fast"}}`, ""},
	{"a claim gets another class", aBoundClaim, `{"spec":{"storageClassName":"slow"}}`, immutableClaim},
	{"a claim gets a volume", aClaim, `{"spec":{"volumeName":"v"}}`, ""},
	{"a claim gets another volume", aBoundClaim, `{"spec":{"volumeName":"w"}}`, immutableClaim},
	{"a bound claim gets other attributes", aBoundClaim, `{"spec":{"volumeAttributesClassName":"gold"}}`, ""},
	{"a claim gets attributes before it has a volume", aClaim, `{"spec":{"volumeAttributesClassName":"gold"}}`, immutableClaim},
	{"the mode of a claim", aBoundClaim, `{"spec":{"volumeMode":"Block"}}`, `volumeMode: Invalid value: "Block": field is immutable`},
	{"the source of a volume", `{apiVersion: v1, kind: PersistentVolume, metadata: {name: x}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /a}}}`,
		`{"spec":{"hostPath":{"path":"/b"}}}`, "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n"},

	{"podFailurePolicy", job(indexed, ""), `{"spec":{"podFailurePolicy":{"rules":[{"action":"Count","onPodConditions":[{"type":"DisruptionTarget","status":"True"}]}]}}}`,
		"spec.podFailurePolicy: Invalid value: "},
	{"backoffLimitPerIndex", job(indexed, ""), `{"spec":{"backoffLimitPerIndex":2}}`, "spec.backoffLimitPerIndex: Invalid value: 2: field is immutable"},
	{"successPolicy", job(indexed, ""), `{"spec":{"successPolicy":{"rules":[{"succeededCount":2}]}}}`, "spec.successPolicy: Invalid value: "},
	{"managedBy", job(indexed, ""), `{"spec":{"managedBy":"x.dev/b"}}`, `spec.managedBy: Invalid value: "x.dev/b": field is immutable`},
	{"completions of an Indexed Job with its parallelism", job(indexed, ""), `{"spec":{"completions":4,"parallelism":4}}`, ""},
	{"completions of an Indexed Job alone", job(indexed, ""), `{"spec":{"completions":4}}`,
		"spec.completions: Invalid value: 4: can only be modified in tandem with spec.parallelism"},
	{"completions of another Job", job("completions: 3, parallelism: 3, ", ""), `{"spec":{"completions":4,"parallelism":4}}`,
		"spec.completions: Invalid value: 4: field is immutable"},
	{"the nodes of a suspended Job", job("suspend: true, ", ""),
		`{"spec":{"template":{"metadata":{"labels":{"c":"d"},"annotations":{"e":"f"}},"spec":{"nodeSelector":{"disk":"ssd"},"tolerations":[{"key":"a","operator":"Exists"}],` +
			`"schedulingGates":[{"name":"x.dev/a"}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}}}}}}`, ""},
	{"the resources of a suspended Job", job("suspend: true, ", ""), `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"a","resources":{"requests":{"cpu":"1"}}}]}}}}`, ""},
	{"the image of a suspended Job", job("suspend: true, ", ""), `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"b"}]}}}}`,
		"spec.template.spec: Invalid value: "},
	{"the nodes of a Job that runs", job("", ""), `{"spec":{"template":{"spec":{"nodeSelector":{"disk":"ssd"}}}}}`, "spec.template: Invalid value: "},
	{"the nodes of a Job that is being suspended", job("suspend: true, ", `, status: {startTime: "2029-01-01T00:00:00Z", active: 1}`),
		`{"spec":{"template":{"spec":{"nodeSelector":{"disk":"ssd"}}}}}`, "spec.template: Invalid value: "},
	{"the nodes of a Job that was suspended", job("suspend: true, ", `, status: {startTime: "2029-01-01T00:00:00Z", conditions: [{type: Suspended, status: "True"}]}`),
		`{"spec":{"template":{"spec":{"nodeSelector":{"disk":"ssd"}}}}}`, ""},

	{"the time to end of a Pod", aPod, `{"spec":{"terminationGracePeriodSeconds":5}}`, immutablePod},
	{"a toleration is removed", aPod, `{"spec":{"tolerations":[]}}`, "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"},
	{"a toleration is added", aPod, `{"spec":{"tolerations":[{"key":"b","operator":"Exists"},{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":9}]}}`, ""},
	{"a deadline is raised", aPod, `{"spec":{"activeDeadlineSeconds":61}}`, "spec.activeDeadlineSeconds: Invalid value: 61: must be less than or equal to previous value"},
	{"a deadline is removed", aPod, `{"spec":{"activeDeadlineSeconds":null}}`, "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"},
	{"a deadline is lowered", aPod, `{"spec":{"activeDeadlineSeconds":59}}`, ""},
	{"a Pod gets a container", aPod, `{"spec":{"containers":[{"name":"main","image":"a"},{"name":"b","image":"b"}]}}`, "spec.containers: Forbidden: pod updates may not add or remove containers"},
	{"the node of a Pod without gates", aPod, `{"spec":{"nodeSelector":{"zone":"a"}}}`, immutablePod},
	{"a gate is deleted", aGatedPod, `{"spec":{"schedulingGates":[{"name":"x.dev/b"}]}}`, ""},
	{"a gate is added", aGatedPod, `{"spec":{"schedulingGates":[{"name":"x.dev/a"},{"name":"x.dev/c"}]}}`,
		"spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'x.dev/c'"},
	{"a gated Pod gets a node label", aGatedPod, `{"spec":{"nodeSelector":{"zone":"a"}}}`, ""},
	{"a gated Pod loses a node label", aGatedPod, `{"spec":{"nodeSelector":{"disk":null}}}`,
		"spec.nodeSelector: Invalid value: null: only additions to spec.nodeSelector are allowed (no mutations or deletions)"},
	{"the affinity of a gated Pod is narrowed", aGatedPod,
		`{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["a","b"]},{"key":"x","operator":"Exists"}]}]}}}}}`, ""},
	{"the affinity of a gated Pod is widened", aGatedPod,
		`{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["a","b","c"]}]}]}}}}}`,
		"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]: Invalid value: "},
	{"a gated Pod loses its affinity", aGatedPod, `{"spec":{"affinity":null}}`,
		"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms list are allowed"},

	{"a StorageClass", `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: x}, provisioner: a, reclaimPolicy: Delete, volumeBindingMode: Immediate}`,
		`{"provisioner":"b"}`, `provisioner: Invalid value: "b": field is immutable`},
	{"the parameters of a StorageClass", `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: x}, provisioner: a, reclaimPolicy: Delete, volumeBindingMode: Immediate}`,
		`{"parameters":{"a":"b"}}`, `parameters: Invalid value: {"a":"b"}: field is immutable`},
	{"a VolumeAttributesClass", `{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, metadata: {name: x}, driverName: a, parameters: {a: b}}`,
		`{"driverName":"b"}`, "driverName: Forbidden: updates to driverName are forbidden."},
	{"the value of a PriorityClass", `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: x}, value: 1}`, `{"value":2}`,
		"value: Forbidden: may not be changed in an update."},
	{"the scopes of a ResourceQuota", `{apiVersion: v1, kind: ResourceQuota, metadata: {name: x}, spec: {hard: {pods: "1"}, scopes: [Terminating, NotBestEffort]}}`,
		`{"spec":{"scopes":["NotBestEffort"]}}`, `spec.scopes: Invalid value: ["NotBestEffort"]: field is immutable`},
	{"the order of a ResourceQuota's scopes", `{apiVersion: v1, kind: ResourceQuota, metadata: {name: x}, spec: {hard: {pods: "1"}, scopes: [Terminating, NotBestEffort]}}`,
		`{"spec":{"scopes":["NotBestEffort","Terminating"]}}`, ""},
	{"an IngressClass", `{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: x}, spec: {controller: x.dev/a}}`,
		`{"spec":{"controller":"x.dev/b"}}`, `spec.controller: Invalid value: "x.dev/b": field is immutable`},
	{"a RuntimeClass", `{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: x}, handler: a}`, `{"handler":"b"}`,
		`handler: Invalid value: "b": field is immutable`},
	{"an EndpointSlice", `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: x}, addressType: IPv4, endpoints: [], ports: []}`,
		`{"addressType":"IPv6"}`, `addressType: Invalid value: "IPv6": field is immutable`},
	{"the class of a load balancer", `{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {type: LoadBalancer, loadBalancerClass: x.dev/a, clusterIP: 10.96.0.9, clusterIPs: [10.96.0.9], ports: [{port: 80}]}}`,
		`{"spec":{"loadBalancerClass":"x.dev/b"}}`, `spec.loadBalancerClass: Invalid value: "x.dev/b": may not change once set`},
	{"the address of a Service", `{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {type: ClusterIP, clusterIP: 10.96.0.9, clusterIPs: [10.96.0.9], ports: [{port: 80}]}}`,
		`{"spec":{"clusterIP":"None","clusterIPs":["None"]}}`, `spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set`},
}

// TestUpdatesAreValidated compares the answers with the words of the API server.
func TestUpdatesAreValidated(t *testing.T) {
	for _, test := range updates {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			u := w.put(test.given)
			_, err := w.of(u.GroupVersionKind()).Patch(t.Context(), "x", types.MergePatchType, []byte(test.patch), metav1.PatchOptions{})
			expectAnswer(t, err, test.want)
		})
	}
}

func expectAnswer(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "":
		if err != nil {
			t.Errorf("rejected: %v", err)
		}
	case err == nil:
		t.Errorf("accepted, want %q", want)
	case !strings.HasPrefix(answer(err), "422 Invalid") || !strings.Contains(err.Error(), want):
		t.Errorf("got %v\nwant %q", err, want)
	}
}

// TestNamesAreValidated creates objects whose names become parts of other names.
func TestNamesAreValidated(t *testing.T) {
	long := strings.Repeat("x", 52)
	jobSpec := "spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}}"
	indexedSpec := strings.Replace(jobSpec, "{template", "{completionMode: Indexed, completions: 11, parallelism: 1, template", 1)
	cronSpec := `spec: {schedule: "@daily", jobTemplate: {` + jobSpec + "}}"
	setSpec := "spec: {serviceName: x, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: a}]}}}"
	for _, test := range []struct{ apiVersion, kind, name, spec, want string }{
		{"batch/v1", "CronJob", long, cronSpec, ""},
		{"batch/v1", "CronJob", long + "y", cronSpec, `metadata.name: Invalid value: "` + long + `y": must be no more than 52 characters`},
		{"batch/v1", "Job", long + "yyyyyyyyyyy", jobSpec, ""},
		{"batch/v1", "Job", long + "yyyyyyyyyyyy", jobSpec, `spec.template.labels: Invalid value: "` + long + `yyyyyyyyyyyy": must be no more than 63 bytes`},
		{"batch/v1", "Job", "a.b", jobSpec, ""},
		{"batch/v1", "Job", long + "yyyyyyyy", indexedSpec, ""},
		{"batch/v1", "Job", long + "yyyyyyyyy", indexedSpec, `metadata.name: Invalid value: "` + long + `yyyyyyyyy": will not able to create pod with invalid DNS label: ` + long + "yyyyyyyyy-10"},
		{"batch/v1", "Job", "a.b", indexedSpec, `metadata.name: Invalid value: "a.b": will not able to create pod with invalid DNS label: a.b-10`},
		{"apps/v1", "StatefulSet", "a.b", setSpec, `metadata.name: Invalid value: "a.b": must not contain dots`},
		{"apps/v1", "StatefulSet", long + "yyyyyyyyyyyy", setSpec, "must be no more than 63 characters"},
		{"v1", "Service", "1web", "spec: {ports: [{port: 80}]}", ""},
		{"v1", "Service", "web.a", "spec: {ports: [{port: 80}]}", `metadata.name: Invalid value: "web.a": must not contain dots`},
		{"policy/v1", "PodDisruptionBudget", "A_b", "spec: {minAvailable: 1}", ""},
	} {
		t.Run(test.kind+" "+test.name, func(t *testing.T) {
			w := newWorld(t)
			_, err := w.tryApply("alice", "{apiVersion: "+test.apiVersion+", kind: "+test.kind+", metadata: {name: "+test.name+"}, "+test.spec+"}")
			expectAnswer(t, err, test.want)
		})
	}
}

// TestAServiceFollowsItsType changes the type of a Service, as an apply does that names nothing else.
func TestAServiceFollowsItsType(t *testing.T) {
	w := newWorld(t)
	apply := func(spec string) map[string]any {
		t.Helper()
		u := w.apply("alice", "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {"+spec+"}}")
		return u.Object["spec"].(map[string]any)
	}
	const ports = ", ports: [{port: 80}]"
	address := apply("type: LoadBalancer" + ports)["clusterIP"]
	if address == nil || w.MarkReady(service, "default", "s") != nil {
		t.Fatalf("the address is %v", address)
	}
	ingress := func() any {
		return field(w.Find(service.GroupKind(), "default", "s"), "status", "loadBalancer", "ingress")
	}
	if apply("type: LoadBalancer, ports: [{port: 81}]"); ingress() == nil {
		t.Error("the load balancer is gone, though the type is the same")
	}
	if spec := apply("type: ClusterIP" + ports); spec["clusterIP"] != address || ingress() != nil {
		t.Errorf("no longer a LoadBalancer: %v, ingress %v", spec, ingress())
	}
	spec := apply("type: ExternalName, externalName: example.com")
	if spec["clusterIP"] != nil || spec["clusterIPs"] != nil {
		t.Errorf("an ExternalName: %v", spec)
	}
	spec = apply("type: ClusterIP" + ports)
	ips, _ := spec["clusterIPs"].([]any)
	if ip, _ := spec["clusterIP"].(string); ip == "" || len(ips) != 1 || ips[0] != ip {
		t.Errorf("no longer an ExternalName: %v", spec)
	}
}

// TestAServiceKeepsItsNodePorts updates a Service without its node ports, and then makes it one that has none.
func TestAServiceKeepsItsNodePorts(t *testing.T) {
	w := newWorld(t)
	u := w.put("{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: NodePort, ports: [{name: web, port: 80, nodePort: 30080}]}}")
	u.Object["spec"] = map[string]any{"type": "NodePort", "ports": []any{map[string]any{"name": "web", "port": int64(81)}}}
	u, err := w.of(service).Update(t.Context(), u, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	port := func() any { return field(u, "spec", "ports").([]any)[0].(map[string]any)["nodePort"] }
	if port() != int64(30080) {
		t.Errorf("the node port is %v", port())
	}
	if u = w.merge(service, "s", `{"spec": {"type": "ClusterIP"}}`); port() != nil {
		t.Errorf("the node port of a ClusterIP is %v", port())
	}
}

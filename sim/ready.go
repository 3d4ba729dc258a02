package sim

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// MarkReady writes the status that an object has when all is well, as the controllers of a whole
// cluster would. Kinds that it does not know, custom ones among them, get observedGeneration and a
// condition Ready if their schema has these.
func (c *Cluster) MarkReady(gvk runtimeschema.GroupVersionKind, namespace, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.Kinds().Kind(gvk)
	if k == nil {
		return fmt.Errorf("there is no kind %s", gvk)
	}
	r := &request{cluster: c, kind: k, namespace: namespace, name: name, subresource: "status", by: controllerManager,
		manager: controllerManager}
	old := r.live()
	if old == nil {
		return r.notFound()
	}
	if !k.Status {
		return apierrors.NewMethodNotSupported(r.groupResource(), "update status")
	}
	next := old.DeepCopy()
	s := c.subject(next)
	if generation := next.GetGeneration(); generation > 0 {
		s.status["observedGeneration"] = generation // Kinds without the field prune it.
	}
	if ready, known := readyStatus[gvk.GroupKind()]; known {
		ready(s)
	} else {
		s.conditions("Ready", "Ready")
	}
	_, err := r.logged("update", func() (*unstructured.Unstructured, error) { return r.update(next) })
	return err
}

// BecomesReady reports whether an object of a built-in kind gets a status from Kubernetes' own controllers, or from
// what they control, as soon as all is well.
func BecomesReady(u *unstructured.Unstructured) bool {
	if suspended, _, _ := unstructured.NestedBool(u.Object, "spec", "suspend"); suspended {
		return false
	}
	switch gk := u.GroupVersionKind().GroupKind(); gk {
	case namespaceKind, definitionKind: // They are ready at once.
		return false
	default:
		return readyStatus[gk] != nil
	}
}

// A subject is an object whose status is being written.
type subject struct {
	object *unstructured.Unstructured
	status map[string]any
	now    metav1.Time
}

// subject returns an object whose status is to be written.
func (c *Cluster) subject(u *unstructured.Unstructured) *subject {
	status, _ := u.Object["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
		u.Object["status"] = status
	}
	return &subject{u, status, c.now()}
}

// readyStatus sets the status of the built-in kinds that have no condition Ready.
var readyStatus = map[runtimeschema.GroupKind]func(*subject){
	deploymentKind: func(s *subject) {
		s.set(s.spec("replicas", 1), "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
		s.conditions("MinimumReplicasAvailable", "Available")
		s.conditions("NewReplicaSetAvailable", "Progressing")
	},
	kindName("apps", "ReplicaSet"): func(s *subject) {
		s.set(s.spec("replicas", 1), "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
	},
	kindName("apps", "StatefulSet"): func(s *subject) {
		s.set(s.spec("replicas", 1), "replicas", "currentReplicas", "updatedReplicas", "readyReplicas", "availableReplicas")
		revision := fmt.Sprintf("%s-%d", s.object.GetName(), s.object.GetGeneration())
		s.status["currentRevision"], s.status["updateRevision"] = revision, revision
	},
	kindName("apps", "DaemonSet"): func(s *subject) {
		s.set(1, "desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberReady",
			"numberAvailable")
		s.set(0, "numberMisscheduled")
	},
	jobKind: func(s *subject) {
		s.started()
		s.status["completionTime"] = s.timestamp()
		s.set(s.spec("completions", s.spec("parallelism", 1)), "succeeded")
		s.conditions("CompletionsReached", "SuccessCriteriaMet", "Complete")
	},
	podKind:       readyPod,
	claimKind:     readyClaim,
	volumeKind:    func(s *subject) { s.status["phase"] = "Bound" },
	namespaceKind: func(*subject) {},
	serviceKind: func(s *subject) {
		if kind, _, _ := unstructured.NestedString(s.object.Object, "spec", "type"); kind == "LoadBalancer" {
			s.address()
		}
	},
	kindName("networking.k8s.io", "Ingress"): (*subject).address,
	kindName("policy", "PodDisruptionBudget"): func(s *subject) {
		s.set(1, "currentHealthy", "desiredHealthy", "expectedPods")
		s.set(0, "disruptionsAllowed")
	},
	kindName("autoscaling", "HorizontalPodAutoscaler"): func(s *subject) { s.conditions("Ready", "AbleToScale") },
	kindName("apiregistration.k8s.io", "APIService"):   func(s *subject) { s.conditions("Passed", "Available") },
	definitionKind: (*subject).establish,
}

// spec returns a number of the spec, or its default.
func (s *subject) spec(field string, otherwise int64) int64 {
	if n, ok, _ := unstructured.NestedInt64(s.object.Object, "spec", field); ok {
		return n
	}
	return otherwise
}

func (s *subject) set(n int64, fields ...string) {
	for _, f := range fields {
		s.status[f] = n
	}
}

func (s *subject) timestamp() string { return s.now.UTC().Format(time.RFC3339) }

// started sets the time of the start unless there is one.
func (s *subject) started() {
	if s.status["startTime"] == nil {
		s.status["startTime"] = s.timestamp()
	}
}

// conditions sets conditions to True.
func (s *subject) conditions(reason string, kinds ...string) {
	for _, kind := range kinds {
		s.condition(kind, metav1.ConditionTrue, reason)
	}
}

// condition sets a condition.
func (s *subject) condition(kind string, status metav1.ConditionStatus, reason string) {
	conditions, _ := s.status["conditions"].([]any)
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if condition["type"] != kind {
			continue
		}
		if condition["status"] != string(status) {
			condition["status"], condition["lastTransitionTime"] = string(status), s.timestamp()
		}
		condition["reason"] = reason
		return
	}
	s.status["conditions"] = append(conditions, map[string]any{
		"type": kind, "status": string(status), "reason": reason, "message": "", "lastTransitionTime": s.timestamp(),
	})
}

// establish accepts the names of a CRD, and serves it.
func (s *subject) establish() {
	s.conditions("NoConflicts", "NamesAccepted")
	s.conditions("InitialNamesAccepted", "Established")
	if names, given, _ := unstructured.NestedMap(s.object.Object, "spec", "names"); given {
		s.status["acceptedNames"] = names
	}
	s.status["storedVersions"] = withStorageVersion(s.object)
}

// readyPod makes a Pod run. One that is not restarted has completed.
func readyPod(s *subject) {
	policy, _, _ := unstructured.NestedString(s.object.Object, "spec", "restartPolicy")
	completes := policy == "Never" || policy == "OnFailure"
	s.started()
	if s.status["podIP"] == nil {
		ip := podAddress(s.object)
		s.status["podIP"], s.status["podIPs"] = ip, []any{map[string]any{"ip": ip}}
	}
	state := map[string]any{"running": map[string]any{"startedAt": s.timestamp()}}
	s.conditions("", "PodScheduled")
	if completes {
		state = map[string]any{"terminated": map[string]any{"exitCode": int64(0), "reason": "Completed",
			"startedAt": s.status["startTime"], "finishedAt": s.timestamp()}}
		s.status["phase"] = "Succeeded"
		s.conditions("PodCompleted", "Initialized")
		s.condition("ContainersReady", metav1.ConditionFalse, "PodCompleted")
		s.condition("Ready", metav1.ConditionFalse, "PodCompleted")
	} else {
		s.status["phase"] = "Running"
		s.conditions("", "Initialized", "ContainersReady", "Ready")
	}
	var statuses []any
	containers, _, _ := unstructured.NestedSlice(s.object.Object, "spec", "containers")
	for _, c := range containers {
		container, _ := c.(map[string]any)
		statuses = append(statuses, map[string]any{
			"name": container["name"], "image": container["image"], "imageID": "", "ready": !completes,
			"started": !completes, "restartCount": int64(0), "state": state,
		})
	}
	s.status["containerStatuses"] = statuses
}

// podAddress returns an address that depends on the Pod's uid alone.
func podAddress(pod *unstructured.Unstructured) string {
	uid := pod.GetUID()
	if len(uid) < 2 {
		return "10.244.0.1"
	}
	return fmt.Sprintf("10.244.%d.%d", uid[len(uid)-2], uid[len(uid)-1])
}

func (s *subject) address() {
	s.status["loadBalancer"] = map[string]any{"ingress": []any{map[string]any{"ip": "192.0.2.1"}}}
}

func readyClaim(s *subject) {
	s.status["phase"] = "Bound"
	if modes, ok, _ := unstructured.NestedSlice(s.object.Object, "spec", "accessModes"); ok {
		s.status["accessModes"] = modes
	}
	if requests, ok, _ := unstructured.NestedMap(s.object.Object, "spec", "resources", "requests"); ok {
		s.status["capacity"] = requests
	}
}

package kstatus

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/projection"
)

type (
	object = map[string]any
	list   = []any
)

func cond(kind, state string) object {
	return object{"type": kind, "status": state, "message": kind + " says " + state}
}

// observing is a condition that is True and has its own generation.
func observing(kind string, generation int64) object {
	c := cond(kind, "True")
	c["observedGeneration"] = generation
	return c
}

// unstarted is the status of a Pod with a waiting container.
func unstarted(reason, message string) object {
	waiting := object{"reason": reason, "message": message}
	return object{"phase": "Pending", "containerStatuses": list{object{"name": "web", "image": "ngnix:1", "state": object{"waiting": waiting}}}}
}

func TestReadiness(t *testing.T) {
	three := object{"replicas": int64(3)}
	done := object{"replicas": int64(3), "updatedReplicas": int64(3), "readyReplicas": int64(3), "availableReplicas": int64(3), "fullyLabeledReplicas": int64(3)}
	with := func(m object, pairs ...any) object {
		out := object{}
		maps.Copy(out, m)
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1]
		}
		return out
	}
	daemons := object{"observedGeneration": int64(2), "desiredNumberScheduled": int64(2), "currentNumberScheduled": int64(2),
		"updatedNumberScheduled": int64(2), "numberAvailable": int64(2), "numberReady": int64(2)}
	for _, tc := range []struct {
		name, group, kind string
		spec, status      object
		want              Readiness
		reason            string
	}{
		{"nothing to wait for", "", "ConfigMap", nil, nil, Ready, ""},
		{"a custom resource without status", "example.com", "X", nil, nil, Ready, ""},
		{"seen by its controller", "example.com", "X", nil, object{"observedGeneration": int64(2)}, Ready, ""},
		{"not seen yet", "example.com", "X", nil, object{"observedGeneration": int64(1)}, Progressing, "its controller has not observed the last change yet"},
		{"stalled", "example.com", "X", nil, object{"conditions": list{cond("Stalled", "True")}}, Stalled, "Stalled says True"},
		{"reconciling", "example.com", "X", nil, object{"conditions": list{cond("Reconciling", "True"), cond("Ready", "True")}}, Progressing, "Reconciling says True"},
		{"ready", "example.com", "X", nil, object{"conditions": list{cond("Ready", "True"), cond("Available", "False")}}, Ready, ""},
		{"not ready", "example.com", "X", nil, object{"conditions": list{cond("Ready", "False")}}, Progressing, "Ready says False"},
		{"unknown", "example.com", "X", nil, object{"conditions": list{cond("Available", "Unknown")}}, Progressing, "Available says Unknown"},

		{"a new deployment", "apps", "Deployment", nil, nil, Progressing, "0 of 1 updated"},
		{"none wanted", "apps", "Deployment", object{"replicas": int64(0)}, nil, Ready, ""},
		{"some available", "apps", "Deployment", three, with(done, "availableReplicas", int64(1)), Progressing, "1 of 3 available"},
		{"old ones", "apps", "Deployment", three, with(done, "replicas", int64(4)), Progressing, "1 old replicas still exist"},
		{"all available", "apps", "Deployment", three, done, Ready, ""},
		{"not available", "apps", "Deployment", three, with(done, "conditions", list{cond("Available", "False")}), Progressing, "Available says False"},
		{"deadline", "apps", "Deployment", three, object{"conditions": list{object{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}}},
			Stalled, "it made no progress within its deadline; look at its Pods"},
		{"another group's deployment", "example.com", "Deployment", three, nil, Ready, ""},

		{"replica set", "apps", "ReplicaSet", three, done, Ready, ""},
		{"replica set labelling", "apps", "ReplicaSet", three, with(done, "fullyLabeledReplicas", int64(2)), Progressing, "2 of 3 labelled"},
		{"replica set failing", "apps", "ReplicaSet", three, object{"conditions": list{cond("ReplicaFailure", "True")}}, Progressing, "ReplicaFailure says True"},
		{"replica set shrinking", "apps", "ReplicaSet", three, with(done, "replicas", int64(5)), Progressing, "2 surplus replicas still exist"},

		{"stateful set", "apps", "StatefulSet", three, with(done, "currentRevision", "a", "updateRevision", "a"), Ready, ""},
		{"stateful set updating", "apps", "StatefulSet", three, with(done, "updatedReplicas", int64(1), "currentRevision", "a", "updateRevision", "b"), Progressing, "1 of 3 updated"},
		{"stateful set starting", "apps", "StatefulSet", three, object{"replicas": int64(2)}, Progressing, "2 of 3 created"},
		{"stateful set not ready", "apps", "StatefulSet", three, with(done, "readyReplicas", int64(2)), Progressing, "2 of 3 ready"},
		{"stateful set in part", "apps", "StatefulSet", with(three, "updateStrategy", object{"rollingUpdate": object{"partition": int64(2)}}),
			with(done, "updatedReplicas", int64(1), "currentRevision", "a", "updateRevision", "b"), Ready, ""},
		{"stateful set by hand", "apps", "StatefulSet", with(three, "updateStrategy", object{"type": "OnDelete"}), nil, Ready, ""},

		{"daemon set", "apps", "DaemonSet", nil, daemons, Ready, ""},
		{"a new daemon set", "apps", "DaemonSet", nil, nil, Progressing, "its controller has not observed it yet"},
		{"daemon set starting", "apps", "DaemonSet", nil, with(daemons, "numberAvailable", int64(1)), Progressing, "1 of 2 available"},

		{"a new job", "batch", "Job", nil, nil, Progressing, "not started"},
		{"a job at work", "batch", "Job", object{"completions": int64(5)}, object{"startTime": "2024", "succeeded": int64(2)}, Progressing, "2 of 5 complete"},
		{"a job done", "batch", "Job", nil, object{"conditions": list{cond("Complete", "True")}}, Ready, ""},
		{"a job failed", "batch", "Job", nil, object{"conditions": list{cond("Failed", "True")}}, Stalled, "Failed says True"},
		{"a job suspended", "batch", "Job", nil, object{"conditions": list{cond("Suspended", "True")}}, Progressing, "Suspended says True"},

		{"a new pod", "", "Pod", nil, nil, Progressing, "not running yet"},
		{"a pod whose containers are made", "", "Pod", nil, unstarted("ContainerCreating", ""), Progressing, "not running yet"},
		{"a pod without its image", "", "Pod", nil, unstarted("ErrImagePull", "rpc error: code = NotFound"), Progressing,
			`container "web": image ngnix:1 cannot be pulled; correct its name or the pull secret`},
		{"a pod still without its image", "", "Pod", nil, unstarted("ImagePullBackOff", "Back-off pulling image"), Progressing,
			`container "web": image ngnix:1 cannot be pulled; correct its name or the pull secret`},
		{"a pod without its secret", "", "Pod", nil, unstarted("CreateContainerConfigError", `secret "db" not found`), Progressing,
			`container "web": CreateContainerConfigError: secret "db" not found`},
		{"a pod without a node", "", "Pod", nil, object{"phase": "Pending", "conditions": list{cond("PodScheduled", "False")}}, Progressing, "PodScheduled says False"},
		{"a pod that runs", "", "Pod", nil, object{"phase": "Running", "conditions": list{cond("Ready", "False")}}, Progressing, "Ready says False"},
		{"a pod that is ready", "", "Pod", nil, object{"phase": "Running", "conditions": list{cond("Ready", "True")}}, Ready, ""},
		{"a pod that crashes", "", "Pod", nil, object{"phase": "Running", "containerStatuses": list{object{"state": object{"waiting": object{"reason": "CrashLoopBackOff"}}}}},
			Stalled, "a container keeps crashing"},
		{"a pod that is done", "", "Pod", nil, object{"phase": "Succeeded"}, Ready, ""},
		{"a pod that failed", "", "Pod", nil, object{"phase": "Failed"}, Stalled, "it failed"},

		{"service", "", "Service", object{"type": "ClusterIP"}, nil, Ready, ""},
		{"load balancer", "", "Service", object{"type": "LoadBalancer"}, nil, Progressing, "no address yet"},
		{"claim", "", "PersistentVolumeClaim", nil, object{"phase": "Pending"}, Progressing, "not bound yet"},
		{"claim bound", "", "PersistentVolumeClaim", nil, object{"phase": "Bound"}, Ready, ""},
		{"budget", "policy", "PodDisruptionBudget", nil, object{"desiredHealthy": int64(2), "currentHealthy": int64(1)}, Progressing, "1 of 2 healthy"},
		{"budget met", "policy", "PodDisruptionBudget", nil, object{"desiredHealthy": int64(2), "currentHealthy": int64(2)}, Ready, ""},
		{"budget over no Pods", "policy", "PodDisruptionBudget", nil, object{"desiredHealthy": int64(1), "currentHealthy": int64(0), "expectedPods": int64(0)}, Ready, ""},
		{"a condition of before the change", "cert-manager.io", "Certificate", nil, object{"conditions": list{observing("Ready", 1)}}, Progressing, "its controller has not observed the last change yet"},
		{"a failure of before the change", "cert-manager.io", "Certificate", nil, object{"conditions": list{observing("Stalled", 1)}}, Progressing, "its controller has not observed the last change yet"},
		{"one of two conditions is of the last change", "cert-manager.io", "Certificate", nil, object{"conditions": list{observing("Available", 1), observing("Ready", 2)}}, Ready, ""},
		{"a condition of the last change", "cert-manager.io", "Certificate", nil, object{"conditions": list{observing("Ready", 2)}}, Ready, ""},
		{"an old condition of a controller that has observed the change", "cert-manager.io", "Certificate", nil, object{"observedGeneration": int64(2), "conditions": list{observing("Ready", 1)}}, Ready, ""},
		{"definition", "apiextensions.k8s.io", "CustomResourceDefinition", nil, object{"conditions": list{cond("Established", "True")}}, Ready, ""},
		{"definition refused", "apiextensions.k8s.io", "CustomResourceDefinition", nil, object{"conditions": list{cond("NamesAccepted", "False")}}, Stalled, "NamesAccepted says False"},
		{"a new definition", "apiextensions.k8s.io", "CustomResourceDefinition", nil, nil, Progressing, "condition Established is not there yet"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := object{"metadata": object{"generation": int64(2)}}
			if tc.spec != nil {
				o["spec"] = tc.spec
			}
			if tc.status != nil {
				o["status"] = tc.status
			}
			got, reason := Judge(schema.GroupKind{Group: tc.group, Kind: tc.kind}, o)
			if got != tc.want || reason != tc.reason {
				t.Errorf("got %v %q, want %v %q", got, reason, tc.want, tc.reason)
			}
			var reads projection.Builder
			KeepInputs(schema.GroupKind{Group: tc.group, Kind: tc.kind}, &reads)
			got, reason = Judge(schema.GroupKind{Group: tc.group, Kind: tc.kind}, reads.Projection().OfMap(o))
			if got != tc.want || reason != tc.reason {
				t.Errorf("from its inputs: got %v %q, want %v %q", got, reason, tc.want, tc.reason)
			}
		})
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/sample-controller/pkg/apis/samplecontroller/v1alpha1"
)

// request is what Metacontroller sends when a Foo or its Deployment has changed: the fields that
// are read.
type request struct {
	Parent   foo `json:"parent"`
	Children struct {
		Deployments map[string]deployment `json:"Deployment.apps/v1"` // by name
	} `json:"children"`
}

type foo struct {
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec v1alpha1.FooSpec `json:"spec"`
}

type deployment struct {
	Status struct {
		AvailableReplicas int32 `json:"availableReplicas"`
	} `json:"status"`
}

// response is what Metacontroller makes so.
type response struct {
	Status   v1alpha1.FooStatus                          `json:"status"`
	Children []*applyappsv1.DeploymentApplyConfiguration `json:"children"`
}

func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sync", func(w http.ResponseWriter, r *http.Request) {
		answer, err := serve(r.Body)
		if err != nil {
			slog.Warn("request failed", "error", err)
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer) // It fails if Metacontroller has gone, which then asks again.
	})
	return mux
}

// serve reads a request and returns the answer.
func serve(body io.Reader) ([]byte, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("parse the request: %w", err)
	}
	return json.Marshal(sync(r))
}

// sync decides what a Foo wants and reports.
func sync(r request) response {
	name := r.Parent.Spec.DeploymentName
	if name == "" {
		slog.Warn("spec.deploymentName must be set", "foo", r.Parent.Metadata.Name)
		return response{}
	}
	return response{
		Status:   v1alpha1.FooStatus{AvailableReplicas: r.Children.Deployments[name].Status.AvailableReplicas},
		Children: []*applyappsv1.DeploymentApplyConfiguration{newDeployment(r.Parent)},
	}
}

// newDeployment returns the Deployment of examples/foo/rules.yaml. Metacontroller adds the owner.
func newDeployment(f foo) *applyappsv1.DeploymentApplyConfiguration {
	labels := map[string]string{"app": "nginx", "controller": f.Metadata.Name}
	spec := applyappsv1.DeploymentSpec().
		WithSelector(applymetav1.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(applycorev1.PodTemplateSpec().
			WithLabels(labels).
			WithSpec(applycorev1.PodSpec().WithContainers(
				applycorev1.Container().WithName("nginx").WithImage("nginx:latest"))))
	spec.Replicas = f.Spec.Replicas
	return applyappsv1.Deployment(f.Spec.DeploymentName, f.Metadata.Namespace).WithLabels(labels).WithSpec(spec)
}

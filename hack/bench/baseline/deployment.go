package main

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/sample-controller/pkg/apis/samplecontroller/v1alpha1"
)

var fooKind = schema.GroupVersionKind{Group: v1alpha1.GroupName, Version: v1alpha1.GroupVersion.Version, Kind: "Foo"}

// newDeployment returns the Deployment of examples/foo/rules.yaml.
func newDeployment(foo *v1alpha1.Foo) *appsv1.Deployment {
	labels := map[string]string{"app": "nginx", "controller": foo.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: foo.Spec.DeploymentName, Namespace: foo.Namespace, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(foo, fooKind)},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: foo.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx:latest"}}},
			},
		},
	}
}

// matches reports whether a live Deployment has all that the desired one sets.
func matches(live, desired *appsv1.Deployment) bool {
	return equality.Semantic.DeepDerivative(desired.Labels, live.Labels) &&
		equality.Semantic.DeepDerivative(desired.Spec, live.Spec)
}

// corrected returns the live Deployment with the desired labels and spec. It keeps the
// resourceVersion, so that the server rejects the update of a state that is outdated.
func corrected(live, desired *appsv1.Deployment) *appsv1.Deployment {
	result := live.DeepCopy()
	if result.Labels == nil {
		result.Labels = map[string]string{}
	}
	maps.Copy(result.Labels, desired.Labels)
	result.Spec = desired.Spec
	return result
}

package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/apps/v1"
)

// A deploy makes a Deployment as desired, and returns it. live is nil if it does not exist.
type deploy func(ctx context.Context, client typed.DeploymentInterface, live,
	desired *appsv1.Deployment) (*appsv1.Deployment, error)

// put creates or updates the Deployment.
func put(ctx context.Context, client typed.DeploymentInterface,
	live, desired *appsv1.Deployment) (*appsv1.Deployment, error) {
	if live == nil {
		return client.Create(ctx, desired, metav1.CreateOptions{FieldManager: manager})
	}
	return client.Update(ctx, corrected(live, desired), metav1.UpdateOptions{FieldManager: manager})
}

// apply applies the Deployment.
func apply(ctx context.Context, client typed.DeploymentInterface,
	_, desired *appsv1.Deployment) (*appsv1.Deployment, error) {
	return client.Apply(ctx, configurationOf(desired), metav1.ApplyOptions{FieldManager: manager, Force: true})
}

// configurationOf returns the fields that newDeployment sets.
func configurationOf(d *appsv1.Deployment) *applyappsv1.DeploymentApplyConfiguration {
	owner, container := d.OwnerReferences[0], d.Spec.Template.Spec.Containers[0]
	spec := applyappsv1.DeploymentSpec().
		WithSelector(applymetav1.LabelSelector().WithMatchLabels(d.Spec.Selector.MatchLabels)).
		WithTemplate(applycorev1.PodTemplateSpec().
			WithLabels(d.Spec.Template.Labels).
			WithSpec(applycorev1.PodSpec().WithContainers(
				applycorev1.Container().WithName(container.Name).WithImage(container.Image))))
	spec.Replicas = d.Spec.Replicas
	return applyappsv1.Deployment(d.Name, d.Namespace).
		WithLabels(d.Labels).
		WithOwnerReferences(applymetav1.OwnerReference().
			WithAPIVersion(owner.APIVersion).WithKind(owner.Kind).WithName(owner.Name).WithUID(owner.UID).
			WithController(*owner.Controller).WithBlockOwnerDeletion(*owner.BlockOwnerDeletion)).
		WithSpec(spec)
}

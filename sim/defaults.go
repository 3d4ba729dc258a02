package sim

import (
	"math"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// setDefaults sets defaults of built-in kinds as the API server does, for the fields that
// rules are likely to read: an expression must not wait for a field that a cluster sets.
func setDefaults(typed runtime.Object) {
	switch o := typed.(type) {
	case *appsv1.Deployment:
		defaultDeployment(&o.Spec)
		defaultPod(&o.Spec.Template.Spec)
	case *appsv1.ReplicaSet:
		preset(&o.Spec.Replicas, 1)
		defaultPod(&o.Spec.Template.Spec)
	case *appsv1.StatefulSet:
		defaultStatefulSet(&o.Spec)
		defaultPod(&o.Spec.Template.Spec)
	case *appsv1.DaemonSet:
		defaultDaemonSet(&o.Spec)
		defaultPod(&o.Spec.Template.Spec)
	case *batchv1.Job:
		defaultJob(&o.Spec)
		defaultPod(&o.Spec.Template.Spec)
	case *batchv1.CronJob: // The template is no Job yet, and is not defaulted.
		presetText(&o.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
		preset(&o.Spec.Suspend, false)
		preset(&o.Spec.SuccessfulJobsHistoryLimit, 3)
		preset(&o.Spec.FailedJobsHistoryLimit, 1)
		defaultPod(&o.Spec.JobTemplate.Spec.Template.Spec)
	case *corev1.Pod:
		defaultPod(&o.Spec)
	case *corev1.Service:
		defaultService(&o.Spec)
	case *corev1.Secret:
		presetText(&o.Type, corev1.SecretTypeOpaque)
	case *corev1.PersistentVolumeClaim:
		preset(&o.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
		presetText(&o.Status.Phase, corev1.ClaimPending)
	case *storagev1.StorageClass:
		preset(&o.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
		preset(&o.VolumeBindingMode, storagev1.VolumeBindingImmediate)
	case *schedulingv1.PriorityClass:
		preset(&o.PreemptionPolicy, corev1.PreemptLowerPriority)
	case *apiextensionsv1.CustomResourceDefinition:
		apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(o)
	case *autoscalingv1.HorizontalPodAutoscaler:
		preset(&o.Spec.MinReplicas, 1)
	case *autoscalingv2.HorizontalPodAutoscaler:
		preset(&o.Spec.MinReplicas, 1)
	}
}

// preset sets a field that is absent.
func preset[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// presetText sets a text that is empty.
func presetText[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}

func defaultDeployment(s *appsv1.DeploymentSpec) {
	preset(&s.Replicas, 1)
	preset(&s.RevisionHistoryLimit, 10)
	preset(&s.ProgressDeadlineSeconds, 600)
	presetText(&s.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if s.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		preset(&s.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
		preset(&s.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		preset(&s.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
}

func defaultStatefulSet(s *appsv1.StatefulSetSpec) {
	preset(&s.Replicas, 1)
	preset(&s.RevisionHistoryLimit, 10)
	presetText(&s.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	if s.UpdateStrategy.Type == "" {
		s.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		preset(&s.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateStatefulSetStrategy{})
	}
	if s.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType && s.UpdateStrategy.RollingUpdate != nil {
		preset(&s.UpdateStrategy.RollingUpdate.Partition, 0)
		preset(&s.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	}
	preset(&s.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	presetText(&s.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	presetText(&s.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	for i := range s.VolumeClaimTemplates {
		claim := &s.VolumeClaimTemplates[i]
		claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
		setDefaults(claim)
	}
}

func defaultDaemonSet(s *appsv1.DaemonSetSpec) {
	preset(&s.RevisionHistoryLimit, 10)
	presetText(&s.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if s.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		preset(&s.UpdateStrategy.RollingUpdate, appsv1.RollingUpdateDaemonSet{})
		preset(&s.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		preset(&s.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
}

func defaultJob(s *batchv1.JobSpec) {
	if s.Parallelism == nil {
		preset(&s.Completions, 1) // With parallelism, absent means any number.
	}
	preset(&s.Parallelism, 1)
	if s.BackoffLimitPerIndex != nil {
		preset(&s.BackoffLimit, math.MaxInt32)
	}
	preset(&s.BackoffLimit, 6)
	preset(&s.CompletionMode, batchv1.NonIndexedCompletion)
	preset(&s.Suspend, false)
	preset(&s.ManualSelector, false)
	if s.PodFailurePolicy != nil {
		preset(&s.PodReplacementPolicy, batchv1.Failed)
	}
	preset(&s.PodReplacementPolicy, batchv1.TerminatingOrFailed)
}

// defaultPod sets defaults of a Pod or a Pod template.
func defaultPod(s *corev1.PodSpec) {
	presetText(&s.RestartPolicy, corev1.RestartPolicyAlways)
	presetText(&s.DNSPolicy, corev1.DNSClusterFirst)
	presetText(&s.SchedulerName, corev1.DefaultSchedulerName)
	preset(&s.SecurityContext, corev1.PodSecurityContext{})
	preset(&s.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	for _, containers := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range containers {
			defaultContainer(&containers[i])
		}
	}
	for _, v := range s.Volumes {
		if v.DownwardAPI != nil {
			defaultFieldRefs(v.DownwardAPI.Items)
		}
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if source.DownwardAPI != nil {
				defaultFieldRefs(source.DownwardAPI.Items)
			}
		}
	}
}

func defaultContainer(c *corev1.Container) {
	presetText(&c.ImagePullPolicy, pullPolicy(c.Image))
	presetText(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	presetText(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		presetText(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for _, env := range c.Env {
		if env.ValueFrom != nil {
			defaultFieldRef(env.ValueFrom.FieldRef)
		}
	}
}

// pullPolicy returns when an image is pulled: each time, if its tag may move.
func pullPolicy(image string) corev1.PullPolicy {
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(name, ":")
	if !strings.Contains(name, "@") && (tag == "" || tag == "latest") {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func defaultFieldRefs(files []corev1.DownwardAPIVolumeFile) {
	for _, f := range files {
		defaultFieldRef(f.FieldRef)
	}
}

func defaultFieldRef(f *corev1.ObjectFieldSelector) {
	if f != nil {
		presetText(&f.APIVersion, "v1")
	}
}

// defaultService leaves out the defaults that depend on node ports. The API server removes
// them when the type changes.
func defaultService(s *corev1.ServiceSpec) {
	presetText(&s.Type, corev1.ServiceTypeClusterIP)
	presetText(&s.SessionAffinity, corev1.ServiceAffinityNone)
	if s.Type != corev1.ServiceTypeExternalName {
		preset(&s.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	for i := range s.Ports {
		p := &s.Ports[i]
		presetText(&p.Protocol, corev1.ProtocolTCP)
		if p.TargetPort == intstr.FromInt32(0) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
}

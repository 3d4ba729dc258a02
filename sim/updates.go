package sim

import (
	"fmt"
	"math"
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// validateUpdate has the validation of updates that depends on the state of an object, or on several fields: the
// functions of pkg/apis of Kubernetes, such as ValidatePodUpdate.
var validateUpdate = map[runtimeschema.GroupKind]func(u, old *unstructured.Unstructured) field.ErrorList{
	podKind:     inTypes(changedPod),
	claimKind:   inTypes(changedClaim),
	volumeKind:  inTypes(changedVolume),
	jobKind:     inTypes(changedJob),
	serviceKind: inTypes(changedService),
}

// inTypes validates canonical objects in Go's type.
func inTypes[T any](check func(now, was *T) field.ErrorList) func(u, old *unstructured.Unstructured) field.ErrorList {
	return func(u, old *unstructured.Unstructured) field.ErrorList { return check(typed[T](u), typed[T](old)) }
}

// typed returns a canonical object in Go's type, without managedFields.
func typed[T any](u *unstructured.Unstructured) *T {
	out := new(T)
	// It was converted from this type.
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(withoutManagedFields(u).Object, out)
	return out
}

// untyped is the reverse of typed.
func untyped(object any) map[string]any {
	out, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(object) // Go's types have no cycles.
	return out
}

// unchanged rejects another value of a field.
func unchanged(now, was any, at *field.Path) field.ErrorList {
	if equality.Semantic.DeepEqual(now, was) {
		return nil
	}
	return field.ErrorList{field.Invalid(at, now, cannotChange)}
}

// updatable are the fields of a Pod that an update may change, as the API server lists them.
const updatable = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," +
	"`spec.tolerations` (only additions to existing tolerations)," +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

func changedPod(pod, old *corev1.Pod) (errs field.ErrorList) {
	spec, now, was := field.NewPath("spec"), pod.Spec.DeepCopy(), &old.Spec
	for _, list := range []struct {
		name     string
		now, was []corev1.Container
	}{{"containers", now.Containers, was.Containers}, {"initContainers", now.InitContainers, was.InitContainers}} {
		if len(list.now) != len(list.was) {
			return append(errs, field.Forbidden(spec.Child(list.name), "pod updates may not add or remove containers"))
		}
		for i := range list.now {
			list.now[i].Image = list.was[i].Image
		}
	}
	late, stop := changedDeadline(now, was, spec.Child("activeDeadlineSeconds"))
	if errs = append(errs, late...); stop {
		return errs
	}
	errs = append(errs, changedTolerations(now.Tolerations, was.Tolerations, spec.Child("tolerations"))...)
	errs = append(errs, addedGates(now.SchedulingGates, was.SchedulingGates, spec.Child("schedulingGates"))...)
	now.ActiveDeadlineSeconds, now.SchedulingGates, now.Tolerations = was.ActiveDeadlineSeconds, was.SchedulingGates,
		was.Tolerations
	if ptr.Deref(was.TerminationGracePeriodSeconds, 0) < 0 && ptr.Deref(now.TerminationGracePeriodSeconds, 0) == 1 {
		now.TerminationGracePeriodSeconds = was.TerminationGracePeriodSeconds
	}
	if len(was.SchedulingGates) > 0 {
		errs = append(errs, changedNodes(now, was, spec)...)
	}
	if !equality.Semantic.DeepEqual(now, was) {
		errs = append(errs, field.Forbidden(spec, fmt.Sprintf("pod updates may not change fields other than %s\n%v",
			updatable, diff.Diff(was, now))))
	}
	return errs
}

// changedDeadline lets a deadline only be set or become shorter. The second result is whether the API server
// validates nothing else.
func changedDeadline(now, was *corev1.PodSpec, at *field.Path) (errs field.ErrorList, stop bool) {
	switch seconds, before := now.ActiveDeadlineSeconds, was.ActiveDeadlineSeconds; {
	case seconds == nil && before != nil:
		return append(errs, field.Invalid(at, seconds, "must not update from a positive integer to nil value")), false
	case seconds == nil:
		return nil, false
	case *seconds < 0 || *seconds > math.MaxInt32:
		return append(errs, field.Invalid(at, *seconds, validation.InclusiveRangeError(0, math.MaxInt32))), true
	case before != nil && *before < *seconds:
		return append(errs, field.Invalid(at, *seconds, "must be less than or equal to previous value")), true
	}
	return nil, false
}

// changedTolerations lets tolerations only be added, or their time change.
func changedTolerations(now, was []corev1.Toleration, at *field.Path) field.ErrorList {
	for _, old := range was {
		found := false
		for _, t := range now {
			t.TolerationSeconds = old.TolerationSeconds
			found = found || reflect.DeepEqual(t, old)
		}
		if !found {
			return field.ErrorList{field.Forbidden(at, "existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return nil
}

// addedGates lets scheduling gates only be deleted.
func addedGates(now, was []corev1.PodSchedulingGate, at *field.Path) (errs field.ErrorList) {
	known := map[string]bool{}
	for _, gate := range was {
		known[gate.Name] = true
	}
	for i, gate := range now {
		if !known[gate.Name] {
			errs = append(errs, field.Forbidden(at.Index(i).Child("name"),
				fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name)))
		}
	}
	return errs
}

// changedNodes lets the nodes of a Pod with scheduling gates only become fewer. It restores the fields.
func changedNodes(now, was *corev1.PodSpec, spec *field.Path) (errs field.ErrorList) {
	for key, value := range was.NodeSelector {
		if v, ok := now.NodeSelector[key]; !ok || v != value {
			errs = append(errs, field.Invalid(spec.Child("nodeSelector"), now.NodeSelector,
				"only additions to spec.nodeSelector are allowed (no mutations or deletions)"))
			break
		}
	}
	now.NodeSelector = was.NodeSelector
	required := spec.Child("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
		"nodeSelectorTerms")
	terms, before := nodeTerms(now), nodeTerms(was)
	if len(before) > 0 && len(terms) != len(before) {
		errs = append(errs, field.Invalid(required, terms,
			"no additions/deletions to non-empty NodeSelectorTerms list are allowed"))
	} else {
		for i, old := range before {
			if !onlyAdds(terms[i], old) {
				errs = append(errs, field.Invalid(required.Index(i), terms[i],
					"only additions are allowed (no mutations or deletions)"))
			}
		}
	}
	restoreNodeAffinity(now, was)
	return errs
}

func nodeAffinity(s *corev1.PodSpec) *corev1.NodeAffinity {
	if s.Affinity == nil {
		return nil
	}
	return s.Affinity.NodeAffinity
}

// nodeTerms returns the required terms of the node affinity. A node must match at least one of them.
func nodeTerms(s *corev1.PodSpec) []corev1.NodeSelectorTerm {
	if a := nodeAffinity(s); a != nil && a.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		return a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	return nil
}

// onlyAdds reports whether a term has the requirements of an old one first. An old term without any matches nothing.
func onlyAdds(now, was corev1.NodeSelectorTerm) bool {
	if len(was.MatchExpressions)+len(was.MatchFields) == 0 {
		return len(now.MatchExpressions)+len(now.MatchFields) == 0
	}
	return beginsWith(now.MatchExpressions, was.MatchExpressions) && beginsWith(now.MatchFields, was.MatchFields)
}

func beginsWith(now, was []corev1.NodeSelectorRequirement) bool {
	return len(now) >= len(was) && equality.Semantic.DeepEqual(now[:len(was):len(was)], was[:len(was):len(was)])
}

// restoreNodeAffinity sets the node affinity of a Pod to the old one. If there was no affinity, an empty one is
// removed.
func restoreNodeAffinity(now, was *corev1.PodSpec) {
	before := nodeAffinity(was)
	switch {
	case equality.Semantic.DeepEqual(nodeAffinity(now), before):
	case now.Affinity == nil:
		now.Affinity = &corev1.Affinity{NodeAffinity: before}
	case was.Affinity == nil && now.Affinity.PodAffinity == nil && now.Affinity.PodAntiAffinity == nil:
		now.Affinity = nil
	default:
		now.Affinity.NodeAffinity = before
	}
}

func changedClaim(claim, old *corev1.PersistentVolumeClaim) (errs field.ErrorList) {
	spec, now, was := field.NewPath("spec"), claim.Spec.DeepCopy(), old.Spec.DeepCopy()
	if was.VolumeName == "" {
		was.VolumeName = now.VolumeName
	}
	if was.StorageClassName == nil && now.StorageClassName != nil {
		if class, named := old.Annotations[corev1.BetaStorageClassAnnotation]; !named || *now.StorageClassName == class {
			now.StorageClassName = nil
		}
	}
	if claim.Status.Phase == corev1.ClaimBound {
		if now.Resources.Requests != nil {
			now.Resources.Requests[corev1.ResourceStorage] = was.Resources.Requests[corev1.ResourceStorage]
		}
		now.VolumeAttributesClassName = was.VolumeAttributesClassName
	}
	if !equality.Semantic.DeepEqual(now, was) {
		errs = append(errs, field.Forbidden(spec, fmt.Sprintf("spec is immutable after creation except resources.requests "+
			"and volumeAttributesClassName for bound claims\n%v", diff.Diff(was, now))))
	}
	size, before, capacity := claim.Spec.Resources.Requests[corev1.ResourceStorage],
		old.Spec.Resources.Requests[corev1.ResourceStorage], old.Status.Capacity[corev1.ResourceStorage]
	if size.Cmp(before) < 0 && size.Cmp(capacity) <= 0 {
		errs = append(errs, field.Forbidden(spec.Child("resources", "requests", "storage"),
			"field can not be less than status.capacity"))
	}
	errs = append(errs, unchanged(claim.Spec.VolumeMode, old.Spec.VolumeMode, field.NewPath("volumeMode"))...)
	class := claim.Spec.VolumeAttributesClassName
	if ptr.Equal(class, old.Spec.VolumeAttributesClassName) || old.Status.CurrentVolumeAttributesClassName == nil {
		return errs
	}
	if ptr.Deref(class, "") == "" {
		what := "nil"
		if class != nil {
			what = "empty string"
		}
		errs = append(errs, field.Forbidden(spec.Child("volumeAttributesClassName"),
			"update to "+what+" is forbidden when status.currentVolumeAttributesClassName is not nil"))
	}
	return errs
}

func changedVolume(volume, old *corev1.PersistentVolume) (errs field.ErrorList) {
	now, was := volume.Spec.PersistentVolumeSource.DeepCopy(), &old.Spec.PersistentVolumeSource
	if was.CSI != nil && was.CSI.ControllerExpandSecretRef == nil && now.CSI != nil {
		now.CSI.ControllerExpandSecretRef = nil // It may be set later.
	}
	if !equality.Semantic.DeepEqual(now, was) {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "persistentvolumesource"),
			fmt.Sprintf("spec.persistentvolumesource is immutable after creation\n%v", diff.Diff(was, now))))
	}
	return append(errs, unchanged(volume.Spec.VolumeMode, old.Spec.VolumeMode, field.NewPath("volumeMode"))...)
}

func changedJob(job, old *batchv1.Job) field.ErrorList {
	spec := field.NewPath("spec")
	return append(changedCompletions(&job.Spec, &old.Spec, spec), changedTemplate(job, old, spec)...)
}

// changedCompletions lets the completions of an Indexed Job change with its parallelism.
func changedCompletions(now, was *batchv1.JobSpec, spec *field.Path) field.ErrorList {
	at := spec.Child("completions")
	switch {
	case ptr.Deref(now.CompletionMode, "") != batchv1.IndexedCompletion:
		return unchanged(now.Completions, was.Completions, at)
	case ptr.Equal(now.Completions, was.Completions), now.Completions == nil, ptr.Equal(now.Completions, now.Parallelism):
		return nil
	}
	return field.ErrorList{field.Invalid(at, now.Completions,
		fmt.Sprintf("can only be modified in tandem with %s", at.Root().Child("parallelism")))}
}

// changedTemplate lets the resources of a Job's containers, and what decides about its nodes, change while the Job is
// suspended and has no Pods.
func changedTemplate(job, old *batchv1.Job, spec *field.Path) field.ErrorList {
	now, was := &job.Spec.Template, old.Spec.Template.DeepCopy()
	if !waits(old) {
		return unchanged(now, was, spec.Child("template"))
	}
	switch a, before := now.Spec.Affinity, was.Spec.Affinity; {
	case a == nil && before != nil:
		before.NodeAffinity = nil
		if *before == (corev1.Affinity{}) {
			was.Spec.Affinity = nil
		}
	case a != nil && before == nil:
		was.Spec.Affinity = &corev1.Affinity{NodeAffinity: a.NodeAffinity}
	case a != nil:
		before.NodeAffinity = a.NodeAffinity
	}
	was.Spec.NodeSelector, was.Spec.Tolerations = now.Spec.NodeSelector, now.Spec.Tolerations
	was.Spec.SchedulingGates = now.Spec.SchedulingGates
	for _, list := range [][2][]corev1.Container{{now.Spec.Containers, was.Spec.Containers},
		{now.Spec.InitContainers, was.Spec.InitContainers}} {
		for i := 0; len(list[0]) == len(list[1]) && i < len(list[0]); i++ {
			if list[0][i].Name == list[1][i].Name {
				list[1][i].Resources = list[0][i].Resources
			}
		}
	}
	return unchanged(&now.Spec, &was.Spec, spec.Child("template.spec"))
}

// waits reports whether a Job is suspended, and has no Pods.
func waits(job *batchv1.Job) bool {
	stopped := job.Status.StartTime == nil
	for _, c := range job.Status.Conditions {
		stopped = stopped || c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionTrue
	}
	return ptr.Deref(job.Spec.Suspend, false) && stopped && job.Status.Active == 0
}

// tooLong rejects the names of new objects from which others are made, such as those of Pods.
func tooLong(gk runtimeschema.GroupKind, u *unstructured.Unstructured) (errs field.ErrorList) {
	name, at := u.GetName(), field.NewPath("metadata", "name")
	switch gk {
	case cronJobKind:
		if len(name) > validation.DNS1035LabelMaxLength-11 {
			errs = append(errs, field.Invalid(at, name, "must be no more than 52 characters"))
		}
	case jobKind:
		job := typed[batchv1.Job](u)
		if !ptr.Deref(job.Spec.ManualSelector, false) {
			for _, label := range []string{"job-name", batchv1.JobNameLabel} {
				if _, given := job.Spec.Template.Labels[label]; given {
					continue
				}
				for _, why := range validation.IsValidLabelValue(name) {
					errs = append(errs, field.Invalid(field.NewPath("spec", "template", "labels"), name, why))
				}
			}
		}
		if completions := ptr.Deref(job.Spec.Completions, 0); completions > 0 &&
			ptr.Deref(job.Spec.CompletionMode, "") == batchv1.IndexedCompletion {
			last := fmt.Sprintf("%s-%d", name, completions-1)
			if len(validation.IsDNS1123Label(last)) > 0 {
				errs = append(errs, field.Invalid(at, name, "will not able to create pod with invalid DNS label: "+last))
			}
		}
	}
	return errs
}

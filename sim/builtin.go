package sim

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"reconcel/rules/schema"
)

// canonical returns an object as the API server stores it. Built-in kinds are converted to
// Go's types and back, which makes quantities and base64 canonical, prunes unknown fields
// and sets defaults. managedFields are kept as they are.
func (c *Cluster) canonical(k *schema.Kind, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	managed, hasManaged := managedFields(u)
	out := withGVK(u, k.GVK)
	if typed, err := scheme.Scheme.New(k.GVK); err == nil && !k.Custom {
		if out, err = throughTypes(out, typed); err != nil {
			return nil, err
		}
	} else {
		metadata, err := canonicalMetadata(out)
		if err != nil {
			return nil, err
		}
		out = out.DeepCopy()
		out.Object["metadata"] = metadata
	}
	out.SetGroupVersionKind(k.GVK)
	if metadata, ok := out.Object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
		if hasManaged {
			metadata["managedFields"] = managed
		}
	}
	return out, nil
}

// decoded returns the object in the body of a request. The body of an apply is not
// decoded like this: its nulls stay.
func (c *Cluster) decoded(k *schema.Kind, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	u, err := c.canonical(k, u)
	if err == nil && k.Custom {
		structure := c.kinds.custom(k).Structure
		structure.Prune(u.Object)
		structure.Default(u.Object)
	}
	return u, err
}

func managedFields(u *unstructured.Unstructured) (any, bool) {
	metadata, _ := u.Object["metadata"].(map[string]any)
	managed, ok := metadata["managedFields"]
	return managed, ok
}

func throughTypes(u *unstructured.Unstructured, typed runtime.Object) (*unstructured.Unstructured, error) {
	bare := withoutManagedFields(u)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(bare.Object, typed); err != nil {
		return nil, err
	}
	if secret, ok := typed.(*corev1.Secret); ok {
		mergeStringData(secret)
	}
	setDefaults(typed)
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	for name, value := range object {
		if list, ok := value.([]any); ok && len(list) == 0 {
			object[name] = nil // The storage does not keep empty lists.
		}
	}
	return &unstructured.Unstructured{Object: object}, nil
}

func mergeStringData(s *corev1.Secret) {
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = map[string][]byte{}
	}
	for key, text := range s.StringData {
		s.Data[key] = []byte(text)
	}
	s.StringData = nil
}

// withoutManagedFields returns a shallow copy without managedFields.
func withoutManagedFields(u *unstructured.Unstructured) *unstructured.Unstructured {
	metadata, ok := u.Object["metadata"].(map[string]any)
	if !ok || metadata["managedFields"] == nil {
		return u
	}
	out := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	metadata = maps.Clone(metadata)
	delete(metadata, "managedFields")
	out.Object["metadata"] = metadata
	return out
}

// canonicalMetadata returns the metadata of an object whose kind has no Go type.
func canonicalMetadata(u *unstructured.Unstructured) (map[string]any, error) {
	metadata, _ := withoutManagedFields(u).Object["metadata"].(map[string]any)
	var typed metav1.ObjectMeta
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(metadata, &typed); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
}

func kindName(group, kind string) runtimeschema.GroupKind {
	return runtimeschema.GroupKind{Group: group, Kind: kind}
}

// These are the kinds with behaviour of their own.
var (
	namespaceKind  = kindName("", "Namespace")
	serviceKind    = kindName("", "Service")
	podKind        = kindName("", "Pod")
	claimKind      = kindName("", "PersistentVolumeClaim")
	volumeKind     = kindName("", "PersistentVolume")
	deploymentKind = kindName("apps", "Deployment")
	jobKind        = kindName("batch", "Job")
)

// generations are the built-in kinds whose objects have a generation, by group. The schemas
// do not tell: metadata.generation is part of every kind, and Go code sets it.
var generations = map[string][]string{
	"":     {"Pod", "PodTemplate", "ReplicationController"},
	"apps": {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"}, "batch": {"Job", "CronJob"},
	"networking.k8s.io": {"Ingress", "IngressClass", "NetworkPolicy"}, "discovery.k8s.io": {"EndpointSlice"},
	"policy": {"PodDisruptionBudget"}, "scheduling.k8s.io": {"PriorityClass"}, "apiextensions.k8s.io": {"CustomResourceDefinition"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"admissionregistration.k8s.io": {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"},
}

// orphaners are the kinds whose dependents are orphaned by default, for compatibility
// with clients from before garbage collection. The schemas do not tell.
var orphaners = map[runtimeschema.GroupVersionKind]bool{
	{Group: "batch", Version: "v1", Kind: "Job"}:   true,
	{Version: "v1", Kind: "ReplicationController"}: true,
}

// initialise sets the fields of a new built-in object.
func (c *Cluster) initialise(k *schema.Kind, u *unstructured.Unstructured) {
	switch k.GVK.GroupKind() {
	case serviceKind:
		c.allocateAddress(u)
	case podKind, claimKind, volumeKind:
		u.Object["status"] = map[string]any{"phase": "Pending"}
	case namespaceKind:
		u.Object["status"] = map[string]any{"phase": "Active"}
		_ = unstructured.SetNestedStringSlice(u.Object, []string{"kubernetes"}, "spec", "finalizers") // The object is canonical, so that spec is a map.
		labels := u.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["kubernetes.io/metadata.name"] = u.GetName()
		u.SetLabels(labels)
	}
}

func (c *Cluster) allocateAddress(u *unstructured.Unstructured) {
	spec, ok := u.Object["spec"].(map[string]any)
	if !ok || spec["type"] == "ExternalName" {
		return
	}
	ip, _ := spec["clusterIP"].(string)
	if ip == "" {
		c.addresses++
		ip = fmt.Sprintf("10.96.%d.%d", c.addresses/250, c.addresses%250+1)
		spec["clusterIP"] = ip
	}
	if spec["clusterIPs"] == nil {
		spec["clusterIPs"] = []any{ip}
	}
}

// keepAddress keeps the cluster IP of a Service that an update does not mention.
func keepAddress(u, old *unstructured.Unstructured) {
	spec, _ := u.Object["spec"].(map[string]any)
	before, _ := old.Object["spec"].(map[string]any)
	if spec == nil || before == nil || spec["type"] == "ExternalName" {
		return
	}
	for _, name := range []string{"clusterIP", "clusterIPs"} {
		if spec[name] == nil || spec[name] == "" {
			if was, ok := before[name]; ok {
				spec[name] = was
			}
		}
	}
}

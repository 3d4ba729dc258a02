package sim

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/schema"
)

// eventFields are the fields of Events that a field selector can name.
const eventFields = "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid " +
	"involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent " +
	"source type"

// selectableFields are the fields of built-in kinds that a field selector can name, besides name and namespace. The
// schemas do not tell: Go code of the API server has them.
var selectableFields = map[runtimeschema.GroupKind]string{
	podKind: "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork " +
		"status.phase status.podIP status.nominatedNodeName",
	kindName("", "Event"):                 eventFields,
	kindName("", "Secret"):                "type",
	namespaceKind:                         "status.phase",
	kindName("", "Node"):                  "spec.unschedulable",
	kindName("", "ReplicationController"): "status.replicas",
	kindName("apps", "ReplicaSet"):        "status.replicas",
	jobKind:                               "status.successful",
	serviceKind:                           "spec.clusterIP spec.type",
	kindName("certificates.k8s.io", "CertificateSigningRequest"): "spec.signerName",
}

// Selects returns which objects of a kind the selectors of a list or watch select.
func Selects(k *schema.Kind, options metav1.ListOptions) (func(*unstructured.Unstructured) bool, error) {
	byLabel, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	byField, err := fields.ParseSelector(options.FieldSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	known := map[string][]string{"metadata.name": {"metadata", "name"}, "metadata.namespace": {"metadata", "namespace"}}
	more, has := selectableFields[k.GVK.GroupKind()]
	for field := range strings.FieldsSeq(more) {
		known[field] = strings.Split(field, ".")
	}
	var named []string
	for _, r := range byField.Requirements() {
		switch {
		case known[r.Field] != nil:
			named = append(named, r.Field)
		case has, k.Custom:
			return nil, apierrors.NewBadRequest("field label not supported: " + r.Field)
		default:
			return nil, apierrors.NewBadRequest(fmt.Sprintf(
				"%q is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", r.Field))
		}
	}
	return func(u *unstructured.Unstructured) bool {
		values := fields.Set{}
		for _, field := range named {
			values[field] = selectable(u, known[field])
		}
		return byLabel.Matches(labels.Set(u.GetLabels())) && byField.Matches(values)
	}, nil
}

// selectable returns the text of a field, as a field selector names it.
func selectable(u *unstructured.Unstructured, path []string) string {
	switch strings.Join(path, ".") {
	case "source": // of an Event
		component, _, _ := unstructured.NestedString(u.Object, "source", "component")
		if component == "" {
			component, _, _ = unstructured.NestedString(u.Object, "reportingComponent")
		}
		return component
	case "status.successful": // of a Job
		path = []string{"status", "succeeded"}
	case "spec.hostNetwork", "spec.unschedulable":
		on, _, _ := unstructured.NestedBool(u.Object, path...)
		return fmt.Sprint(on)
	}
	value, found, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
	switch {
	case found:
		return fmt.Sprint(value)
	case path[0] == "status" && (path[1] == "replicas" || path[1] == "succeeded"):
		return "0"
	}
	return ""
}

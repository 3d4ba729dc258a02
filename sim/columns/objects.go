package columns

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Events have other names for some fields in the group events.k8s.io.
var (
	lastSeen = cell{"When it was last seen.", func(r *row) any {
		return r.since(cmp.Or(
			r.time("series.lastObservedTime"), r.time("lastTimestamp", "deprecatedLastTimestamp"), firstTime(r)))
	}}
	firstSeen   = cell{"When it was first seen.", func(r *row) any { return r.since(firstTime(r)) }}
	eventObject = cell{"The object that it is about.", func(r *row) any {
		kind := strings.ToLower(r.text("involvedObject.kind", "regarding.kind"))
		if name := r.text("involvedObject.name", "regarding.name"); name != "" {
			return kind + "/" + name
		}
		return kind
	}}
	eventField = cell{"The part of the object.", func(r *row) any {
		return r.text("involvedObject.fieldPath", "regarding.fieldPath")
	}}
	eventSource = cell{"The component that reports it.", func(r *row) any {
		component := r.text("source.component", "deprecatedSource.component", "reportingComponent", "reportingController")
		if host := r.text("source.host", "deprecatedSource.host", "reportingInstance"); host != "" {
			return component + ", " + host
		}
		return component
	}}
	eventMessage = cell{"What has happened.", func(r *row) any { return strings.TrimSpace(r.text("message", "note")) }}
	eventCount   = cell{"How often.", func(r *row) any {
		return cmp.Or(r.number("series.count", "count", "deprecatedCount"), 1)
	}}
)

func firstTime(r *row) time.Time {
	return cmp.Or(r.time("firstTimestamp", "deprecatedFirstTimestamp"), r.time("eventTime"))
}

var (
	volumePhase = cell{"The phase, or that it is being deleted.", func(r *row) any {
		if r.GetDeletionTimestamp() != nil {
			return "Terminating"
		}
		return r.text("status.phase")
	}}
	storageClass = cell{"The StorageClass.", func(r *row) any {
		if class, ok := r.GetAnnotations()[corev1.BetaStorageClassAnnotation]; ok {
			return class
		}
		return r.text("spec.storageClassName")
	}}
	storageClassName = cell{"The name, and in a list whether it is the default.", func(r *row) any {
		if r.GetName() == defaultClass(r.list) {
			return r.GetName() + " (default)"
		}
		return r.GetName()
	}}
)

// ifBound returns cells that are empty for a claim without a volume.
func ifBound(c cell) cell {
	return cell{c.meaning, func(r *row) any {
		if r.text("spec.volumeName") == "" {
			return ""
		}
		return c.value(r)
	}}
}

func accessModes(path string) cell {
	return made(path, "", func(r *row, _ any) any {
		var short []string
		for _, mode := range [][2]string{{"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"},
			{"ReadWriteOncePod", "RWOP"}} {
			if slices.Contains(r.texts(path), mode[0]) {
				short = append(short, mode[1])
			}
		}
		return strings.Join(short, ",")
	})
}

// defaultClass returns the StorageClass that counts if several are marked as default: the newest one.
func defaultClass(classes []*unstructured.Unstructured) string {
	var marked []*unstructured.Unstructured
	for _, class := range classes {
		notes := class.GetAnnotations()
		if notes["storageclass.kubernetes.io/is-default-class"] == "true" ||
			notes["storageclass.beta.kubernetes.io/is-default-class"] == "true" {
			marked = append(marked, class)
		}
	}
	if len(marked) == 0 {
		return ""
	}
	return slices.MinFunc(marked, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(b.GetCreationTimestamp().Compare(a.GetCreationTimestamp().Time), cmp.Compare(a.GetName(), b.GetName()))
	}).GetName()
}

// subjects returns cells with the subjects of a role binding that are of one kind.
func subjects(kind string) cell {
	return cell{"The subjects of kind " + kind + ".", func(r *row) any {
		var names []string
		for _, subject := range r.maps("subjects") {
			switch {
			case subject["kind"] != kind:
			case kind == "ServiceAccount":
				names = append(names, fmt.Sprintf("%v/%v", subject["namespace"], subject["name"]))
			default:
				names = append(names, fmt.Sprint(subject["name"]))
			}
		}
		return strings.Join(names, ", ")
	}}
}

var (
	requestCondition = cell{"The conditions.", func(r *row) any {
		conditions := r.texts("status.conditions.type")
		state := "Pending"
		switch {
		case slices.Contains(conditions, "Denied"):
			state = "Denied"
		case slices.Contains(conditions, "Approved"):
			state = "Approved"
		}
		if slices.Contains(conditions, "Failed") {
			state += ",Failed"
		}
		if r.text("status.certificate") != "" {
			state += ",Issued"
		}
		return state
	}}
	requestedDuration = made("spec.expirationSeconds", none, func(r *row, _ any) any {
		return duration.HumanDuration(time.Duration(r.number("spec.expirationSeconds")) * time.Second)
	})
	servedVersions = cell{"The versions that are served.", func(r *row) any {
		var versions []string
		for _, version := range r.maps("spec.versions") {
			text := fmt.Sprint(version["name"])
			if version["storage"] == true {
				text += "(storage)"
			}
			if version["served"] == true {
				versions = append(versions, text)
			}
		}
		slices.Sort(versions)
		return strings.Join(versions, ",")
	}}
	established = cell{"Whether it is served.", func(r *row) any { return r.condition("Established") == "True" }}
	paramRef    = made("spec.paramRef", unset, func(r *row, _ any) any {
		if name := r.text("spec.paramRef.name"); name != "" {
			return cmp.Or(r.text("spec.paramRef.namespace"), "*") + "/" + name
		}
		if selector := part[metav1.LabelSelector](r.value("spec.paramRef.selector")); selector != nil {
			return selector.String()
		}
		return unset
	})
	dangling = cell{"Whether the priority level is missing.", func(r *row) any {
		return cmp.Or(r.condition("Dangling"), "?")
	}}
	apiAvailable = cell{"Whether the API is available.", func(r *row) any {
		for _, c := range r.maps("status.conditions") {
			if reason, _ := c["reason"].(string); c["type"] == "Available" && c["status"] != "True" && reason != "" {
				return fmt.Sprintf("%v (%s)", c["status"], reason)
			}
		}
		return cmp.Or(r.condition("Available"), "Unknown")
	}}
	migratedResource = made("spec.resource", "", func(r *row, _ any) any {
		gr := metav1.GroupResource{Group: r.text("spec.resource.group"), Resource: r.text("spec.resource.resource")}
		return gr.String()
	})
)

// lastCondition returns cells with the last of some conditions that is true.
func lastCondition(other string, kinds ...string) cell {
	return cell{"The last condition that is true.", func(r *row) any {
		last := other
		for _, c := range r.maps("status.conditions") {
			if kind, _ := c["type"].(string); c["status"] == "True" && slices.Contains(kinds, kind) {
				last = kind
			}
		}
		return last
	}}
}

package server_test

import (
	"slices"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestEventsAreSelectedByTheirFields selects one of two Events through both of their API groups.
func TestEventsAreSelectedByTheirFields(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(serve(t, 0).config())
	for _, kind := range []string{"Foo", "Bar"} {
		event := &eventsv1.Event{EventTime: metav1.NowMicro(), ReportingController: "example.com/" + kind, ReportingInstance: "one",
			Type: "Normal", Reason: "Made", Action: "Make"}
		event.Name, event.Namespace = strings.ToLower(kind), "default"
		event.Regarding.Kind, event.Regarding.Name, event.Regarding.Namespace = kind, "a", "default"
		if _, err := client.EventsV1().Events("default").Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, selector := range []string{"regarding.kind=Foo", "regarding.kind!=Bar,reason=Made", "reportingController=example.com/Foo",
		"metadata.name=foo"} {
		list, err := client.EventsV1().Events("").List(t.Context(), metav1.ListOptions{FieldSelector: selector})
		if err != nil {
			t.Fatalf("%s: %v", selector, err)
		}
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		if !slices.Equal(names, []string{"foo"}) {
			t.Errorf("%s selects %v", selector, names)
		}
	}
	_, err := client.EventsV1().Events("").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=Foo"})
	if err == nil || !strings.Contains(err.Error(), "field label not supported: involvedObject.kind") {
		t.Errorf("a field of the other group: %v", err)
	}
	list, err := client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=Foo"})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("the core has %v, %v", list, err)
	}
}

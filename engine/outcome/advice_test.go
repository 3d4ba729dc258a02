package outcome

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

// TestNoAdviceLosesData asks for the advice about a rejected change of each kind that may hold data.
func TestNoAdviceLosesData(t *testing.T) {
	for _, gk := range []schema.GroupKind{
		{Kind: "PersistentVolumeClaim"}, {Kind: "PersistentVolume"}, {Kind: "Namespace"}, {Group: "apps", Kind: "StatefulSet"},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, {Group: "example.com", Kind: "Database"},
		{Group: "storage.k8s.io", Kind: "VolumeAttachment"}, {Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot"},
	} {
		d := &rules.Desired{Child: &rules.Child{}, Identity: rules.Identity{GVK: gk.WithVersion("v1")}}
		if advice := Remedy(d); strings.Contains(advice, "replace") || strings.Contains(advice, "delete") {
			t.Errorf("%s: %s", gk, advice)
		}
	}
	d := &rules.Desired{Child: &rules.Child{}, Identity: rules.Identity{GVK: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}}}
	if advice := Remedy(d); !strings.Contains(advice, "onChange: replace") {
		t.Error(advice)
	}
}

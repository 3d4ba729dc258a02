package inventory

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestInventoryIsRead(t *testing.T) {
	got, err := Stored{Data: map[string]string{
		"web":  `{"for":"Website.web.acme.io","children":["apps/v1/Deployment"],"finalizer":true,"former":["Site.web.acme.io"]}`,
		"old":  `{"for":"A.g","children":[],"former":["B.g"],"earlier":[{"for":"B.g","children":["v1/Pod"],"delete":true}]}`,
		"pods": `{"for":"Pod","children":[]}`,
		"torn": `{"for":`,
	}}.Entries()
	want := map[Key]Entry{
		{"pods", "Pod"}:                {For: "Pod", Children: []string{}},
		{"web", "Website.web.acme.io"}: {For: "Website.web.acme.io", Children: []string{"apps/v1/Deployment"}, Finalizer: true},
		{"web", "Site.web.acme.io"}:    {For: "Site.web.acme.io", Moved: true, Children: []string{}, Finalizer: true},
		{"old", "A.g"}:                 {For: "A.g", Children: []string{}},
		{"old", "B.g"}:                 {For: "B.g", Moved: true, Children: []string{"v1/Pod"}, Delete: true, Finalizer: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err == nil || !strings.Contains(err.Error(), `entry "torn" is damaged`) {
		t.Errorf("the damaged entry: %v", err)
	}
}

func TestKindsOfAnEntry(t *testing.T) {
	entry := Entry{For: "Site.web.acme.io", Children: []string{"apps/v1/Deployment"}}
	site, deployment := schema.GroupKind{Group: "web.acme.io", Kind: "Site"}, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	if got := entry.Primary(); got != site {
		t.Errorf("the primaries are of kind %s", got)
	}
	if diff := cmp.Diff([]schema.GroupVersionKind{deployment}, entry.Kinds()); diff != "" {
		t.Error(diff)
	}
}

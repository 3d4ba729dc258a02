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
		"pods": `{"for":"Pod","children":[]}`,
		"torn": `{"for":`,
	}}.Entries()
	want := map[string]Entry{
		"pods": {For: "Pod", Children: []string{}},
		"web":  {For: "Website.web.acme.io", Children: []string{"apps/v1/Deployment"}, Finalizer: true, Former: []string{"Site.web.acme.io"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err == nil || !strings.Contains(err.Error(), `entry "torn" is damaged`) {
		t.Errorf("the damaged entry: %v", err)
	}
}

func TestKindsOfAnEntry(t *testing.T) {
	entry := Entry{Children: []string{"apps/v1/Deployment"}, Former: []string{"Site.web.acme.io"}}
	site, deployment := schema.GroupKind{Group: "web.acme.io", Kind: "Site"}, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	if diff := cmp.Diff([]schema.GroupKind{site}, entry.FormerPrimaries()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]schema.GroupVersionKind{deployment}, entry.Kinds()); diff != "" {
		t.Error(diff)
	}
}

package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestInventoryIsRead(t *testing.T) {
	got, err := ReadInventory(map[string]string{
		"web":  `{"for":"Website.web.acme.io","children":["apps/v1/Deployment"],"finalizer":true,"former":["Site.web.acme.io"]}`,
		"pods": `{"for":"Pod","children":[]}`,
		"torn": `{"for":`,
	})
	want := []InventoriedRule{
		{Name: "pods", For: schema.GroupKind{Kind: "Pod"}},
		{Name: "web", For: schema.GroupKind{Group: "web.acme.io", Kind: "Website"}, Former: []schema.GroupKind{{Group: "web.acme.io", Kind: "Site"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err == nil || !strings.Contains(err.Error(), `entry "torn" is damaged`) {
		t.Errorf("the damaged entry: %v", err)
	}
}

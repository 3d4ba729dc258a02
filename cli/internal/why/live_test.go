package why

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/diff"
	"reconcel/cli/internal/rendered"
	"reconcel/engine"
	"reconcel/rules"
)

// TestADifferingObjectIsNotReady has a Service whose ports another writer has changed, and whose repair the API server
// rejects: its own status says that it is ready.
func TestADifferingObjectIsNotReady(t *testing.T) {
	d := &rules.Desired{Identity: rules.Identity{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Service"}, Namespace: "shop", Name: "web"}}
	service := diff.ObjectWithID(d.Identity)
	other := service
	other.Name = "other"
	for name, test := range map[string]struct {
		change diff.Change
		found  rendered.Finding
		want   rendered.Finding
	}{
		"drift":            {diff.Change{Object: service, Action: engine.Configured}, rendered.Finding{State: rendered.Ready}, rendered.Finding{State: rendered.Waiting, Message: "it differs from its rendering"}},
		"a rejection":      {diff.Change{Object: service, Action: engine.Rejected, Reason: "port is taken"}, rendered.Finding{State: rendered.Ready}, rendered.Finding{State: rendered.Waiting, Message: "port is taken"}},
		"another object":   {diff.Change{Object: other, Action: engine.Configured}, rendered.Finding{State: rendered.Ready}, rendered.Finding{State: rendered.Ready}},
		"no change":        {diff.Change{Object: service, Action: engine.Unchanged}, rendered.Finding{State: rendered.Ready}, rendered.Finding{State: rendered.Ready}},
		"not ready anyway": {diff.Change{Object: service, Action: engine.Configured}, rendered.Finding{State: rendered.Missing, Message: "not created yet"}, rendered.Finding{State: rendered.Missing, Message: "not created yet"}},
	} {
		if got := (&Live{Changes: []diff.Change{test.change}}).compared(d, test.found); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

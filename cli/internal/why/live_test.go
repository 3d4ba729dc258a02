package why

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/rendered"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// TestADifferingObjectIsNotReady has a Service whose ports another writer has changed, and whose repair the API server
// rejects: its own status says that it is ready.
func TestADifferingObjectIsNotReady(t *testing.T) {
	d := &rules.Desired{Identity: rules.Identity{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Service"}, Namespace: "shop", Name: "web"}}
	service := change.ObjectWithID(d.Identity)
	other := service
	other.Name = "other"
	for name, test := range map[string]struct {
		change change.Change
		found  rendered.Finding
		want   rendered.Finding
	}{
		"drift":                       {change.Change{Object: service, Action: outcome.Configured}, rendered.Finding{State: rendered.Ready}, rendered.Finding{State: rendered.Progressing, Message: "it differs from its rendering"}},
		"a rejection":                 {change.Change{Object: service, Action: outcome.Rejected, Reason: "port is taken"}, rendered.Finding{State: rendered.Ready}, rendered.Finding{State: rendered.Progressing, Message: "port is taken"}},
		"another object":              {change.Change{Object: other, Action: outcome.Configured}, rendered.Finding{State: rendered.Ready}, rendered.Finding{State: rendered.Ready}},
		"no change":                   {change.Change{Object: service, Action: outcome.Unchanged}, rendered.Finding{State: rendered.Ready}, rendered.Finding{State: rendered.Ready}},
		"a creation that is rejected": {change.Change{Object: service, Action: outcome.Rejected, Reason: "the name is taken"}, rendered.Finding{State: rendered.Missing, Message: "not created yet"}, rendered.Finding{State: rendered.Failed, Message: "the name is taken"}},
		"not ready anyway":            {change.Change{Object: service, Action: outcome.Configured}, rendered.Finding{State: rendered.Missing, Message: "not created yet"}, rendered.Finding{State: rendered.Missing, Message: "not created yet"}},
	} {
		if got := (&Live{Changes: []change.Change{test.change}}).compared(d, test.found); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

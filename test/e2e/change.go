package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/test/devcluster"
)

// Change is a change to one object, predicted by diff or made by run.
type Change struct {
	Action    string // created, configured, replaced, deleted
	Resource  string // plural
	Namespace string
	Name      string
}

// Foretold returns the changes in the output of diff -o json, sorted, and the objects
// that wait for others. It leaves out the status, which run writes as the children become
// ready, and changes that run cannot make.
func Foretold(t *testing.T, output []byte) (all, skipped []Change) {
	t.Helper()
	var changes []struct {
		Action, Part string
		Object       struct{ APIVersion, Kind, Namespace, Name string }
	}
	if err := json.Unmarshal(output, &changes); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for _, c := range changes {
		resource, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(c.Object.APIVersion, c.Object.Kind))
		change := Change{c.Action, resource.Resource, c.Object.Namespace, c.Object.Name}
		switch {
		case c.Part == "status", c.Action == "rejected", c.Action == "failed":
		case c.Action == "skipped":
			skipped = append(skipped, change)
		case c.Action == "adopted", c.Action == "unchanged":
			change.Action = "configured" // Both send the same requests.
			all = append(all, change)
		default:
			all = append(all, change)
		}
	}
	return sortedChanges(all), skipped
}

// Done returns the changes that requests from the audit log made, sorted. It leaves out
// the same changes as Foretold, and failed requests.
func Done(requests []devcluster.Request) (all []Change) {
	actions := map[Change]string{}
	for _, r := range requests {
		object := Change{Resource: r.Resource, Namespace: r.Namespace, Name: r.Name}
		if r.Resource == "namespaces" {
			object.Namespace = ""
		}
		before := actions[object]
		switch {
		case !r.IsWrite() || r.Code >= 300 || r.Subresource != "" || strings.Contains(r.URI, "dryRun"),
			r.Resource == "leases", r.Resource == "events", strings.HasSuffix(r.Name, "-inventory"),
			strings.HasSuffix(r.Name, "-revisions"):
		case r.Verb == "delete":
			actions[object] = "deleted"
		case r.Code == 201 && (before == "deleted" || before == "replaced"): // kwok may delete the next Pod of a name, too.
			actions[object] = "replaced"
		case r.Code == 201:
			actions[object] = "created"
		case before == "":
			actions[object] = "configured"
		}
	}
	for object, action := range actions {
		object.Action = action
		all = append(all, object)
	}
	return sortedChanges(all)
}

func sortedChanges(all []Change) []Change {
	slices.SortFunc(all, func(a, b Change) int {
		return strings.Compare(a.Resource+"/"+a.Namespace+"/"+a.Name+" "+a.Action,
			b.Resource+"/"+b.Namespace+"/"+b.Name+" "+b.Action)
	})
	return slices.Compact(all)
}

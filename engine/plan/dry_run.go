package plan

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"reconcel/engine/ident"
	"reconcel/engine/outcome"
)

// A DryRun makes an engine that writes nothing: it reconciles, and logs and counts what it would write. It
// takes no Lease, sends no Events, and does not write the inventory.
type DryRun interface {
	prometheus.Collector
	// Client returns a client whose writes have no effect: it answers each as the API server would.
	Client(live dynamic.Interface) dynamic.Interface
	// Begin returns the context of one reconciliation, and a function that returns those of its
	// writes so far that would change something, each part of an object once.
	Begin(ctx context.Context) (context.Context, func() []UnsentWrite)
	// Replace replaces the writes that are wanted for a primary, or for a removed rule, and returns
	// those that are new or differ from before.
	Replace(of ident.Request, now []UnsentWrite) (news []UnsentWrite)
}

// An UnsentWrite is a write that a dry run does not send.
type UnsentWrite struct {
	Part
	Kind   string
	Action outcome.Action    // Created, Configured or Deleted
	Digest [sha256.Size]byte // equal for two writes that mean the same
}

// A Part is what one field manager writes of an object.
type Part struct {
	Resource        schema.GroupResource
	Namespace, Name string
	Subresource     string
	Manager         string
}

// Object names the changed part of an object, such as Deployment/team/web or Foo/team/foo/status.
func (w UnsentWrite) Object() string {
	return strings.TrimSuffix(fmt.Sprintf("%s/%s/%s", w.Kind, strings.TrimPrefix(w.Namespace+"/"+w.Name, "/"),
		w.Subresource), "/")
}

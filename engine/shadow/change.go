package shadow

import (
	"crypto/sha256"
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

// An Action is what a write does to an object.
type Action string

// The actions.
const (
	Created    Action = "created"
	Configured Action = "configured"
	Deleted    Action = "deleted"
)

// A Part is what one field manager writes of an object.
type Part struct {
	Resource        schema.GroupResource
	Namespace, Name string
	Subresource     string
	Manager         string
}

// A Change is a write that a shadow wants and does not send.
type Change struct {
	Part
	Kind   string
	Action Action
	// Digest is equal for two writes that mean the same, see DigestOf.
	Digest [sha256.Size]byte
}

// A Sighting is a write of the other controller, as a watch shows it.
type Sighting struct {
	Part
	Kind   string
	Action Action
	// Unsure: another writer may have made it. It counts if the shadow then wants nothing else.
	Unsure bool
	// Primaries are those for which it was written; the first one counts.
	Primaries []rules.Owner
}

// patience is how long a shadow must want a change so that it counts even if nobody made it. The
// shadow and the other controller need not reconcile at the same times: what only one of two
// changes in a second wants is no difference.
const patience = 5 * time.Second

// DigestOf returns the digest of the body of a write. It leaves out what differs between two
// writes that mean the same: the state that the write is for, times of conditions, and the
// values of Secrets, which may be generated. The hash of the rendering stands for those.
func DigestOf(body []byte, isSecret bool) [sha256.Size]byte {
	var object map[string]any
	if json.Unmarshal(body, &object) != nil {
		return sha256.Sum256(body)
	}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		delete(metadata, "uid")
		delete(metadata, "resourceVersion")
	}
	WithoutTimes(object)
	if isSecret {
		delete(object, "data")
		delete(object, "stringData")
	}
	canonical, err := json.Marshal(object)
	if err != nil {
		return sha256.Sum256(body)
	}
	return sha256.Sum256(canonical)
}

// WithoutTimes removes the times of conditions from an object.
func WithoutTimes(object map[string]any) {
	status, _ := object["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			delete(condition, "lastTransitionTime")
		}
	}
}

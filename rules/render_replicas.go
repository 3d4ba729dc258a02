package rules

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/kstatus"
)

// Replicas are interchangeable: only the number of active objects matters. A name
// is derived from the primary's UID, the child's id and the lowest free number. So
// a request that repeats an earlier one uses the same name and creates no
// additional object. Such requests follow a stale cache, a lost response or a
// second writer.

var pod = schema.GroupKind{Kind: "Pod"}

// expandReplicas decides which objects a child has: active ones up to the desired
// number, and new ones for the rest.
func (r *expansion) expandReplicas(c *ChildResult) {
	prefix, ns, ok := r.namePrefix(c)
	if !ok {
		ns = r.primary.home
	}
	active, taken := r.sortReplicas(c, ns)
	want, res := r.evaluator.wholeNumber(c.Child.replicas, 0, c.Child)
	if r.settling.settleAll(c, "replicas", res); c.State == Excluded {
		return
	}
	if c.State != Rendered {
		want = len(active) // While the number is not known, expressions can read the existing objects.
	} else if !r.hasRoom(c, want, "replicas", c.Child.replicas.Pos()) {
		want = len(active)
	}
	if len(active) > want {
		slices.SortStableFunc(active, byWorth)
		active = active[:want]
		slices.SortFunc(active, byName)
	}
	for _, live := range active {
		d := r.add(c)
		r.setIdentity(d, Identity{GVK: c.Child.GVK, Namespace: ns, Name: live.name})
		d.Live = live.Live
	}
	if !ok {
		return
	}
	for ordinal := 0; len(c.Objects) < want; ordinal++ {
		name := prefix + r.nameSuffix(c.Child.ID, ordinal)
		if taken[name] {
			continue
		}
		taken[name] = true
		d := r.add(c)
		r.setIdentity(d, Identity{GVK: c.Child.GVK, Namespace: ns, Name: name})
		if d.State == Failed {
			c.State, c.Err = Failed, d.Err // The remaining objects would fail with the same error.
			return
		}
		if r.in.Observed != nil {
			d.Live = r.in.Observed(d.Identity) // It may exist already under this name.
		}
	}
}

// namePrefix computes the prefix of generated names, and the namespace of the objects.
func (r *expansion) namePrefix(c *ChildResult) (prefix, namespace string, ok bool) {
	scratch := Desired{Child: c.Child}
	r.current = &scratch
	defer func() { r.current = nil }()
	prefix, res := r.texts.text(c.Child.name)
	if !res.ok() {
		r.settling.settleAll(c, c.Child.name.where, res)
		return "", "", false
	}
	namespace, ok = r.namespaceOf(&scratch)
	if !ok {
		if scratch.State != Rendered {
			c.State, c.Err, c.Waits = scratch.State, scratch.Err, scratch.Waits
		}
		return "", "", false
	}
	return prefix, namespace, true
}

// A replica is a live object of a child with replicas.
type replica struct {
	Live
	name    string
	created string // RFC 3339, which sorts by time
	ready   bool
}

// sortReplicas returns the active objects of a child by name, and the names of all
// live ones. It ignores objects in another namespace: reconcel did not create them,
// whatever their labels are.
func (r *expansion) sortReplicas(c *ChildResult, namespace string) (active []replica, taken map[string]bool) {
	taken = map[string]bool{}
	owned, _ := r.liveObjects.owned(c.Child)
	for _, live := range owned {
		id := identityOf(live.Object)
		if id.namespace != namespace {
			continue
		}
		taken[id.name] = true
		if live.Deleted || id.deleted {
			continue
		}
		if c.Child.GVK.GroupKind() == pod && podFinished(live.Object) {
			c.Finished = append(c.Finished, live)
			continue
		}
		readiness, _ := kstatus.Judge(c.Child.GVK.GroupKind(), live.Object)
		active = append(active, replica{Live: live, name: id.name,
			created: creationTime(live.Object), ready: readiness == kstatus.Ready})
	}
	slices.SortFunc(active, byName)
	slices.SortFunc(c.Finished, func(a, b Live) int {
		return cmp.Or(strings.Compare(creationTime(b.Object), creationTime(a.Object)),
			strings.Compare(identityOf(a.Object).name, identityOf(b.Object).name))
	})
	return active, taken
}

func byName(a, b replica) int { return strings.Compare(a.name, b.name) }

// byWorth sorts the objects to keep first: ready ones, then the oldest.
func byWorth(a, b replica) int {
	if a.ready != b.ready {
		if a.ready {
			return -1
		}
		return 1
	}
	return cmp.Or(strings.Compare(a.created, b.created), byName(a, b))
}

func creationTime(object map[string]any) string {
	s, _ := mapAt(object, "metadata")["creationTimestamp"].(string)
	return s
}

// podFinished reports whether a Pod has ended and will not run again.
func podFinished(object map[string]any) bool {
	phase := mapAt(object, "status")["phase"]
	return phase == "Succeeded" || phase == "Failed"
}

// nameSuffix returns the end of a generated name.
func (r *expansion) nameSuffix(id string, ordinal int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", r.primary.uid, id, ordinal))
	const length = 8
	out := make([]byte, length)
	for i := range out {
		out[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(out)
}

// alphabet is the alphabet of Kubernetes' generated names. It cannot spell words.
const alphabet = "bcdfghjklmnpqrstvwxz2456789"

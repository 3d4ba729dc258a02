package watch

import "hash/maphash"

// owners are the controllers that were read last. The children of a primary often follow each
// other, and share their controller.
type owners [256]*controller

var ownerSeed = maphash.MakeSeed()

// shared returns a controller that must not be changed.
func (os *owners) shared(owner controller) *controller {
	slot := &os[maphash.String(ownerSeed, string(owner.UID))%uint64(len(os))]
	if *slot == nil || **slot != owner {
		*slot = &owner
	}
	return *slot
}

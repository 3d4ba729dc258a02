package watch

import (
	"hash/maphash"

	"reconcel/rules"
)

// owners are the controllers that were read last. The children of a primary often follow each
// other, and share their controller.
type owners [256]*rules.Owner

var ownerSeed = maphash.MakeSeed()

// shared returns an owner that must not be changed.
func (os *owners) shared(owner rules.Owner) *rules.Owner {
	slot := &os[maphash.String(ownerSeed, string(owner.UID))%uint64(len(os))]
	if *slot == nil || **slot != owner {
		*slot = &owner
	}
	return *slot
}

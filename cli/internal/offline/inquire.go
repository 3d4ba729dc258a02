package offline

import (
	"errors"

	"reconcel/cli/internal/files"
	"reconcel/rules"
)

// ErrNotPrepared says that a resource cannot be rendered. The reason is printed.
var ErrNotPrepared = errors.New("the resource cannot be rendered")

// Input renders a resource until nothing changes, and returns what its expressions read
// then.
func (r *Renderer) Input(self *files.Object) (rules.Input, error) {
	one := &resource{report: report{about: self.String()}, self: self}
	r.prepare(one)
	r.tell(one.report)
	if one.primary == nil {
		return rules.Input{}, ErrNotPrepared
	}
	last := r.settle([]*resource{one})[0]
	return rules.Input{Self: one.self.Object, Now: r.time, Observed: last.live, Owned: last.owned, Lookup: last.lookup}, nil
}

package inventory

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Rejected are rules files that are not active, because they are invalid.
type Rejected struct {
	Hash string `json:"hash"` // identifies the files
	// Active: the files are active all the same, because only the schemas of the cluster make them invalid.
	Active bool      `json:"active,omitempty"`
	Since  time.Time `json:"since"`
	Errors []string  `json:"errors"` // the first ones
	More   int       `json:"more,omitempty"`
}

// String says what is wrong, and which rules are active.
func (r *Rejected) String() string {
	text := "rules files rejected, the last valid rules are active: "
	if r.Active {
		text = "active rules are not valid for the schemas of the cluster: "
	}
	text += strings.Join(r.Errors, "; ")
	if r.More > 0 {
		text += fmt.Sprintf("; and %d more", r.More)
	}
	return text
}

// SetRejected records what is wrong with the rules files, or with nil that they are active. It keeps when a
// process first rejected the same files.
func (inv *Inventory) SetRejected(ctx context.Context, r *Rejected) error {
	return inv.change(ctx, func(c *content) error {
		before := c.rejected
		if c.rejected = r; r != nil && before != nil && before.Hash == r.Hash {
			c.rejected = &Rejected{Hash: r.Hash, Active: r.Active, Since: before.Since, Errors: r.Errors, More: r.More}
		}
		return nil
	})
}

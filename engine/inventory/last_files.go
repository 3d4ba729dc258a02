package inventory

import (
	"context"

	"k8s.io/client-go/dynamic"

	"reconcel/rules/source"
)

// RecordedWithTexts returns what is known of the rules that ran last. Damaged texts are unknown.
func (inv *Inventory) RecordedWithTexts(ctx context.Context) (*Recorded, error) {
	c, _, err := inv.read(ctx)
	if err != nil {
		return nil, inv.describe(err)
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if err := inv.texts.learn(ctx); err != nil {
		return nil, err
	}
	return c.recorded(inv.texts.known), nil
}

// LastFiles returns the rules files that became active last. It returns no files if the stored ones come from
// another source than the files of this process.
func (inv *Inventory) LastFiles(ctx context.Context) ([]source.File, error) {
	texts, err := inv.texts.read(ctx)
	if err != nil || texts.Source != inv.options.Source {
		return nil, err
	}
	return texts.files(texts.Last), nil
}

// RestoreTexts writes the texts of the rules again if they were deleted or changed, and reports whether they
// were.
func (inv *Inventory) RestoreTexts(ctx context.Context) (restored bool, err error) {
	if inv.client == nil {
		return false, nil
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	return inv.texts.restore(ctx)
}

// ReadTexts adds the texts of an installation to what was read of it.
func (s *Stored) ReadTexts(ctx context.Context, client dynamic.Interface) (err error) {
	s.Texts, err = New(client, Options{Namespace: s.Namespace, Installation: s.Installation}).texts.read(ctx)
	return err
}

package inventory

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"k8s.io/client-go/dynamic"

	"reconcel/rules/source"
)

// Texts are the rules files of an installation at several times. A revision is the text of all files at one
// time. An entry names the revision that has its rule as it runs, so that a process that has not seen it can
// compile it again. A process whose files are invalid works with the revision that became active last.
type Texts struct {
	Last      string                `json:"last"`   // the revision that became active last
	Source    string                `json:"source"` // Options.Source of the process that it became active in
	Revisions map[string][]textFile `json:"revisions"`
}

// A textFile is a rules file. Its text is compressed better than the base64 of its bytes.
type textFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// ErrDamaged says that stored texts are not those that were written.
var ErrDamaged = errors.New("the stored text of the rules is damaged")

// mostText limits the memory for the texts of an installation, which anyone may have written.
const mostText = 64 << 20

// files returns the files of a revision, or nil if they are not known.
func (t *Texts) files(revision string) (files []source.File) {
	if t == nil {
		return nil
	}
	for _, f := range t.Revisions[revision] {
		files = append(files, source.File{Name: f.Name, Data: []byte(f.Text)})
	}
	if revisionOf(files) != revision {
		return nil
	}
	return files
}

// with returns the texts in which files became active last, and which have only these revisions besides.
func (t *Texts) with(files []source.File, from string, keep []string) *Texts {
	next := &Texts{Last: revisionOf(files), Source: from, Revisions: map[string][]textFile{}}
	for _, name := range keep {
		if revision, known := t.Revisions[name]; known {
			next.Revisions[name] = revision
		}
	}
	next.Revisions[next.Last] = nil
	for _, f := range files {
		next.Revisions[next.Last] = append(next.Revisions[next.Last], textFile{f.Name, string(f.Data)})
	}
	return next
}

// pack compresses the texts to at most a number of bytes. If they do not fit, it leaves out revisions; the
// one that became active last goes last. The hash is that of the uncompressed texts: other
// versions of Go compress otherwise.
func (t *Texts) pack(most int) (hash string, data []byte, err error) {
	for {
		plain, err := json.Marshal(t)
		if err != nil {
			return "", nil, err
		}
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			return "", nil, err
		}
		_, err = w.Write(plain)
		if err = errors.Join(err, w.Close()); err != nil {
			return "", nil, err
		}
		if b.Len() <= most || len(t.Revisions) == 0 {
			return hashOf(plain), b.Bytes(), nil
		}
		names := slices.Sorted(maps.Keys(t.Revisions))
		first := slices.IndexFunc(names, func(name string) bool { return name != t.Last })
		delete(t.Revisions, names[max(first, 0)])
	}
}

// unpack reverses pack.
func unpack(hash string, data []byte) (*Texts, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, mostText))
	if err == nil && hashOf(plain) != hash {
		err = errors.New("its hash is another one")
	}
	t := &Texts{}
	if err == nil {
		err = json.Unmarshal(plain, t)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return t, nil
}

func hashOf(plain []byte) string {
	sum := sha256.Sum256(plain)
	return hex.EncodeToString(sum[:])
}

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

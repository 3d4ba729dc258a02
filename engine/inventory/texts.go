package inventory

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"reconcel/engine/answer"
	"reconcel/rules"
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
	Name   string            `json:"name"`
	Text   string            `json:"text"`
	Beside []source.TextFile `json:"beside,omitempty"`
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
		files = append(files, source.File{Name: f.Name, Data: []byte(f.Text), Beside: f.Beside})
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
		next.Revisions[next.Last] = append(next.Revisions[next.Last], textFile{f.Name, string(f.Data), f.Beside})
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
		w := gzip.NewWriter(&b) // The best compression takes twice as long, and saves a hundredth.
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

// RecordedWithTexts returns what is known of the rules that ran last. Damaged texts are unknown. The texts are read
// once: only the process that leads writes them, and the others do not use them, unless they make a dry run.
func (inv *Inventory) RecordedWithTexts(ctx context.Context) (*Recorded, error) {
	c, _, err := inv.read(ctx)
	if err != nil {
		return nil, inv.describe(err)
	}
	inv.mu.Lock()
	defer inv.mu.Unlock()
	if err := inv.texts.know(ctx); err != nil {
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

// LastFiles returns the rules files that became active last, or nil if their text is not known. See ReadTexts.
func (s Stored) LastFiles() []source.File {
	if s.Texts == nil {
		return nil
	}
	return s.Texts.files(s.Texts.Last)
}

// ReadTexts adds the texts of an installation to what was read of it.
func (s *Stored) ReadTexts(ctx context.Context, client dynamic.Interface) (err error) {
	s.Texts, err = New(client, Options{Namespace: s.Namespace, Installation: s.Installation}).texts.read(ctx)
	return err
}

// The texts have ConfigMaps of their own. Users who approve changes or undo rollouts may write the inventory,
// and who may write the texts could change the rules.

const (
	// pieceSize limits a piece of the compressed texts. A ConfigMap has at most 1 MiB, and each but the first
	// has two versions of its piece while the texts are replaced.
	pieceSize  = 450 << 10
	mostPieces = 4
)

// TextNames returns the names of the ConfigMaps that the texts of an installation may have.
func TextNames(installation string) (names []string) {
	for piece := range mostPieces {
		names = append(names, textName(installation, piece))
	}
	return names
}

func textName(installation string, piece int) string {
	name := installation + rules.RevisionsSuffix
	if piece > 0 {
		name += "-" + strconv.Itoa(piece+1)
	}
	return name
}

// A textStore has the texts of one installation. It is not safe for concurrent use.
type textStore struct {
	client  dynamic.ResourceInterface
	options Options
	known   *Texts // as last read or written; nil: not yet
	behind  bool   // known could not be written
}

// keep records that the files of a program become active, and reports whether their text is kept. It keeps the texts
// of other revisions, and writes nothing if it has the files already, or if they are not all that the installation has.
func (s *textStore) keep(ctx context.Context, program *rules.Program, others []string) (kept bool, err error) {
	name := revisionOf(program.Sources())
	if name == "" || s.options.DryRun || program.Incomplete() {
		return false, nil
	}
	if err := s.know(ctx); err != nil {
		return false, err
	}
	if s.known.Last == name && s.known.Source == s.options.Source {
		return !s.behind, nil
	}
	next := s.known.with(program.Sources(), s.options.Source, others)
	err = s.write(ctx, next)
	if apierrors.IsForbidden(err) {
		s.known, s.behind = next, true // Rules work without their text. restore writes it when it may.
		return false, nil
	}
	return err == nil, err
}

// know reads the texts before they are used first. Damaged ones are lost, and those that may not be read are unknown.
func (s *textStore) know(ctx context.Context) error {
	if s.known != nil && !s.options.DryRun {
		return nil
	}
	found, err := s.read(ctx)
	if err != nil && !errors.Is(err, ErrDamaged) && !apierrors.IsForbidden(err) {
		return err
	}
	s.known = found
	return nil
}

// restore writes the texts again if they were deleted or changed, and reports whether they were.
func (s *textStore) restore(ctx context.Context) (restored bool, err error) {
	if s.known == nil || s.options.DryRun {
		return false, nil
	}
	found, err := s.read(ctx)
	if err != nil && !errors.Is(err, ErrDamaged) {
		return false, err
	}
	if reflect.DeepEqual(found, s.known) {
		s.behind = false
		return false, err
	}
	next := s.known
	if s.behind { // What may not be written may not have been read either.
		next = &Texts{Last: next.Last, Source: next.Source, Revisions: maps.Clone(found.Revisions)}
		maps.Copy(next.Revisions, s.known.Revisions)
	}
	if err = s.write(ctx, next); err != nil {
		s.known, s.behind = next, true
	}
	return true, err
}

// read returns the texts. If they are damaged, it returns an error and no texts.
func (s *textStore) read(ctx context.Context) (*Texts, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	first, err := s.get(ctx, 0)
	if err != nil || first == nil {
		return &Texts{}, err
	}
	hash, pieces := head(first)
	var data []byte
	for piece := range pieces {
		configMap := first
		if piece > 0 {
			if configMap, err = s.get(ctx, piece); err != nil {
				return &Texts{}, err
			}
		}
		part, err := base64.StdEncoding.DecodeString(dataOf(configMap)[hash])
		if err != nil {
			return &Texts{}, s.describe(0, fmt.Errorf("%w: %w", ErrDamaged, err))
		}
		data = append(data, part...)
	}
	texts, err := unpack(hash, data)
	if err != nil {
		return &Texts{}, s.describe(0, err)
	}
	return texts, nil
}

// write replaces the texts. Until the first piece is written, all others have the old version, too.
func (s *textStore) write(ctx context.Context, texts *Texts) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s.known = nil // An error leaves open what was written.
	hash, data, err := texts.pack(mostPieces * pieceSize)
	if err != nil {
		return err
	}
	first, err := s.get(ctx, 0)
	if err != nil {
		return err
	}
	before, _ := head(first)
	pieces := slices.Collect(slices.Chunk(data, pieceSize))
	for i := len(pieces) - 1; i > 0; i-- {
		old, err := s.get(ctx, i)
		if err != nil {
			return err
		}
		both := map[string]string{hash: base64.StdEncoding.EncodeToString(pieces[i])}
		if last := dataOf(old)[before]; last != "" {
			both[before] = last
		}
		if err := s.put(ctx, i, old, nil, both); err != nil {
			return err
		}
	}
	what := map[string]string{"hash": hash, "pieces": strconv.Itoa(len(pieces))}
	if err := s.put(ctx, 0, first, what, map[string]string{hash: base64.StdEncoding.EncodeToString(
		pieces[0])}); err != nil {
		return err
	}
	s.known, s.behind = texts, false
	return nil
}

// head returns the hash of the texts and the number of their pieces, from the first one.
func head(first *unstructured.Unstructured) (hash string, pieces int) {
	if first == nil {
		return "", 0
	}
	what, _, _ := unstructured.NestedStringMap(first.Object, "data")
	n, _ := strconv.Atoi(what["pieces"])
	return what["hash"], min(n, mostPieces)
}

// dataOf returns the versions of a piece by the hash of the texts; nil has none.
func dataOf(piece *unstructured.Unstructured) map[string]string {
	if piece == nil {
		return nil
	}
	data, _, _ := unstructured.NestedStringMap(piece.Object, "binaryData")
	return data
}

// get returns the ConfigMap of a piece, or nil if it does not exist.
func (s *textStore) get(ctx context.Context, piece int) (*unstructured.Unstructured, error) {
	configMap, err := s.client.Get(ctx, textName(s.options.Installation, piece), metav1.GetOptions{})
	if answer.IsAbsent(err) {
		return nil, nil
	}
	return configMap, s.describe(piece, err)
}

// put writes the ConfigMap of a piece. If before is nil, it creates the ConfigMap.
func (s *textStore) put(ctx context.Context, piece int, before *unstructured.Unstructured,
	what, data map[string]string) (err error) {
	configMap := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": textName(s.options.Installation, piece), "namespace": s.options.Namespace,
			"labels": map[string]any{rules.LabelManagedBy: rules.ManagedBy},
		}}}
	if before != nil {
		configMap.SetResourceVersion(before.GetResourceVersion())
	}
	_ = unstructured.SetNestedStringMap(configMap.Object, what, "data")
	_ = unstructured.SetNestedStringMap(configMap.Object, data, "binaryData") // Both keys are new.
	if before == nil {
		_, err = s.client.Create(ctx, configMap, metav1.CreateOptions{FieldManager: s.options.FieldManager})
	} else {
		_, err = s.client.Update(ctx, configMap, metav1.UpdateOptions{FieldManager: s.options.FieldManager})
	}
	return s.describe(piece, err)
}

func (s *textStore) describe(piece int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ConfigMap/%s/%s, which has the text of the rules: %w", s.options.Namespace,
		textName(s.options.Installation, piece), err)
}

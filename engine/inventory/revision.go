package inventory

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"reconcel/rules"
	"reconcel/rules/source"
)

// A revision is the text of all rules at one time. An entry names the revision that has the
// rule as it runs: a process that has not seen it can compile it again.

// mostBytes limits an inventory with the texts of its revisions: a ConfigMap has at most 1 MiB.
// Texts beyond it are left out.
const mostBytes = 900 << 10

// revisionOf returns the name of a program's revision, or "" if it has no text.
func revisionOf(program *rules.Program) string {
	sources := program.Sources()
	if len(sources) == 0 {
		return ""
	}
	h := sha256.New()
	for _, f := range sources {
		fmt.Fprintf(h, "%d %s %d ", len(f.Name), f.Name, len(f.Data))
		h.Write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// packed returns the compressed text of a program.
func packed(program *rules.Program) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(json.NewEncoder(w).Encode(program.Sources()), w.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// unpacked compiles the text of a revision.
func unpacked(data []byte) (*rules.Program, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var sources []source.File
	if err := json.NewDecoder(r).Decode(&sources); err != nil {
		return nil, err
	}
	return rules.Load(sources)
}

// keepRevisions removes the texts that no entry names, and adds that of the program if an
// entry names it.
func (c *content) keepRevisions(program *rules.Program) error {
	named := map[string]bool{}
	for _, entry := range c.entries {
		named[entry.Revision] = true
	}
	maps.DeleteFunc(c.revisions, func(name string, _ []byte) bool { return !named[name] })
	if name := revisionOf(program); name != "" && named[name] && c.revisions[name] == nil {
		text, err := packed(program)
		if err != nil {
			return err
		}
		c.revisions[name] = text
	}
	data, err := encode(c.entries)
	if err != nil {
		return err
	}
	size := 0
	for _, text := range data {
		size += len(text)
	}
	for _, name := range slices.Sorted(maps.Keys(c.revisions)) {
		if size += len(c.revisions[name]); size > mostBytes {
			size -= len(c.revisions[name])
			delete(c.revisions, name)
		}
	}
	return nil
}

// Recorded is what an inventory has of the rules that ran last.
type Recorded struct {
	Entries map[Key]Entry
	Held    []HeldChange
	// Rollouts are the rollouts that are not over, by the kind of their primaries.
	Rollouts map[string]Rollout

	approved  []string
	revisions map[string][]byte
	programs  map[string]*rules.Program // compiled revisions; nil: they do not compile
}

func (c *content) recorded() *Recorded {
	return &Recorded{Entries: c.entries, Held: c.held, Rollouts: c.rollouts, approved: c.approved, revisions: c.revisions, programs: map[string]*rules.Program{}}
}

// Holds reports whether a change was held last.
func (r *Recorded) Holds(hash string) bool {
	return slices.ContainsFunc(r.Held, func(h HeldChange) bool { return h.Hash == hash })
}

// Approved reports whether a user has approved a change.
func (r *Recorded) Approved(hash string) bool { return slices.Contains(r.approved, hash) }

// Rule returns a rule as it ran last, or nil if its text is not known or this version of
// reconcel cannot compile it.
func (r *Recorded) Rule(of Key) *rules.Rule {
	entry := r.Entries[of]
	program, compiled := r.programs[entry.Revision]
	if text := r.revisions[entry.Revision]; text != nil && !compiled {
		program, _ = unpacked(text)
		r.programs[entry.Revision] = program
	}
	if program == nil {
		return nil
	}
	return FindRule(program, of, entry.Digest)
}

// FindRule returns the rule with a digest, or nil.
func FindRule(program *rules.Program, of Key, digest string) *rules.Rule {
	for _, p := range program.Primaries() {
		for _, r := range p.Rules {
			if KeyOf(r) == of && digestOf(r) == digest {
				return r
			}
		}
	}
	return nil
}

// Runs reports whether a rule is the one that ran last. A rule of which nothing is recorded
// counts as such: it changes nothing that runs.
func (r *Recorded) Runs(rule *rules.Rule) bool {
	digest := r.Entries[KeyOf(rule)].Digest
	return digest == "" || digest == digestOf(rule)
}

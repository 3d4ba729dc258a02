package inventory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"reconcel/rules"
	"reconcel/rules/source"
)

// revisionOf returns the name of the revision of files, or "" for no files.
func revisionOf(files []source.File) string {
	if len(files) == 0 {
		return ""
	}
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%d %s %d ", len(f.Name), f.Name, len(f.Data))
		h.Write(f.Data)
		for _, t := range f.Beside {
			fmt.Fprintf(h, "%d %s %d %s", len(t.Path), t.Path, len(t.Text), t.Text)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// revisions returns the revisions that entries name.
func (c *content) revisions() (names []string) {
	for _, key := range SortedKeys(c.entries) {
		if name := c.entries[key].Revision; name != "" {
			names = append(names, name)
		}
	}
	return names
}

// refer makes the entries of all rules whose text a program has name its revision. Otherwise, each change would need
// the text of all rules once more.
func (c *content) refer(program *rules.Program) {
	revision := revisionOf(program.Sources())
	for _, p := range program.Primaries() {
		for _, r := range p.Rules {
			if entry := c.entries[KeyOf(r)]; program.HasTextOf(r) && entry.Digest == digestOf(r) {
				entry.Revision = revision
				c.entries[KeyOf(r)] = entry
			}
		}
	}
}

// Recorded is what an inventory has of the rules that ran last.
type Recorded struct {
	Entries map[Key]Entry
	Held    []HeldChange
	// Rollouts are the rollouts that are not over, by the kind of their primaries.
	Rollouts map[string]Rollout

	approved []string
	texts    *Texts
	programs map[string]*rules.Program // compiled revisions; nil: they do not compile
}

func (c *content) recorded(texts *Texts) *Recorded {
	return &Recorded{Entries: c.entries, Held: c.held, Rollouts: c.rollouts, approved: c.approved, texts: texts,
		programs: map[string]*rules.Program{}}
}

// Holds reports whether a change was held last.
func (r *Recorded) Holds(hash string) bool {
	return slices.ContainsFunc(r.Held, func(h HeldChange) bool { return h.Hash == hash })
}

// RollsOut reports whether the rollout of a kind has a change. The hashes of its changes have one length.
func (r *Recorded) RollsOut(kind, hash string) bool {
	return strings.Contains(r.Rollouts[kind].To, hash)
}

// Approved reports whether a user has approved a change.
func (r *Recorded) Approved(hash string) bool { return slices.Contains(r.approved, hash) }

// Rule returns a rule as it ran last, or nil if its text is not known or this version of
// reconcel cannot compile it.
func (r *Recorded) Rule(of Key) *rules.Rule {
	entry := r.Entries[of]
	program, compiled := r.programs[entry.Revision]
	if files := r.texts.files(entry.Revision); files != nil && !compiled {
		program, _ = rules.Load(files)
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

// A Rollout is the state of a change that reaches the primaries of one kind in waves.
type Rollout struct {
	To    string       `json:"to"` // identifies the new version
	State RolloutState `json:"state"`
	// Reached is the part of all primaries that has the new version: those whose Position
	// is smaller.
	Reached uint64 `json:"reached,string"`
	Message string `json:"message,omitempty"`
	// First are the label selectors of the primaries that come first, with "; " between them. FirstResources is the
	// number of such primaries.
	First          string `json:"first,omitempty"`
	FirstResources int    `json:"firstResources,omitempty"`
	// Updated and Resources are the numbers of primaries that the last step reached, and of all.
	Updated   int `json:"updated"`
	Resources int `json:"resources"`
}

// Stopped says why a rollout of a kind does not go on, and which commands continue or undo it, or "" if it goes on.
// The flags are those of the installation.
func (r Rollout) Stopped(kind, flags string) string {
	text := fmt.Sprintf("the rollout of %s is %s: ", kind, strings.ToLower(string(r.State)))
	switch r.State {
	case Progressing, Complete:
		return ""
	case Failed:
		text = fmt.Sprintf("the rollout of %s has failed: ", kind)
	}
	if r.Message != "" {
		text += "with the new version, " + r.Message + "; "
	}
	if text += fmt.Sprintf("%d of %d resources have the new version", r.Updated, r.Resources); r.State != Undone {
		return text + fmt.Sprintf("; to continue: reconcel rollout resume %s %s; to undo it: reconcel rollout undo %s %s",
			kind, flags, kind, flags)
	}
	return text + fmt.Sprintf("; to try again: change the rules, or reconcel rollout resume %s %s", kind, flags)
}

// A RolloutState says whether a rollout goes on.
type RolloutState string

// The states of a rollout.
const (
	Progressing RolloutState = "Progressing"
	Paused      RolloutState = "Paused"   // by a user
	Failed      RolloutState = "Failed"   // a primary is stalled
	Undone      RolloutState = "Undone"   // no primary has the new version
	Complete    RolloutState = "Complete" // all primaries have it
)

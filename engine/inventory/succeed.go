package inventory

import (
	"cmp"
	"encoding/hex"
	"maps"
	"slices"

	"reconcel/rules"
)

// digestOf returns the digest of a rule as an entry has it. Half of it is enough to
// tell two rules apart.
func digestOf(r *rules.Rule) string { return hex.EncodeToString(r.Digest[:len(r.Digest)/2]) }

// Digests returns the digests of a program's rules by name. A rule for several kinds has one
// that stands for all.
func Digests(program *rules.Program) map[string]string {
	all := map[Key]string{}
	for _, p := range program.Primaries() {
		for _, r := range p.Rules {
			all[KeyOf(r)] = digestOf(r)
		}
	}
	return byName(all)
}

// Active returns the digests of the rules that run now, as Digests does. It is empty if the
// inventory was written by a version that recorded none.
func (s Stored) Active() (map[string]string, error) {
	entries, err := s.Entries()
	all := map[Key]string{}
	for key, entry := range entries {
		all[key] = entry.Digest
	}
	return byName(all), err
}

func byName(all map[Key]string) map[string]string {
	named := map[string]string{}
	for _, key := range slices.SortedFunc(maps.Keys(all), CompareKeys) {
		if all[key] != "" {
			named[key.Rule] += all[key]
		}
	}
	return named
}

// Running returns the rules that run now, or nil if the inventory does not have their text. They
// have the order of the text that most of them come from.
func (s Stored) Running() *rules.Program {
	c, err := s.content()
	if err != nil {
		return nil
	}
	recorded := c.recorded(s.Texts)
	count := map[string]int{}
	var active []Key
	for _, key := range SortedKeys(c.entries) {
		if entry := c.entries[key]; entry.Digest != "" {
			active = append(active, key)
			count[entry.Revision]++
		}
	}
	most := slices.MaxFunc(append(slices.Sorted(maps.Keys(count)), ""),
		func(a, b string) int { return cmp.Compare(count[a], count[b]) })
	var all []*rules.Rule
	if files := s.Texts.files(most); files != nil {
		base, err := rules.Load(files)
		if err != nil {
			return nil
		}
		for _, p := range base.Primaries() {
			for _, r := range p.Rules {
				if c.entries[KeyOf(r)].Digest == digestOf(r) {
					all = append(all, r)
				}
			}
		}
	}
	for _, key := range active {
		r := recorded.Rule(key)
		if r == nil {
			return nil
		}
		if !slices.ContainsFunc(all, func(other *rules.Rule) bool { return KeyOf(other) == key }) {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return (&rules.Program{}).Compose(all...)
}

// A Succession is what the running rules and then the rules that replace them leave behind.
type Succession struct {
	Was, Is Orphaned
	Ran     *Recorded // the running rules
}

// Succeed returns the succession of rules. before has the running rules, or is nil if only
// the inventory knows them.
func (s Stored) Succeed(before, after *rules.Program) (out Succession, err error) {
	c, err := s.content()
	if err != nil {
		return out, err
	}
	entries := c.entries
	inv := &Inventory{options: Options{Source: sourceOf(entries)}}
	if inv.options.Source == "" {
		for key := range entries {
			inv.options.ConfirmRemoval = append(inv.options.ConfirmRemoval, key.Rule)
		}
	}
	if before != nil {
		out.Was = inv.merge(entries, before, Check{})
	}
	active := maps.Clone(entries)
	maps.DeleteFunc(active, func(_ Key, entry Entry) bool { return entry.Digest == "" })
	out.Ran = c.recorded(s.Texts)
	out.Ran.Entries = maps.Clone(entries)
	out.Is = inv.merge(entries, after, Check{})
	for _, key := range SortedKeys(active) {
		if entries[key].Digest == "" {
			out.Is.Ended = append(out.Is.Ended, RemovedRule{key.Rule, active[key]})
		}
	}
	return out, nil
}

// sourceOf returns the source of the running rules, or "" if it is unknown.
func sourceOf(entries map[Key]Entry) string {
	for _, key := range SortedKeys(entries) {
		if entry := entries[key]; entry.Digest != "" {
			return entry.Source
		}
	}
	return ""
}

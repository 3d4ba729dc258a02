package inventory

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

// A Key identifies an entry: a rule, and the kind of its primaries.
type Key struct {
	Rule string
	Kind string // Kind.group
}

// KeyOf returns the key of a rule.
func KeyOf(r *rules.Rule) Key { return Key{r.Name, r.GVK.GroupKind().String()} }

// CompareKeys orders entries by rule and kind.
func CompareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Kind, b.Kind))
}

// An Entry is what the inventory remembers of one rule for one kind of primary.
type Entry struct {
	For string `json:"for"` // Kind.group of the primary
	// Moved: rules of this name are for other kinds now.
	Moved bool `json:"moved,omitempty"`
	// Source is that of the process that had the rule last (Options.Source).
	Source string `json:"source,omitempty"`
	// Digest identifies the content of the rule, as long as it is loaded. plan finds out
	// with it what runs.
	Digest string `json:"digest,omitempty"`
	// Revision names the text from which a rule with this digest can be compiled.
	Revision string   `json:"revision,omitempty"`
	Children []string `json:"children"` // version/Kind or group/version/Kind, sorted
	// Finalizer says that primaries may carry the rule's finalizer or, if it asks for it,
	// the annotation that reports their status.
	Finalizer bool `json:"finalizer,omitempty"`
	// Patch says that primaries may carry fields of the rule's patch.
	Patch bool `json:"patch,omitempty"`
	// Delete is the rule's last onRuleRemoval: delete. Children with the IDs in
	// Orphans are not deleted.
	Delete  bool     `json:"delete,omitempty"`
	Orphans []string `json:"orphans,omitempty"`
	// Account is the ServiceAccount that the rule writes as: namespace/name, or /name
	// for the one in the namespace of each primary.
	Account string `json:"account,omitempty"`
	// TakenOver lists the installations whose objects of the rule were taken over.
	TakenOver []string `json:"takenOver,omitempty"`
}

// Primary returns the kind of the rule's primaries.
func (entry Entry) Primary() schema.GroupKind { return schema.ParseGroupKind(entry.For) }

// Kinds returns the kinds of the children.
func (entry Entry) Kinds() (all []schema.GroupVersionKind) {
	for _, text := range entry.Children {
		all = append(all, parseKind(text))
	}
	return all
}

// Rule stands for a rule of that name that is not loaded: it has a name, and the
// account to write as.
func (entry Entry) Rule(name string) *rules.Rule {
	r := &rules.Rule{Name: name}
	if namespace, account, ok := strings.Cut(entry.Account, "/"); ok {
		r.Account = &rules.Account{Namespace: namespace, Name: account}
	}
	return r
}

// merged adds what a rule renders to its entry, and returns the kinds that only
// the old entry has.
func merged(old Entry, r *rules.Rule) (entry Entry, orphaned []schema.GroupVersionKind) {
	entry = Entry{For: KeyOf(r).Kind, Children: []string{}, Delete: r.DeleteOnRemoval, TakenOver: old.TakenOver}
	entry.Finalizer, entry.Patch = r.MarksPrimary() || old.Finalizer, r.Patches() || old.Patch
	if r.DeleteOnRemoval && r.Account != nil {
		entry.Account = r.Account.String()
	}
	rendered := map[schema.GroupKind]bool{}
	for _, c := range r.Children {
		if text := formatKind(c.GVK); !slices.Contains(entry.Children, text) {
			entry.Children = append(entry.Children, text)
		}
		rendered[c.GVK.GroupKind()] = true
		if r.DeleteOnRemoval && c.OnDelete == rules.Orphan {
			entry.Orphans = append(entry.Orphans, c.ID)
		}
	}
	for _, text := range old.Children {
		if gvk := parseKind(text); !rendered[gvk.GroupKind()] {
			orphaned = append(orphaned, gvk)
			entry.Children = append(entry.Children, text)
		}
	}
	slices.Sort(entry.Children)
	return entry, orphaned
}

// with returns the entry with what another version of its rule renders.
func (entry Entry) with(r *rules.Rule) Entry {
	for _, c := range r.Children {
		if text := formatKind(c.GVK); !slices.Contains(entry.Children, text) {
			entry.Children = append(slices.Clone(entry.Children), text)
		}
	}
	slices.Sort(entry.Children)
	entry.Finalizer, entry.Patch = entry.Finalizer || r.MarksPrimary(), entry.Patch || r.Patches()
	return entry
}

func formatKind(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + "/" + gvk.Kind
}

func parseKind(text string) schema.GroupVersionKind {
	i := strings.LastIndex(text, "/")
	return schema.FromAPIVersionAndKind(text[:max(i, 0)], text[i+1:])
}

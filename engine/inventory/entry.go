package inventory

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

// An Entry is what the inventory remembers of one rule.
type Entry struct {
	For string `json:"for"` // Kind.group of the primary
	// Source is that of the process that had the rule last (Options.Source).
	Source   string   `json:"source,omitempty"`
	Children []string `json:"children"` // version/Kind or group/version/Kind, sorted
	// Finalizer says that primaries may carry the rule's finalizer or, if it asks for it,
	// the annotation that reports their status. Former lists
	// other kinds whose primaries may, from earlier rules of this name.
	Finalizer bool     `json:"finalizer,omitempty"`
	Former    []string `json:"former,omitempty"`
	// Delete is the rule's last onRuleRemoval: delete. Children with the IDs in
	// Orphans are not deleted.
	Delete  bool     `json:"delete,omitempty"`
	Orphans []string `json:"orphans,omitempty"`
	// Account is the ServiceAccount that the rule writes as: namespace/name, or /name
	// for the one in the namespace of each primary.
	Account string `json:"account,omitempty"`
	// TakenOver lists the installations whose objects of the rule were taken over.
	TakenOver []string `json:"takenOver,omitempty"`
	// Earlier is what rules of this name have made for other kinds: For, Source,
	// Children, Delete, Orphans and Account of each.
	Earlier []Entry `json:"earlier,omitempty"`
}

// Primary returns the kind of the rule's primaries.
func (entry Entry) Primary() schema.GroupKind { return schema.ParseGroupKind(entry.For) }

// FormerPrimaries returns the kinds of Former.
func (entry Entry) FormerPrimaries() (all []schema.GroupKind) {
	for _, kind := range entry.Former {
		all = append(all, schema.ParseGroupKind(kind))
	}
	return all
}

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

// isEmpty reports whether nothing is left to remember of a rule that is not
// loaded.
func (entry *Entry) isEmpty() bool {
	return len(entry.Children) == 0 && !entry.Delete && !entry.Finalizer && len(entry.Former) == 0 && len(entry.Earlier) == 0
}

// merged adds what a rule renders to its entry, and returns the kinds that only
// the old entry has. The old entry may be that of another rule of the same name,
// for another kind.
func merged(old Entry, r *rules.Rule) (entry Entry, orphaned []schema.GroupVersionKind) {
	entry = Entry{For: r.GVK.GroupKind().String(), Children: []string{}, Delete: r.DeleteOnRemoval, TakenOver: old.TakenOver}
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
	entry.mergeFinalizers(old, r)
	before := entry.mergeEarlier(old)
	for _, text := range before.Children {
		if gvk := parseKind(text); !rendered[gvk.GroupKind()] {
			orphaned = append(orphaned, gvk)
			entry.Children = append(entry.Children, text)
		}
	}
	slices.Sort(entry.Children)
	return entry, orphaned
}

// mergeFinalizers takes over the kinds whose primaries may carry marks of the rule.
func (entry *Entry) mergeFinalizers(old Entry, r *rules.Rule) {
	kinds := slices.Clone(old.Former)
	if old.Finalizer && !slices.Contains(kinds, old.For) {
		kinds = append(kinds, old.For)
	}
	isOwn := func(kind string) bool { return kind == entry.For }
	entry.Finalizer = r.MarksPrimary() || slices.ContainsFunc(kinds, isOwn)
	if kinds = slices.DeleteFunc(kinds, isOwn); len(kinds) > 0 {
		entry.Former = kinds
	}
}

// mergeEarlier takes over what was made for other primary kinds, and returns
// what was made for this one.
func (entry *Entry) mergeEarlier(old Entry) (before Entry) {
	last := Entry{For: old.For, Source: old.Source, Children: old.Children, Delete: old.Delete, Orphans: old.Orphans, Account: old.Account}
	for _, e := range append(slices.Clone(old.Earlier), last) {
		switch {
		case e.For == entry.For:
			before = e
		case len(e.Children) > 0 || e.Delete:
			entry.Earlier = append(entry.Earlier, e)
		}
	}
	return before
}

func formatKind(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + "/" + gvk.Kind
}

func parseKind(text string) schema.GroupVersionKind {
	i := strings.LastIndex(text, "/")
	return schema.FromAPIVersionAndKind(text[:max(i, 0)], text[i+1:])
}

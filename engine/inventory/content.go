package inventory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
)

// Annotations of an inventory. Commands write them, too.
const (
	// AnnotationHeld has the changes that are held, as JSON.
	AnnotationHeld = "reconcel.dev/held"
	// AnnotationApproved has the hashes of approved changes, separated by spaces.
	AnnotationApproved = "reconcel.dev/approved"
	// AnnotationRollouts has the rollouts as JSON.
	AnnotationRollouts = "reconcel.dev/rollouts"
	// AnnotationRejected has what is wrong with the rules files while older rules are active, as JSON.
	AnnotationRejected = "reconcel.dev/rejected-rules"
)

// content is all that the ConfigMap has.
type content struct {
	entries  map[Key]Entry
	held     []HeldChange
	approved []string
	rollouts map[string]Rollout
	rejected *Rejected
	version  string // the resourceVersion of the ConfigMap that has it; "": unknown
}

// clone returns a copy whose lists can be changed: of nil, an empty one.
func (c *content) clone() content {
	if c == nil {
		return content{entries: map[Key]Entry{}, rollouts: map[string]Rollout{}}
	}
	return content{entries: maps.Clone(c.entries), held: slices.Clone(c.held), approved: slices.Clone(c.approved),
		rollouts: maps.Clone(c.rollouts), rejected: c.rejected, version: c.version}
}

// regain adds entries, and kinds of their children, that others have removed, for example by restoring a backup from
// before a rule was added. What only they have stays: it may be of objects in the same backup.
func (c *content) regain(last *content) {
	for key, known := range last.entries {
		entry := known
		for _, kind := range c.entries[key].Children {
			if !slices.Contains(entry.Children, kind) {
				entry.Children = append(slices.Clone(entry.Children), kind)
			}
		}
		slices.Sort(entry.Children)
		c.entries[key] = entry
	}
}

// A HeldChange is a change of a rule that does not take effect until a user approves it.
type HeldChange struct {
	Rule    string `json:"rule"`
	Kind    string `json:"kind"` // Kind.group of the primaries
	Hash    string `json:"hash"`
	Message string `json:"message"`
}

func (s Stored) content() (c content, err error) {
	if c.entries, err = s.Entries(); err != nil {
		return c, err
	}
	c.approved = strings.Fields(s.Annotations[AnnotationApproved])
	if c.held, err = s.Held(); err != nil {
		return c, err
	}
	if c.rejected, err = s.Rejected(); err != nil {
		return c, err
	}
	c.rollouts, err = s.Rollouts()
	return c, err
}

// fill sets the content of a ConfigMap, and reports whether it was another one.
func (c *content) fill(configMap *unstructured.Unstructured) (changed bool, err error) {
	before, _ := Of(configMap)
	data, err := encode(c.entries)
	if err != nil {
		return false, err
	}
	annotations, err := c.annotations(before.Annotations)
	if err != nil {
		return false, err
	}
	if maps.Equal(before.Data, data) && maps.Equal(before.Annotations, annotations) {
		return false, nil
	}
	configMap.SetAnnotations(annotations)
	unstructured.RemoveNestedField(configMap.Object, "binaryData") // of older versions
	return true, unstructured.SetNestedStringMap(configMap.Object, data, "data")
}

// annotations returns the annotations of the ConfigMap with those of the content.
func (c *content) annotations(before map[string]string) (map[string]string, error) {
	all := map[string]string{}
	maps.Copy(all, before)
	held, err := json.Marshal(c.held)
	if err != nil {
		return nil, err
	}
	rollouts, err := json.Marshal(c.rollouts)
	if err != nil {
		return nil, err
	}
	rejected, err := json.Marshal(c.rejected)
	if err != nil {
		return nil, err
	}
	for _, a := range []struct {
		name, value string
		there       bool
	}{
		{AnnotationHeld, string(held), len(c.held) > 0},
		{AnnotationApproved, strings.Join(c.approved, " "), len(c.approved) > 0},
		{AnnotationRollouts, string(rollouts), len(c.rollouts) > 0},
		{AnnotationRejected, string(rejected), c.rejected != nil},
	} {
		if delete(all, a.name); a.there {
			all[a.name] = a.value
		}
	}
	return all, nil
}

// Rejected are rules files or objects that are not active, because they are invalid.
type Rejected struct {
	Hash string `json:"hash"`           // identifies the files
	What string `json:"what,omitempty"` // what they are; "" for rules files
	Kept string `json:"kept,omitempty"` // what is active instead; "" for the last valid rules
	// Active: the files are active all the same, because only the schemas of the cluster make them invalid.
	Active bool      `json:"active,omitempty"`
	Since  time.Time `json:"since"`
	Errors []string  `json:"errors"` // the first ones
	More   int       `json:"more,omitempty"`
}

// String says what is wrong, and which rules are active.
func (r *Rejected) String() string {
	text := cmp.Or(r.What, "rules files") + " rejected, " + cmp.Or(r.Kept, "the last valid rules are active") + ": "
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
			kept := *r
			kept.Since = before.Since
			c.rejected = &kept
		}
		return nil
	})
}

// Selector selects the ConfigMaps of all inventories in a cluster, and a few others; see Of.
const Selector = rules.LabelManagedBy + "=" + rules.ManagedBy

// Resource is the resource of an inventory.
var Resource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// Name returns the name of the ConfigMap that is the inventory of an installation.
func Name(installation string) string { return installation + rules.InventorySuffix }

// A Stored is the inventory of an installation as it was read from the cluster.
type Stored struct {
	Namespace, Installation string
	Data                    map[string]string
	Annotations             map[string]string
	Texts                   *Texts // if they were read
}

// Of returns the inventory in a ConfigMap, and false if it is another ConfigMap.
func Of(configMap *unstructured.Unstructured) (Stored, bool) {
	installation, ok := strings.CutSuffix(configMap.GetName(), rules.InventorySuffix)
	data, _, _ := unstructured.NestedStringMap(configMap.Object, "data")
	return Stored{Namespace: configMap.GetNamespace(), Installation: installation, Data: data,
		Annotations: configMap.GetAnnotations()}, ok
}

// Name names the installation: namespace/name.
func (s Stored) Name() string { return s.Namespace + "/" + s.Installation }

// Flags returns the flags that name the installation on the command line.
func (s Stored) Flags() string {
	if s.Installation == "reconcel" {
		return "-n " + s.Namespace
	}
	return "-n " + s.Namespace + " --name " + s.Installation
}

// Names names installations, separated by commas.
func Names(all []Stored) string {
	var names []string
	for _, s := range all {
		names = append(names, s.Name())
	}
	return strings.Join(names, ", ")
}

// String names the ConfigMap.
func (s Stored) String() string { return "ConfigMap/" + s.Namespace + "/" + Name(s.Installation) }

// A record is what the ConfigMap has of one rule: the entry for one kind, and those for
// the others.
type record struct {
	Entry
	Others []Entry `json:"others,omitempty"`
	// Earlier and Former were written by older versions: entries of moved rules, and kinds
	// whose primaries may carry the finalizer.
	Earlier []Entry  `json:"earlier,omitempty"`
	Former  []string `json:"former,omitempty"`
}

// Entries returns all entries. Damaged records are in the error, and the others are
// returned all the same.
func (s Stored) Entries() (map[Key]Entry, error) {
	entries := map[Key]Entry{}
	var damaged []error
	for _, rule := range slices.Sorted(maps.Keys(s.Data)) {
		var r record
		if err := json.Unmarshal([]byte(s.Data[rule]), &r); err != nil {
			damaged = append(damaged, fmt.Errorf("entry %q is damaged: %w", rule, err))
			continue
		}
		for _, entry := range r.entries() {
			entries[Key{rule, entry.For}] = entry
		}
	}
	return entries, errors.Join(damaged...)
}

// Held returns the changes of rules that wait for an approval.
func (s Stored) Held() (held []HeldChange, err error) {
	err = s.annotation(AnnotationHeld, &held)
	return held, err
}

// Rollouts returns the rollouts that are not over, by the kind of their primaries.
func (s Stored) Rollouts() (map[string]Rollout, error) {
	all := map[string]Rollout{}
	if text := s.Annotations[AnnotationRollouts]; text != "" {
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return nil, fmt.Errorf("annotation %s is damaged: %w", AnnotationRollouts, err)
		}
	}
	return all, nil
}

// Rejected returns what is wrong with the rules files while older rules are active, or nil.
func (s Stored) Rejected() (r *Rejected, err error) {
	err = s.annotation(AnnotationRejected, &r)
	return r, err
}

// annotation decodes an annotation, if there is one.
func (s Stored) annotation(name string, into any) error {
	text := s.Annotations[name]
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("annotation %s is damaged: %w", name, err)
	}
	return nil
}

func (r *record) entries() []Entry {
	all := append(slices.Clone(r.Others), r.Entry)
	for _, entry := range r.Earlier {
		entry.Moved = true
		all = append(all, entry)
	}
	for _, kind := range r.Former {
		i := slices.IndexFunc(all, func(entry Entry) bool { return entry.For == kind })
		if i < 0 {
			i, all = len(all), append(all, Entry{For: kind, Moved: true, Source: r.Source, Children: []string{}})
		}
		all[i].Finalizer = true
	}
	return all
}

func encode(entries map[Key]Entry) (map[string]string, error) {
	records := map[string]record{}
	for _, key := range SortedKeys(entries) {
		r, known := records[key.Rule]
		if entry := entries[key]; !known {
			r.Entry = entry
		} else if r.Moved && !entry.Moved {
			r.Entry, r.Others = entry, append(r.Others, r.Entry)
		} else {
			r.Others = append(r.Others, entry)
		}
		records[key.Rule] = r
	}
	data := map[string]string{}
	for rule, r := range records {
		text, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		data[rule] = string(text)
	}
	return data, nil
}

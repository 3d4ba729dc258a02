package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"reconcel/rules"
)

// A culprit is who has changed what is ours of an object, as far as the object
// tells.
type culprit struct {
	manager      string   // of the fields now; "": nobody has them, they were removed
	fields       []string // the first of those that are ours
	more         int      // how many there are besides
	installation string   // namespace/name, if it is another reconcel
	insists      bool     // of the two, the other one restores its rendering at once
}

// String says who changed what.
func (c culprit) String() string {
	who := "somebody"
	switch {
	case c.installation != "":
		who = fmt.Sprintf("reconcel %q", c.installation)
	case c.manager != "":
		who = fmt.Sprintf("%q", c.manager)
	}
	switch {
	case len(c.fields) == 0:
		return who + " changed it"
	case c.more > 0:
		return fmt.Sprintf("%s changed %s and %d more", who, strings.Join(c.fields, ", "), c.more)
	}
	return fmt.Sprintf("%s changed %s", who, strings.Join(c.fields, ", "))
}

// whoChanged finds out who made a repair necessary, by a read: the cache has no
// managers but ours. What cannot be found out holds nothing up.
func (p *pass) whoChanged(ctx context.Context, k Kind, d *rules.Desired, w *written) culprit {
	u, err := p.get(ctx, k, d.Identity)
	if err != nil {
		return culprit{}
	}
	desired, err := d.Object()
	if err != nil {
		return culprit{}
	}
	return culpritOf(u, identifying(desired), w.fields, p.engine.installation)
}

// culpritOf compares an object with what we want of it, and with what we owned
// of it after our last write.
func culpritOf(u *unstructured.Unstructured, desired map[string]any, before fields, own string) culprit {
	c := culprit{}
	if other := u.GetAnnotations()[rules.AnnotationInstallation]; other != "" && other != own {
		c.installation, c.insists = other, other < own
		c.name(differing(u.Object, desired, nil))
		return c
	}
	lost := lostFields(before, ownFields(u.Object, childRole))
	if len(lost) == 0 {
		c.name(differing(u.Object, desired, nil))
		c.manager = lastManager(u)
		return c
	}
	for _, e := range managersOf(u) {
		var theirs []string
		for _, path := range lost {
			if e.set.Has(path) {
				theirs = append(theirs, dotted(path))
			}
		}
		if len(theirs) > 0 {
			c.manager = e.manager
			c.name(theirs)
			return c
		}
	}
	var all []string
	for _, path := range lost {
		all = append(all, dotted(path))
	}
	c.name(all)
	c.manager = lastManager(u)
	return c
}

// name notes the fields.
func (c *culprit) name(fields []string) {
	const most = 3
	slices.Sort(fields)
	fields = slices.Compact(fields)
	c.fields = fields[:min(len(fields), most)]
	c.more = len(fields) - len(c.fields)
}

// lostFields returns the leaves that an entry had and another has not.
func lostFields(before, after fields) (lost []fieldpath.Path) {
	had, has := setOf(before), setOf(after)
	if had == nil || has == nil {
		return nil
	}
	had.Difference(has).Leaves().Iterate(func(path fieldpath.Path) { lost = append(lost, path.Copy()) })
	return lost
}

// setOf decodes an entry; nil means that it cannot be read.
func setOf(f fields) *fieldpath.Set {
	set := &fieldpath.Set{}
	if f == (fields{}) {
		return set
	}
	if set.FromJSON(strings.NewReader(f.Value())) != nil {
		return nil
	}
	return set
}

// A managed is what somebody owns of an object.
type managed struct {
	manager string
	time    string
	set     *fieldpath.Set
}

// managersOf returns who owns what, apart from us, the latest first.
func managersOf(u *unstructured.Unstructured) (all []managed) {
	metadata, _ := u.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		manager, _ := entry["manager"].(string)
		if entry["operation"] == "Apply" && writtenAs(childRole, entry) {
			continue
		}
		raw, err := json.Marshal(entry["fieldsV1"])
		if err != nil {
			continue
		}
		set := &fieldpath.Set{}
		if set.FromJSON(strings.NewReader(string(raw))) != nil {
			continue
		}
		at, _ := entry["time"].(string)
		all = append(all, managed{manager, at, set})
	}
	slices.SortStableFunc(all, func(a, b managed) int { return strings.Compare(b.time, a.time) })
	return all
}

// lastManager returns who else has written last, apart from status.
func lastManager(u *unstructured.Unstructured) string {
	metadata, _ := u.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	last, at := "", ""
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		manager, _ := entry["manager"].(string)
		time, _ := entry["time"].(string)
		if entry["subresource"] == "status" || entry["operation"] == "Apply" && writtenAs(childRole, entry) || time < at {
			continue
		}
		last, at = manager, time
	}
	return last
}

// dotted prints a path as people write it: spec.containers[name="web"].image.
func dotted(path fieldpath.Path) string { return strings.TrimPrefix(path.String(), ".") }

// differing lists the fields whose live value is not the desired one. Lists are
// compared as a whole, and only where they are as long as desired: others may
// have added elements.
func differing(live, desired map[string]any, under []string) (all []string) {
	for key, want := range desired {
		path := append(slices.Clone(under), key)
		have := live[key]
		wantMap, isMap := want.(map[string]any)
		haveMap, both := have.(map[string]any)
		switch {
		case isMap && both:
			all = append(all, differing(haveMap, wantMap, path)...)
		case want != nil && !similar(have, want):
			all = append(all, strings.Join(path, "."))
		}
	}
	return all
}

// similar reports whether a live value says what is desired, elements of lists
// compared in their order.
func similar(live, desired any) bool {
	switch desired := desired.(type) {
	case map[string]any:
		object, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for key, want := range desired {
			if want != nil && !similar(object[key], want) {
				return false
			}
		}
		return true
	case []any:
		list, ok := live.([]any)
		if !ok || len(list) < len(desired) {
			return false
		}
		for i := range desired {
			if !similar(list[i], desired[i]) {
				return false
			}
		}
		return true
	}
	return sameValue(desired, live)
}

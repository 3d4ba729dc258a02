package managedfields

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unique"

	"k8s.io/utils/lru"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// An Entry is the interned fieldsV1 of one manager. The zero Entry means that
// the manager owns nothing.
//
// The API server sends the same entry byte for byte in every response and watch
// event until another writer changes one of its fields, which transfers ownership. So
// two entries are equal if and only if no writer changed the fields in between.
type Entry struct {
	rest unique.Handle[string] // the fieldsV1 without uid
	uid  ownerUID
}

// NewEntry returns the Entry of a fieldsV1.
func NewEntry(fieldsV1 string) Entry {
	rest, uid := takeUID(nil, []byte(fieldsV1))
	return Entry{unique.Make(string(rest)), uid}
}

// fieldsV1 returns the text of an Entry that is not zero.
func (e Entry) fieldsV1() string { return putUID(e.rest.Value(), e.uid) }

// Managers are the managers of an object, in the order of metadata.managedFields.
type Managers []manager

// ManagersOf returns the managers of an object.
func ManagersOf(object map[string]any) (all Managers) {
	for _, e := range entriesOf(object) {
		all = append(all, parseManager(e))
	}
	return all
}

// ChildEntry returns the fields of a child that our applies own.
func ChildEntry(object map[string]any) Entry { return ManagersOf(object).Child() }

// Child returns the fields of a child that our applies own.
func (ms Managers) Child() Entry { return ms.lastApplied(manager.ownsChild) }

// ChildVersion returns the apiVersion in which our last apply wrote a child, or "".
func (ms Managers) ChildVersion() string { return ms.last(manager.ownsChild).version }

// Shares returns the fields of a child that our other writes own: the annotations of its
// owners, see rules.Share.
func (ms Managers) Shares() Entry { return ms.lastApplied(manager.ownsShares) }

// Status returns the fields of a primary's status that our applies own. A kind that
// gained or lost the status subresource has two entries; the later one counts.
func (ms Managers) Status() Entry { return ms.lastApplied(manager.ownsStatus) }

// StatusVersion returns the apiVersion in which our last apply wrote a primary's status, or "".
func (ms Managers) StatusVersion() string { return ms.last(manager.ownsStatus).version }

// PatchesNotIn returns the managers of our patches of a primary that were written in another
// apiVersion.
func (ms Managers) PatchesNotIn(apiVersion string) (managers []string) {
	for _, m := range ms {
		if m.patches() && m.version != "" && m.version != apiVersion {
			managers = append(managers, m.name)
		}
	}
	return managers
}

// Patches returns the fields of a primary that our patches own, by manager, or nil if
// there are none.
func (ms Managers) Patches() (found map[string]Entry) {
	for _, m := range ms {
		if !m.patches() {
			continue
		}
		if e := m.entry(); e != (Entry{}) {
			if found == nil {
				found = map[string]Entry{}
			}
			found[m.name] = e
		}
	}
	return found
}

// HasOrphanedFields reports whether fields of the object belong to the manager
// before-first-apply.
func (ms Managers) HasOrphanedFields() bool {
	return slices.ContainsFunc(ms, func(m manager) bool { return m.name == beforeFirstApply })
}

func (ms Managers) lastApplied(ours func(manager) bool) Entry { return ms.last(ours).entry() }

// last returns the last manager that is ours, or a zero one.
func (ms Managers) last(ours func(manager) bool) (found manager) {
	for _, m := range slices.Backward(ms) { // Entries are sorted by time.
		if ours(m) {
			return m
		}
	}
	return manager{}
}

// Names reports whether the entry has a field of this name, at any depth.
func (e Entry) Names(field string) bool {
	if e == (Entry{}) {
		return false
	}
	for text := e.rest.Value(); ; { // The UID is no field.
		before, after, found := strings.Cut(text, field)
		if !found {
			return false
		}
		if strings.HasSuffix(before, `"f:`) && strings.HasPrefix(after, `"`) {
			return true
		}
		text = after
	}
}

// Set decodes the entry. An unreadable entry gives an empty set.
func (e Entry) Set() Set {
	if e.uid == (ownerUID{}) {
		return e.recentSet()
	}
	if set, ok := (Entry{rest: e.rest}).recentSet().withOwner(e.uid); ok {
		return set
	}
	return e.decode()
}

// recentSet is Set for an entry from which no UID was taken.
func (e Entry) recentSet() Set {
	if set, known := recentSets.Get(e); known {
		return set.(Set)
	}
	set := e.decode()
	recentSets.Add(e, set)
	return set
}

// recentSets are the sets that were decoded last, by Entry. The objects of a kind have a
// few different entries, and no set is changed after it was decoded.
var recentSets = lru.New(64)

func (e Entry) decode() Set {
	set := &fieldpath.Set{}
	if e == (Entry{}) || set.FromJSON(strings.NewReader(e.fieldsV1())) != nil {
		return Set{&fieldpath.Set{}}
	}
	return Set{set}
}

// A manager is one entry of metadata.managedFields.
type manager struct {
	name        string
	subresource string
	version     string // apiVersion in which it wrote
	time        string
	applied     bool  // by server-side apply, not by an update
	fieldsV1    any   // decoded, or
	read        Entry // read from a stream
}

func (m manager) ownsChild() bool { return m.applied && m.name == Manager && m.subresource == "" }

func (m manager) ownsShares() bool { return !m.applied && m.name == Manager && m.subresource == "" }

func (m manager) ownsStatus() bool {
	return m.applied && (m.name == StatusManager || m.name == Manager && m.subresource == "status")
}

// patches reports whether a manager is that of a patch of a primary, or of its annotation.
func (m manager) patches() bool {
	return m.applied && m.subresource == "" && m.name != StatusManager && strings.HasPrefix(m.name, Manager+"/")
}

func (m manager) entry() Entry {
	if m.fieldsV1 == nil {
		return m.read
	}
	// Map keys marshal in order, so equal sets give equal strings.
	raw, err := json.Marshal(m.fieldsV1)
	if err != nil {
		return Entry{}
	}
	return NewEntry(string(raw))
}

func entriesOf(object map[string]any) []any {
	metadata, _ := object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	return entries
}

func parseManager(e any) (m manager) {
	entry, _ := e.(map[string]any)
	m.name, _ = entry["manager"].(string)
	m.subresource, _ = entry["subresource"].(string)
	m.version, _ = entry["apiVersion"].(string)
	m.time, _ = entry["time"].(string)
	m.applied = entry["operation"] == "Apply"
	m.fieldsV1 = entry["fieldsV1"]
	return m
}

// TakenBy returns the fields of a child that we owned and no longer own, and the
// manager that owns them now. If there are no such fields, or they have no owner, it
// returns the last manager that wrote, or "" if there is none.
func TakenBy(object map[string]any, before Entry) (manager string, fields []string) {
	others := otherManagers(object)
	lost := lostFields(before, ChildEntry(object))
	for _, m := range others {
		theirs := m.entry().Set()
		for _, path := range lost {
			if theirs.fields.Has(path) {
				fields = append(fields, displayPath(path))
			}
		}
		if len(fields) > 0 {
			return m.name, fields
		}
	}
	for _, path := range lost {
		fields = append(fields, displayPath(path))
	}
	for _, m := range others {
		if m.subresource != "status" {
			return m.name, fields
		}
	}
	return "", fields
}

// otherManagers returns the managers of a child apart from us, the latest first.
func otherManagers(object map[string]any) Managers {
	all := slices.DeleteFunc(ManagersOf(object), func(m manager) bool { return m.ownsChild() || m.ownsShares() })
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b manager) int { return strings.Compare(b.time, a.time) })
	return all
}

// lostFields returns the leaves that are in one entry and not in a later one.
func lostFields(before, after Entry) (lost []fieldpath.Path) {
	before.Set().fields.Difference(after.Set().fields).Leaves().Iterate(func(path fieldpath.Path) {
		lost = append(lost, path.Copy())
	})
	return lost
}

// LosesElements reports whether an entry had an element of a list, by key, that a later one has not.
func LosesElements(before, after Entry) bool {
	for _, path := range lostFields(before, after) {
		if slices.ContainsFunc(path, func(e fieldpath.PathElement) bool { return e.Key != nil }) {
			return true
		}
	}
	return false
}

// displayPath prints a path as people write it: spec.containers[name="web"].image.
func displayPath(path fieldpath.Path) string { return strings.TrimPrefix(path.String(), ".") }

// beforeFirstApply is the manager that the API server makes the owner of all fields
// of an object when an apply finds no managedFields, because a client removed them. An
// apply cannot remove a field that this manager also owns. An object that was created
// by an apply gets this entry in no other way.
const beforeFirstApply = "before-first-apply"

// An ownerUID is the UID in the key of an owner reference, which differs between objects
// whose fields are otherwise the same. An Entry keeps it apart from the other text, so that
// such objects share that text. The zero value means that nothing was taken out.
type ownerUID [16]byte

// beforeUID precedes the UID in the text of a fieldsV1.
const beforeUID = `"k:{\"uid\":\"`

// uidLength is that of a UID as Kubernetes writes it, such as
// 6b3f8f5e-0c1d-4b7e-9a55-2f0c8d1e7a90.
const uidLength = 36

// takeUID returns the fieldsV1 without the UID of its first owner reference, and the UID.
// It appends the text to buf if it takes out a UID.
func takeUID(buf, fieldsV1 []byte) ([]byte, ownerUID) {
	at := bytes.Index(fieldsV1, []byte(beforeUID)) + len(beforeUID)
	if at < len(beforeUID) || len(fieldsV1) < at+uidLength {
		return fieldsV1, ownerUID{}
	}
	uid, ok := parseUID(fieldsV1[at : at+uidLength])
	if !ok {
		return fieldsV1, ownerUID{}
	}
	return append(append(buf, fieldsV1[:at]...), fieldsV1[at+uidLength:]...), uid
}

// putUID returns the fieldsV1 from which takeUID took a UID.
func putUID(rest string, uid ownerUID) string {
	if uid == (ownerUID{}) {
		return rest
	}
	at := strings.Index(rest, beforeUID) + len(beforeUID)
	return rest[:at] + uid.text() + rest[at:]
}

// parseUID reads a UID that text writes in the same way.
func parseUID(text []byte) (uid ownerUID, ok bool) {
	for at, i := 0, 0; i < len(uid); i++ {
		if at == 8 || at == 13 || at == 18 || at == 23 {
			if text[at] != '-' {
				return ownerUID{}, false
			}
			at++
		}
		high, low := digit(text[at]), digit(text[at+1])
		if high > 15 || low > 15 {
			return ownerUID{}, false
		}
		uid[i] = high<<4 | low
		at += 2
	}
	return uid, uid != ownerUID{}
}

// digit returns the value of a hexadecimal digit in lower case, or more than 15.
func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 16
}

func (uid ownerUID) text() string {
	b := hex.AppendEncode(make([]byte, 0, uidLength), uid[:4])
	for _, part := range [...][]byte{uid[4:6], uid[6:8], uid[8:10], uid[10:]} {
		b = hex.AppendEncode(append(b, '-'), part)
	}
	return string(b)
}

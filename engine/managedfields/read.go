package managedfields

import (
	"strings"
	"unique"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/engine/decode"
)

// A Reader reads managedFields from streams. It is not safe for concurrent use.
type Reader struct {
	managers Managers
	fields   []byte // of the manager being read
	rest     []byte // the same without the UID of the owner
	known    map[string]unique.Handle[string]
}

// mostKnown is the number of entries that a Reader finds without looking at all others of
// the process. The objects of a kind have a few different ones.
const mostKnown = 64

// Read reads a list of managedFields. It keeps the fields of our managers only. The result
// is valid until the next call.
func (r *Reader) Read(d *decode.Decoder) (Managers, error) {
	r.managers = r.managers[:0]
	if absent, err := d.Null(); absent || err != nil {
		return nil, err
	}
	err := d.Array(func() error {
		m, err := r.readManager(d)
		r.managers = append(r.managers, m)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.managers, nil
}

func (r *Reader) readManager(d *decode.Decoder) (m manager, err error) {
	r.fields = r.fields[:0]
	err = d.Object(func(key string) (err error) {
		operation := ""
		switch key {
		case "manager":
			m.name, err = d.String()
		case "subresource":
			m.subresource, err = d.String()
		case "apiVersion":
			m.version, err = d.String()
		case "operation":
			operation, err = d.String()
			m.applied = operation == "Apply"
		case "fieldsV1":
			r.fields, err = d.AppendRaw(r.fields[:0])
		default:
			err = d.Skip()
		}
		return err
	})
	if len(r.fields) > 0 && (m.applied && (m.name == Manager || strings.HasPrefix(m.name, Manager+"/")) ||
		m.ownsShares()) {
		m.read = r.entryOf(r.fields)
	}
	return m, err
}

// entryOf returns the Entry of a fieldsV1 as the API server sends it. The Entry is the
// same as that of the decoded fieldsV1.
func (r *Reader) entryOf(raw []byte) Entry {
	if isCanonical(raw) {
		rest, uid := takeUID(r.rest[:0], raw)
		if uid != (ownerUID{}) {
			r.rest = rest // It may have grown.
		}
		return Entry{r.intern(rest), uid}
	}
	var fields any
	if utiljson.Unmarshal(raw, &fields) != nil || fields == nil {
		return Entry{}
	}
	return manager{fieldsV1: fields}.entry()
}

// intern is unique.Make without the allocation of a string that is known.
func (r *Reader) intern(text []byte) unique.Handle[string] {
	if h, known := r.known[string(text)]; known {
		return h
	}
	if r.known == nil || len(r.known) == mostKnown {
		r.known = make(map[string]unique.Handle[string], mostKnown)
	}
	h := unique.Make(string(text))
	r.known[h.Value()] = h
	return h
}

// maxNested is how deep isCanonical looks. Objects are rarely deeper.
const maxNested = 64

// isCanonical reports whether valid JSON is certainly what json.Marshal makes of it: maps
// with sorted keys, without white space, and only with characters that it writes as they
// are.
func isCanonical(raw []byte) bool {
	var last [maxNested][]byte // the last key at each depth
	depth := 0
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '{':
			if depth++; depth == maxNested {
				return false
			}
			last[depth] = nil
			i++
		case '}':
			depth--
			i++
		case ',', ':':
			i++
		case '"':
			end := plainEnd(raw, i+1)
			if end < 0 || depth < 1 {
				return false
			}
			key := raw[i+1 : end]
			if last[depth] != nil && compareEscaped(last[depth], key) >= 0 {
				return false
			}
			last[depth] = key
			i = end + 1
		default:
			return false
		}
	}
	return true
}

// plainEnd returns the index of the quote that ends a string, or -1 if the string has
// characters that json.Marshal may write in another way.
func plainEnd(raw []byte, i int) int {
	for ; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			return i
		case c == '\\':
			if i++; i == len(raw) || raw[i] != '"' && raw[i] != '\\' {
				return -1
			}
		case c < ' ' || c > '~' || c == '<' || c == '>' || c == '&':
			return -1
		}
	}
	return -1
}

// compareEscaped compares two strings whose only escapes are \" and \\.
func compareEscaped(a, b []byte) int {
	for i, j := 0, 0; ; i, j = i+1, j+1 {
		switch {
		case i == len(a) && j == len(b):
			return 0
		case i == len(a):
			return -1
		case j == len(b):
			return 1
		}
		if a[i] == '\\' {
			i++
		}
		if b[j] == '\\' {
			j++
		}
		if a[i] != b[j] {
			return int(a[i]) - int(b[j])
		}
	}
}

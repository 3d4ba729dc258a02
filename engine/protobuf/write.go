package protobuf

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// An unknownFieldError means that a message has a field that the Go type does not have, and that
// the rules may read.
type unknownFieldError struct{ number protowire.Number }

// Error implements error.
func (e unknownFieldError) Error() string {
	return fmt.Sprintf("field number %d is not known", e.number)
}

// write appends a message as a JSON object.
func (m *message) write(out, in []byte) ([]byte, error) {
	out, err := m.writeFields(append(out, '{'), in)
	return append(out, '}'), err
}

// writeFields appends the fields of a message as members of a JSON object.
func (m *message) writeFields(out, in []byte) ([]byte, error) {
	var seen uint64
	var begun *field // the list or map that is being written
	for len(in) > 0 {
		t, rest, err := consume(in)
		if err != nil {
			return nil, err
		}
		in = rest
		f := m.field(t.number)
		if begun != nil && begun != f {
			out, begun = append(out, begun.brackets[1]), nil
		}
		switch {
		case f == nil && m.extensible:
			return nil, unknownFieldError{t.number}
		case f == nil || f.shape == skipped:
			continue
		case t.wire != f.wire:
			return nil, fmt.Errorf("field %s: %w", f.name, errInvalid)
		case f.shape == list || f.shape == dictionary:
			if begun == nil {
				if seen&(1<<t.number) != 0 {
					return nil, fmt.Errorf("field %s: its elements are not together", f.name)
				}
				out, begun = append(append(comma(out), f.key...), f.brackets[0]), f
			}
			out, err = f.writeElement(out, t)
		case f.shape == inlined:
			out, err = f.message.writeFields(out, t.bytes)
		case !f.omitEmpty || t.varint != 0 || len(t.bytes) > 0:
			out, err = f.value.write(append(comma(out), f.key...), t)
		}
		if err != nil {
			return nil, err
		}
		seen |= 1 << t.number
	}
	if begun != nil {
		out = append(out, begun.brackets[1])
	}
	for _, number := range m.nulls {
		if seen&(1<<number) == 0 {
			out = append(append(comma(out), m.fields[number].key...), "null"...)
		}
	}
	return out, nil
}

// field returns a field, or nil if the type has none with the number.
func (m *message) field(number protowire.Number) *field {
	if int(number) >= len(m.fields) || m.fields[number].name == "" {
		return nil
	}
	return &m.fields[number]
}

// comma appends a comma, unless an object or a list has just begun.
func comma(out []byte) []byte {
	switch out[len(out)-1] {
	case '{', '[':
		return out
	}
	return append(out, ',')
}

// writeElement appends an element of a list, or an entry of a map.
func (v *value) writeElement(out []byte, t token) ([]byte, error) {
	switch {
	case v.shape == dictionary:
		return v.writeEntry(out, t.bytes)
	case v.element.shape == skipped:
		return out, nil
	}
	return v.element.write(comma(out), t)
}

// writeEntry appends an entry of a map: a message with the key in field 1 and the value in 2.
func (v *value) writeEntry(out, in []byte) ([]byte, error) {
	key, wrong := bytesAt(in, 1)
	content, wrongValue := last(in, 2)
	if err := cmp.Or(wrong, wrongValue); err != nil {
		return nil, err
	}
	if !v.entries.All() && v.entries.Field(string(key)) == nil {
		return out, nil
	}
	if content.number != 0 && content.wire != v.element.wire {
		return nil, errInvalid
	}
	return v.element.write(append(appendQuoted(comma(out), key), ':'), content)
}

// write appends a value.
func (v *value) write(out []byte, t token) ([]byte, error) {
	switch v.shape {
	case text:
		return appendQuoted(out, t.bytes), nil
	case boolean:
		return strconv.AppendBool(out, t.varint != 0), nil
	case integer:
		return strconv.AppendInt(out, int64(t.varint), 10), nil // An int32 has its sign in all 64 bits.
	case encoded:
		out = base64.StdEncoding.AppendEncode(append(out, '"'), t.bytes)
		return append(out, '"'), nil
	case object:
		return v.message.write(out, t.bytes)
	case wrappedList:
		return v.writeWrapped(out, t.bytes)
	case timestamp:
		return writeTime(out, t.bytes)
	case fieldsV1:
		return writeFieldsV1(out, t.bytes)
	}
	x := v.special()
	if err := x.Unmarshal(t.bytes); err != nil {
		return nil, err
	}
	own, err := x.MarshalJSON()
	return append(out, own...), err
}

// writeWrapped appends a list that is a message of its own.
func (v *value) writeWrapped(out, in []byte) ([]byte, error) {
	out = append(out, '[')
	for len(in) > 0 {
		t, rest, err := consume(in)
		switch {
		case err != nil:
		case t.number != 1:
			err = unknownFieldError{t.number}
		case t.wire != v.element.wire:
			err = errInvalid
		default:
			out, err = v.writeElement(out, t)
		}
		if err != nil {
			return nil, err
		}
		in = rest
	}
	return append(out, ']'), nil
}

// writeTime appends a metav1.Time: seconds in field 1.
func writeTime(out, in []byte) ([]byte, error) {
	if len(in) == 0 {
		return append(out, "null"...), nil
	}
	seconds, err := last(in, 1)
	if err != nil {
		return nil, err
	}
	out = time.Unix(int64(seconds.varint), 0).UTC().AppendFormat(append(out, '"'), time.RFC3339)
	return append(out, '"'), nil
}

// writeFieldsV1 appends a metav1.FieldsV1: JSON in field 1.
func writeFieldsV1(out, in []byte) ([]byte, error) {
	content, err := bytesAt(in, 1)
	switch {
	case err != nil:
		return nil, err
	case len(content) == 0:
		return append(out, "null"...), nil
	case content[0] != '{': // It may be CBOR.
		return nil, errInvalid
	}
	return append(out, content...), nil
}

const hexDigits = "0123456789abcdef"

// appendQuoted appends a JSON string. Invalid UTF-8 stays as it is: package decode replaces it, as
// encoding/json does.
func appendQuoted(out, s []byte) []byte {
	out = append(out, '"')
	plain := 0
	for i, c := range s {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		out = append(out, s[plain:i]...)
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		default:
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		plain = i + 1
	}
	return append(append(out, s[plain:]...), '"')
}

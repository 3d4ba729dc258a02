package decode

import (
	"errors"
	"fmt"
	"io"

	"reconcel/rules/projection"
)

// maxDepth is how deep values may be nested, as in sigs.k8s.io/json.
const maxDepth = 10000

const bufferSize = 16 << 10

// A Decoder reads JSON values from a stream. After an error its state is undefined.
type Decoder struct {
	reader  io.Reader
	buf     []byte
	pos     int   // of the next byte in buf
	mark    int   // of the first byte in buf that must stay, or -1
	offset  int64 // of buf in the stream
	depth   int
	keys    []string // of the maps being read
	stack   []any    // values of the maps and lists being read
	scratch []byte   // of a string with escapes
	shared  *shared
}

// New returns a decoder of a stream.
func New(r io.Reader) *Decoder {
	return &Decoder{reader: r, buf: make([]byte, 0, bufferSize), mark: -1, shared: &shared{}}
}

// Reset makes the decoder read another stream. It keeps the memory of the decoder, and the
// values that it shares.
func (d *Decoder) Reset(r io.Reader) {
	clear(d.stack[:cap(d.stack)])
	clear(d.keys[:cap(d.keys)])
	*d = Decoder{reader: r, buf: d.buf[:0], mark: -1, keys: d.keys[:0], stack: d.stack[:0], scratch: d.scratch[:0],
		shared: d.shared}
}

// Next reports whether another value follows. It waits for the stream.
func (d *Decoder) Next() (bool, error) {
	switch _, err := d.token(); {
	case err == nil:
		return true, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return false, nil
	default:
		return false, err
	}
}

// Value returns what a projection keeps of the next value. Equal small maps and lists share
// memory: they must not be changed.
func (d *Decoder) Value(p *projection.Projection) (any, error) {
	v, _, err := d.value(p)
	return v, err
}

// value also returns the hash of a value that may be shared, or else 0.
func (d *Decoder) value(p *projection.Projection) (v any, hash uint64, err error) {
	if p == nil {
		return nil, 0, d.Skip()
	}
	c, err := d.token()
	if err != nil {
		return nil, 0, err
	}
	switch c {
	case '{':
		return d.object(p)
	case '[':
		return d.list(p.Elements())
	case '"':
		text, err := d.text()
		if err != nil {
			return nil, 0, err
		}
		v, hash := d.shared.value(text)
		return v, hash, nil
	case 't':
		return true, hashOfTrue, d.literal("true")
	case 'f':
		return false, hashOfFalse, d.literal("false")
	case 'n':
		return nil, hashOfNull, d.literal("null")
	}
	v, err = d.number()
	return v, hashOfNumber(v), err
}

func (d *Decoder) object(p *projection.Projection) (any, uint64, error) {
	part, err := d.Map(nil, func(key string) (Part, error) { return d.Part(p.Field(key)) })
	return part.Value, part.hash, err
}

// list collects the elements of a list.
func (d *Decoder) list(each *projection.Projection) (any, uint64, error) {
	all := composite{hash: hashOfList}
	bottom := len(d.stack)
	err := d.Array(func() error {
		v, hash, err := d.value(each)
		if each != nil {
			d.stack = append(d.stack, v)
			all.addHash(hash)
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	all.values = d.stack[bottom:]
	v, hash := d.shared.composite(all)
	d.pop(bottom)
	return v, hash, nil
}

// pop removes the values above bottom from the stack.
func (d *Decoder) pop(bottom int) {
	clear(d.stack[bottom:])
	d.stack = d.stack[:bottom]
}

// Object reads a map. It calls value for each key; value must read exactly one value. A key
// may occur more than once: the last one counts.
func (d *Decoder) Object(value func(key string) error) error {
	return d.members('{', '}', func() error {
		switch c, err := d.token(); {
		case err != nil:
			return err
		case c != '"':
			return d.unexpected("a key")
		}
		text, err := d.text()
		if err != nil {
			return err
		}
		key := d.shared.key(text)
		if err := d.expect(':'); err != nil {
			return err
		}
		return value(key)
	})
}

// Array reads a list. It calls element for each one; element must read exactly one value.
func (d *Decoder) Array(element func() error) error { return d.members('[', ']', element) }

// members reads what is between two brackets, separated by commas.
func (d *Decoder) members(first, last byte, member func() error) error {
	if err := d.expect(first); err != nil {
		return err
	}
	if d.depth++; d.depth > maxDepth {
		return fmt.Errorf("invalid JSON: it is nested more than %d levels deep", maxDepth)
	}
	c, err := d.token()
	if err != nil {
		return err
	}
	for empty := c == last; !empty; {
		if err := member(); err != nil {
			return err
		}
		switch c, err := d.token(); {
		case err != nil:
			return err
		case c == last:
			empty = true
		case c == ',':
			d.pos++
		default:
			return d.unexpected("a comma")
		}
	}
	d.pos++
	d.depth--
	return nil
}

// String reads a string.
func (d *Decoder) String() (string, error) {
	switch c, err := d.token(); {
	case err != nil:
		return "", err
	case c != '"':
		return "", d.unexpected("text")
	}
	text, err := d.text()
	if err != nil {
		return "", err
	}
	v, _ := d.shared.value(text)
	return v.(string), nil
}

// Null reads a null, if that is the next value, and reports whether it was.
func (d *Decoder) Null() (bool, error) {
	c, err := d.token()
	if err != nil || c != 'n' {
		return false, err
	}
	return true, d.literal("null")
}

// AppendRaw appends the bytes of the next value to out.
func (d *Decoder) AppendRaw(out []byte) ([]byte, error) {
	if _, err := d.token(); err != nil {
		return out, err
	}
	d.mark = d.pos
	err := d.Skip()
	if err == nil {
		out = append(out, d.buf[d.mark:d.pos]...)
	}
	d.mark = -1
	return out, err
}

// Skip reads the next value, whatever it is.
func (d *Decoder) Skip() error {
	c, err := d.token()
	if err != nil {
		return err
	}
	switch c {
	case '{':
		return d.members('{', '}', d.skipEntry)
	case '[':
		return d.members('[', ']', d.Skip)
	case '"':
		_, err := d.quoted()
		return err
	case 't':
		return d.literal("true")
	case 'f':
		return d.literal("false")
	case 'n':
		return d.literal("null")
	}
	_, err = d.digits()
	return err
}

func (d *Decoder) skipEntry() error {
	switch c, err := d.token(); {
	case err != nil:
		return err
	case c != '"':
		return d.unexpected("a key")
	}
	if _, err := d.quoted(); err != nil {
		return err
	}
	if err := d.expect(':'); err != nil {
		return err
	}
	return d.Skip()
}

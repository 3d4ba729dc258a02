package protobuf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// items are those of a list that is being read: a message with a metav1.ListMeta in field 1 and
// the objects in field 2.
type items struct {
	limit *io.LimitedReader
	from  *bufio.Reader
	comma string // before the next object
	meta  []byte // in JSON
	ended bool
}

// listPart reads the beginning of a list, one of its objects, or its end. A list may be too large to
// be read at once.
func (r *Reader) listPart() error {
	r.dropLarge()
	if r.items == nil {
		return r.beginList()
	}
	in := r.items
	if in.ended {
		return io.EOF
	}
	number, size, err := nextField(in.from)
	switch {
	case errors.Is(err, io.EOF) && in.limit.N == 0:
		in.ended = true
		r.put(append(append(append(r.text[:0], `],"metadata":`...), in.meta...), "}\n"...))
		return nil
	case err != nil:
		return orCut(err, lengthSize)
	}
	if err := r.readFrame(in.from, size); err != nil {
		return err
	}
	text := r.text[:0]
	switch number {
	case 1:
		in.meta, err = r.kind.list.write(nil, r.frame)
	case 2:
		text, err = r.kind.object.write(append(text, in.comma...), r.frame)
		in.comma = ","
	}
	if err != nil {
		return UnreadableError{err}
	}
	r.put(text)
	return nil
}

// beginList reads up to the list, which is wrapped in a runtime.Unknown as objects are.
func (r *Reader) beginList() error {
	from := bufio.NewReader(r.from)
	if begin, err := from.Peek(len(magic)); err != nil || string(begin) != string(magic) {
		r.plain, r.from = true, from
		return nil
	}
	_, _ = from.Discard(len(magic)) // It has them.
	for {
		number, size, err := nextField(from)
		if err != nil {
			return orCut(err, lengthSize)
		}
		if number == 2 {
			limit := &io.LimitedReader{R: from, N: int64(size)}
			r.items = &items{limit: limit, from: bufio.NewReader(limit), meta: []byte("{}")}
			r.put(append(r.text[:0], `{"items":[`...))
			return nil
		}
		if err := r.readFrame(from, size); err != nil {
			return err
		}
		if number == 1 {
			if err := r.kind.checkList(r.frame); err != nil {
				return UnreadableError{err}
			}
		}
	}
}

// checkList compares the apiVersion and kind of a list with those that it must have.
func (k *Kind) checkList(typeMeta []byte) error {
	apiVersion, wrong := bytesAt(typeMeta, 1)
	kind, wrongKind := bytesAt(typeMeta, 2)
	if wrong != nil || wrongKind != nil || string(apiVersion) != k.apiVersion || string(kind) != k.kind+"List" {
		return fmt.Errorf("%s of %s instead of %sList of %s", kind, apiVersion, k.kind, k.apiVersion)
	}
	return nil
}

// nextField reads the number of a field and the size of its bytes.
func nextField(from *bufio.Reader) (number protowire.Number, size uint64, err error) {
	tag, err := binary.ReadUvarint(from)
	if err != nil {
		return 0, 0, err
	}
	number, wire := protowire.DecodeTag(tag)
	if wire != protowire.BytesType {
		return 0, 0, UnreadableError{errInvalid}
	}
	if size, err = binary.ReadUvarint(from); errors.Is(err, io.EOF) {
		err = ErrCut
	}
	return number, size, err
}

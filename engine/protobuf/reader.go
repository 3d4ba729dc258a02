package protobuf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A Reader gives what the API server sends as JSON. The zero value is ready for Events, List or
// Object, which may be called again for another answer.
type Reader struct {
	kind *Kind
	from io.Reader
	more func() error // puts more JSON into text, or sets plain
	// plain: the answer is JSON, from an API server that has no Protobuf for the kind.
	plain bool
	begun bool
	items *items // of a list
	frame []byte // an object or an event
	text  []byte // the same in JSON
	read  int    // how much of text has been read
}

// Events reads the answer to a watch request. The result gives one event after the other.
func (r *Reader) Events(k *Kind, from io.Reader) io.Reader {
	r.reset(k, from)
	r.more = r.event
	return r.orPlain()
}

// List reads the answer to a list request, one object after the other.
func (r *Reader) List(k *Kind, from io.Reader) io.Reader {
	r.reset(k, from)
	r.more = r.listPart
	return r.orPlain()
}

// Object reads an answer that is one object.
func (r *Reader) Object(k *Kind, from io.Reader) io.Reader {
	r.reset(k, from)
	r.more = r.object
	return r.orPlain()
}

func (r *Reader) reset(k *Kind, from io.Reader) {
	r.dropLarge()
	*r = Reader{kind: k, from: from, frame: r.frame, text: r.text[:0]}
}

// orPlain returns the answer itself if nothing but JSON was asked for.
func (r *Reader) orPlain() io.Reader {
	if r.kind == nil {
		return r.from
	}
	return r
}

// An UnreadableError means that an answer cannot be given as JSON. The API server can send it as JSON.
type UnreadableError struct{ Err error }

// Error implements error.
func (e UnreadableError) Error() string { return "answer in Protobuf: " + e.Err.Error() }

// Unwrap returns the reason.
func (e UnreadableError) Unwrap() error { return e.Err }

// ErrCut means that an answer ends within an object or an event.
var ErrCut = errors.New("the answer is cut off")

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	for r.read == len(r.text) && !r.plain {
		if err := r.more(); err != nil {
			return 0, err
		}
	}
	if r.read < len(r.text) {
		n := copy(p, r.text[r.read:])
		r.read += n
		return n, nil
	}
	return r.from.Read(p)
}

const (
	lengthSize = 4       // of the length before each event
	maxFrame   = 1 << 26 // bytes; the API server sends far less
	keptBuffer = 1 << 18 // bytes; a larger buffer is not used again
)

// event reads an event of a watch.
func (r *Reader) event() error {
	r.dropLarge()
	var length [lengthSize]byte
	if n, err := io.ReadFull(r.from, length[:]); err != nil {
		return orCut(err, n)
	}
	if !r.begun && length[0] == '{' { // As a length, it would be far above the limit.
		r.plain = true
		r.put(length[:])
		return nil
	}
	r.begun = true
	if err := r.readFrame(r.from, uint64(binary.BigEndian.Uint32(length[:]))); err != nil {
		return err
	}
	return r.write(r.kind.writeEvent)
}

// object reads one object, up to the end of the answer.
func (r *Reader) object() error {
	if r.begun {
		return io.EOF
	}
	r.begun = true
	frame := bytes.NewBuffer(r.frame[:0])
	if _, err := frame.ReadFrom(r.from); err != nil {
		return err
	}
	if r.frame = frame.Bytes(); !bytes.HasPrefix(r.frame, magic) {
		r.put(append(r.text[:0], r.frame...))
		return nil
	}
	return r.write(r.kind.writeObject)
}

// write makes the frame, in JSON, the next to be read.
func (r *Reader) write(as func(out, in []byte) ([]byte, error)) error {
	text, err := as(r.text[:0], r.frame)
	if err != nil {
		return UnreadableError{err}
	}
	r.put(append(text, '\n'))
	return nil
}

// readFrame reads the bytes of an object or an event.
func (r *Reader) readFrame(from io.Reader, size uint64) error {
	if size > maxFrame {
		return UnreadableError{fmt.Errorf("an object or an event of %d bytes", size)}
	}
	if size > uint64(cap(r.frame)) {
		r.frame = make([]byte, size)
	}
	r.frame = r.frame[:size]
	if _, err := io.ReadFull(from, r.frame); err != nil {
		return orCut(err, lengthSize)
	}
	return nil
}

// orCut returns the error of a read after n bytes of an object or event.
func orCut(err error, n int) error {
	if n > 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return ErrCut
	}
	return err
}

// put makes a text the next to be read.
func (r *Reader) put(text []byte) { r.text, r.read = text, 0 }

// dropLarge drops buffers that were needed for few objects.
func (r *Reader) dropLarge() {
	if cap(r.frame) > keptBuffer {
		r.frame = nil
	}
	if cap(r.text) > keptBuffer {
		r.put(nil)
	}
}

package protobuf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A Reader gives what the API server sends as JSON. The zero value is ready for Events or Object,
// which may be called again for another answer.
type Reader struct {
	kind *Kind
	from io.Reader
	more func() error // puts more JSON into text, or sets plain
	// plain: the answer is JSON, from an API server that has no Protobuf for the kind.
	plain bool
	begun bool
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

// Object reads an answer that is one object.
func (r *Reader) Object(k *Kind, from io.Reader) io.Reader {
	r.reset(k, from)
	r.more = r.object
	return r.orPlain()
}

func (r *Reader) reset(k *Kind, from io.Reader) {
	*r = Reader{kind: k, from: from, frame: r.frame[:0], text: r.text[:0]}
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
	maxFrame   = 1 << 28 // bytes; the API server sends far less
	keptBuffer = 1 << 18 // bytes; a larger buffer is not used again
)

// event reads an event of a watch.
func (r *Reader) event() error {
	var length [lengthSize]byte
	if _, err := io.ReadFull(r.from, length[:]); err != nil {
		return err
	}
	if !r.begun && length[0] == '{' { // As a length, it would be far above the limit.
		r.plain, r.text = true, append(r.text, length[:]...)
		return nil
	}
	r.begun = true
	size := binary.BigEndian.Uint32(length[:])
	if size > maxFrame {
		return UnreadableError{fmt.Errorf("an event of %d bytes", size)}
	}
	r.dropLarge()
	if int(size) > cap(r.frame) {
		r.frame = make([]byte, size)
	}
	r.frame = r.frame[:size]
	if _, err := io.ReadFull(r.from, r.frame); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
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
	r.dropLarge()
	frame := bytes.NewBuffer(r.frame[:0])
	if _, err := frame.ReadFrom(r.from); err != nil {
		return err
	}
	r.frame = frame.Bytes()
	if !bytes.HasPrefix(r.frame, magic) {
		r.text = append(r.text, r.frame...)
		return nil
	}
	return r.write(r.kind.writeObject)
}

// write puts the frame into text.
func (r *Reader) write(as func(out, in []byte) ([]byte, error)) error {
	text, err := as(r.text[:0], r.frame)
	if err != nil {
		return UnreadableError{err}
	}
	r.text, r.read = append(text, '\n'), 0
	return nil
}

// dropLarge drops buffers that were needed for few objects.
func (r *Reader) dropLarge() {
	if cap(r.frame) > keptBuffer {
		r.frame = nil
	}
	if cap(r.text) > keptBuffer {
		r.text = nil
	}
	r.text, r.read = r.text[:0], 0
}

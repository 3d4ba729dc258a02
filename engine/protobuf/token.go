package protobuf

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// errInvalid means that a text is not Protobuf, or that a field has another type.
var errInvalid = errors.New("invalid Protobuf")

// A token is one field of a message.
type token struct {
	number protowire.Number
	wire   protowire.Type
	varint uint64 // the value of protowire.VarintType
	bytes  []byte // the value of protowire.BytesType
}

// consume reads the first field of a message, and returns what follows it.
func consume(in []byte) (t token, rest []byte, err error) {
	number, wire, n := protowire.ConsumeTag(in)
	if n < 0 {
		return token{}, nil, errInvalid
	}
	t.number, t.wire, in = number, wire, in[n:]
	switch wire {
	case protowire.VarintType:
		t.varint, n = protowire.ConsumeVarint(in)
	case protowire.BytesType:
		t.bytes, n = protowire.ConsumeBytes(in)
	default:
		n = protowire.ConsumeFieldValue(number, wire, in)
	}
	if n < 0 {
		return token{}, nil, errInvalid
	}
	return t, in[n:], nil
}

// bytesAt returns the bytes of a field of a message, at a path of numbers. If a field of the path is
// missing, it returns no bytes.
func bytesAt(in []byte, path ...protowire.Number) ([]byte, error) {
	for _, number := range path {
		t, err := last(in, number)
		if err != nil {
			return nil, err
		}
		in = t.bytes
	}
	return in, nil
}

// last returns the last field with a number in a message, or an empty one.
func last(in []byte, number protowire.Number) (found token, err error) {
	for len(in) > 0 {
		t, rest, err := consume(in)
		if err != nil {
			return token{}, err
		}
		if t.number == number {
			found = t
		}
		in = rest
	}
	return found, nil
}

package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
)

// maxFrame is the maximum size of a message in bytes. Editors send whole files, and
// package source accepts a file of 1 MiB.
const maxFrame = 64 << 20

var errFrame = errors.New("the input is not the Language Server Protocol")

// readFrame reads the content of one message. It returns io.EOF between messages.
func readFrame(r *bufio.Reader) ([]byte, error) {
	if _, err := r.Peek(1); err != nil {
		return nil, err
	}
	header, err := textproto.NewReader(r).ReadMIMEHeader()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	size, err := strconv.Atoi(header.Get("Content-Length"))
	switch {
	case err != nil || size < 0:
		return nil, fmt.Errorf("%w: a message without Content-Length", errFrame)
	case size > maxFrame:
		return nil, fmt.Errorf("%w: a message of %d bytes, more than %d", errFrame, size, maxFrame)
	}
	content := make([]byte, size)
	_, err = io.ReadFull(r, content)
	return content, err
}

// writeFrame writes one message.
func writeFrame(w io.Writer, message any) error {
	content, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = w.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(content)), content...))
	return err
}

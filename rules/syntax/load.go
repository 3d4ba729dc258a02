package syntax

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// load returns the documents of a text up to the first that is not YAML, and
// the complaint about that one.
func (t *text) load() ([]*yaml.Node, *Error) {
	docs, err := decode(strings.NewReader(t.data))
	if err != nil {
		return docs, t.explain(err)
	}
	return docs, nil
}

// decode reads all documents. A panic of the YAML package is a file that
// cannot be read, not the end of a controller.
func decode(r io.Reader) (docs []*yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	dec := yaml.NewDecoder(r)
	for {
		doc := new(yaml.Node)
		if err := dec.Decode(doc); errors.Is(err, io.EOF) {
			return docs, nil
		} else if err != nil {
			return docs, err
		}
		docs = append(docs, doc)
	}
}

// A drip hands out one byte at a time, so that how much has been read tells
// where the reader stopped.
type drip struct {
	*bytes.Reader
}

func (d drip) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return d.Reader.Read(p[:1])
}

// stop returns the byte at which the YAML package gave up, give or take the
// few characters that it looks ahead.
func (t *text) stop() int {
	d := drip{bytes.NewReader([]byte(t.data))}
	_, _ = decode(d)
	return len(t.data) - d.Len()
}

package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Reader reads files and collects what is wrong with them.
type Reader struct {
	// RuleDepth is the depth at which the maps of a document are rules: errors
	// about anything within one carry its name. 0: there are no rules.
	RuleDepth int

	errs []*Error
}

// Add records an error.
func (r *Reader) Add(e *Error) { r.errs = append(r.errs, e) }

// Count returns how many errors are recorded.
func (r *Reader) Count() int { return len(r.errs) }

// Since returns the errors recorded after the first n.
func (r *Reader) Since(n int) []*Error { return r.errs[n:] }

// Err returns the recorded errors as an Errors, or nil.
func (r *Reader) Err(files ...File) error { return Collect(files, r.errs).Err() }

// Documents returns the documents of a file, up to the first that is not YAML,
// and whether all of them are. Aliases are replaced by what they stand for.
func (r *Reader) Documents(file File) (docs []Value, isYAML bool) {
	t := newText(file)
	if err := t.check(); err != nil {
		r.Add(err)
		return nil, false
	}
	roots, err := t.load()
	if err != nil {
		r.Add(err)
	}
	x := expander{value: Value{Reader: r, text: t}, sizes: make(map[*yaml.Node]int), active: make(map[*yaml.Node]bool)}
	for _, doc := range roots {
		for _, root := range doc.Content {
			x.expand(root)
			if !isNull(root) {
				v := x.value
				v.node = root
				docs = append(docs, v)
			}
		}
	}
	return docs, err == nil
}

// load returns the documents of a text up to the first that is not YAML, and the
// error in that one.
func (t *text) load() ([]*yaml.Node, *Error) {
	docs, err := decodeAll(strings.NewReader(t.data))
	if err != nil {
		return docs, t.explain(err)
	}
	return docs, nil
}

// decodeAll reads all documents. A panic of the YAML package counts as an error
// in the file: it must not end the controller.
func decodeAll(r io.Reader) (docs []*yaml.Node, err error) {
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

// A drip hands out one byte at a time, so that the number of bytes read tells
// where the parser stopped.
type drip struct {
	*bytes.Reader
}

func (d drip) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return d.Reader.Read(p[:1])
}

// stop returns the byte at which the YAML package gave up, within the few
// characters that it reads ahead.
func (t *text) stop() int {
	d := drip{bytes.NewReader([]byte(t.data))}
	_, _ = decodeAll(d)
	return len(t.data) - d.Len()
}

package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxValues is the maximum number of keys and values in a file.
const maxValues = 100_000

// A Reader reads files and collects their errors.
type Reader struct {
	// RuleDepth is the depth at which the maps of a document are rules: errors
	// within a rule include its name. 0: there are no rules.
	RuleDepth int

	Suggester
	errs        []*Error
	expressions []*Expr // those that were read
}

// Add records an error.
func (r *Reader) Add(e *Error) { r.errs = append(r.errs, e) }

// Count returns the number of recorded errors.
func (r *Reader) Count() int { return len(r.errs) }

// Since returns the errors recorded after the first n.
func (r *Reader) Since(n int) []*Error { return r.errs[n:] }

// Expressions returns the expressions that were read, in order.
func (r *Reader) Expressions() []*Expr { return r.expressions }

// Err returns the recorded errors as an Errors, or nil.
func (r *Reader) Err(files ...File) error { return Collect(files, r.errs).Err() }

// Documents returns the documents of a file up to the first that is not valid YAML,
// and whether all are valid. It replaces aliases by their targets.
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
	if n := excess(roots, maxValues); n != nil {
		r.Add(NewError(t.pos(n), "", fmt.Sprintf("file has more than %d values", maxValues), "split it"))
		return nil, false
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

// excess returns the node after the first n, or nil if there is none.
func excess(roots []*yaml.Node, n int) *yaml.Node {
	var found *yaml.Node
	var visit func([]*yaml.Node)
	visit = func(nodes []*yaml.Node) {
		for _, node := range nodes {
			if n--; n == -1 {
				found = node
			}
			if found == nil {
				visit(node.Content)
			}
		}
	}
	visit(roots)
	return found
}

// Invalid returns the error of a file that is not valid YAML, or nil.
func Invalid(file File) *Error {
	t := newText(file)
	_, err := t.load()
	if err == nil || t.tooLarge {
		return nil
	}
	if not := t.check(); not != nil {
		return not
	}
	return err
}

// Nodes returns the documents of a text as they are, or the error in the first that is
// not valid YAML.
func Nodes(file File) ([]*yaml.Node, *Error) {
	docs, err := newText(file).load()
	if err != nil {
		return nil, err
	}
	return docs, nil
}

// load returns the documents of a text up to the first that is not valid YAML, and
// the error in that one.
func (t *text) load() ([]*yaml.Node, *Error) {
	docs, err := decodeAll(strings.NewReader(t.data))
	if err != nil {
		return docs, t.explain(err)
	}
	return docs, nil
}

// decodeAll reads all documents. It returns a panic of the YAML package as an error
// in the file, because a file must not stop the controller.
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

// A drip returns one byte for each read, so that the number of bytes read shows
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

// stopOffset returns the byte where the YAML package stopped, give or take the few
// characters that it reads ahead.
func (t *text) stopOffset() int {
	d := drip{bytes.NewReader([]byte(t.data))}
	_, _ = decodeAll(d)
	return len(t.data) - d.Len()
}

package schema

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the packed schemas
	"encoding/json"
	"fmt"
	"sync"
)

// packed is a Document in JSON, which the command pack makes.
//
//go:embed kubernetes.gz
var packed []byte

// builtin is the content of packed.
var builtin = sync.OnceValue(func() *source {
	s, err := unpackSchemas(packed)
	if err != nil {
		panic(fmt.Sprintf("schema: the embedded schemas cannot be read: %v", err)) // A test reads them.
	}
	return s
})

func unpackSchemas(data []byte) (*source, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	doc := &Document{}
	if err := json.NewDecoder(z).Decode(doc); err != nil {
		return nil, err
	}
	s := newSource()
	s.addDocument(doc)
	return s, nil
}

package schema

import (
	"compress/gzip"
	_ "embed" // for the packed schemas
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// packed is a Document in JSON, which the command pack makes.
//
//go:embed kubernetes.gz
var packed string

// builtin is the content of packed.
var builtin = sync.OnceValue(func() *source {
	s := newSource()
	s.addDocument(unpack[*Document](packed))
	return s
})

// unpack reads one of the embedded files.
func unpack[T any](data string) (content T) {
	z, err := gzip.NewReader(strings.NewReader(data))
	if err == nil {
		err = json.NewDecoder(z).Decode(&content)
	}
	if err != nil {
		panic(fmt.Sprintf("schema: the embedded schemas cannot be read: %v", err)) // Tests read them.
	}
	return content
}

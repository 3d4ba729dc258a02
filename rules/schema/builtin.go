package schema

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the packed schemas
	"fmt"
	"io"
	"strings"
	"sync"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// packed is made by the command pack. Each line is one of
//
//	kind VERSION KIND RESOURCE -FLAGS DEFINITION
//	schema DEFINITION JSON
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
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	s := newSource()
	for line := range strings.Lines(string(text)) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "kind":
			f := strings.Fields(rest)
			if len(f) != 5 {
				return nil, fmt.Errorf("bad line %q", line)
			}
			s.add(&Kind{
				GVK:        runtimeschema.FromAPIVersionAndKind(f[0], f[1]),
				Resource:   f[2],
				Namespaced: strings.Contains(f[3], "n"),
				Status:     strings.Contains(f[3], "s"),
				Scale:      strings.Contains(f[3], "c"),
				Definition: f[4],
			})
		case "schema":
			name, text, _ := strings.Cut(rest, " ")
			s.definitions[name] = fromJSON([]byte(text))
		default:
			return nil, fmt.Errorf("bad line %q", line)
		}
	}
	return s, nil
}

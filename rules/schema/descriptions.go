package schema

import (
	_ "embed" // for the packed descriptions
	"sync"
)

// Descriptions are the descriptions of definitions, by the name of the definition and the
// field. That of the definition itself has the field "".
type Descriptions map[string]map[string]string

// packedDescriptions are Descriptions in JSON, which the command pack makes.
//
//go:embed descriptions.gz
var packedDescriptions string

// descriptions is the content of packedDescriptions. Only editors need it: until somebody
// asks, it costs no memory.
var descriptions = sync.OnceValue(func() Descriptions { return unpack[Descriptions](packedDescriptions) })

// Description returns what Kubernetes says about a field of one of its own definitions, or
// "". The field "" is the definition itself.
func Description(definition, field string) string { return descriptions()[definition][field] }

// Package yamltext writes YAML that reads back as the same value.
package yamltext

import (
	"bytes"
	"encoding/json"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Marshal writes a value as YAML, by its JSON form. It fails if the value has none.
func Marshal(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return FromJSON(text)
}

// FromJSON writes JSON as YAML. It fails if the JSON is not valid, or has control characters that
// YAML cannot have.
func FromJSON(text []byte) ([]byte, error) {
	// The library reads JSON as YAML, in which U+0085 is a line break, and would write a space.
	return yaml.JSONToYAML(bytes.ReplaceAll(text, []byte("\u0085"), []byte(`\u0085`)))
}

// Documents writes documents with lists at the indentation of their keys.
func Documents(all ...*yamlv3.Node) ([]byte, error) {
	var b bytes.Buffer
	enc := yamlv3.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	for _, doc := range all {
		if err := enc.Encode(doc); err != nil {
			return nil, err
		}
	}
	err := enc.Close()
	return b.Bytes(), err
}

// Command schemapack writes the schemas of Kubernetes' own kinds into two small files that
// are embedded in the program:
//
//	schemapack SCHEMAS.gz DESCRIPTIONS.gz DOCUMENT.json...
//
// The documents are those of /openapi/v3. It keeps the kinds and the definitions that
// they need. The descriptions have a file of their own, because only editors read them.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"

	"reconcel/rules/schema"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: schemapack SCHEMAS.gz DESCRIPTIONS.gz DOCUMENT.json...")
		os.Exit(2) //nolint:forbidigo // a command of its own
	}
	if err := pack(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "schemapack:", err)
		os.Exit(1) //nolint:forbidigo // a command of its own
	}
}

func pack(schemas, descriptions string, files []string) error {
	all := schema.Document{Definitions: map[string]json.RawMessage{}}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		doc, err := schema.ReadDocument(data)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		all.Kinds = append(all.Kinds, doc.Kinds...)
		maps.Copy(all.Definitions, doc.Definitions)
	}
	needed, docs, err := neededDefinitions(all)
	if err != nil {
		return err
	}
	if err := writeCompressed(schemas, schema.Document{Kinds: all.Kinds, Definitions: needed}); err != nil {
		return err
	}
	return writeCompressed(descriptions, docs)
}

// neededDefinitions returns the definitions that the kinds need, directly or indirectly,
// and their descriptions.
func neededDefinitions(all schema.Document) (map[string]json.RawMessage, schema.Descriptions, error) {
	var todo []string
	for _, k := range all.Kinds {
		todo = append(todo, k.Definition)
	}
	needed, docs := map[string]json.RawMessage{}, schema.Descriptions{}
	for ; len(todo) > 0; todo = todo[1:] {
		name := todo[0]
		if needed[name] != nil {
			continue
		}
		var v any
		dec := json.NewDecoder(bytes.NewReader(all.Definitions[name]))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		docs[name] = describe(v)
		text, err := json.Marshal(strip(v, &todo))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		needed[name] = text
	}
	return needed, docs, nil
}

// describe returns the descriptions of a definition, by field. Its own is that of "".
func describe(definition any) map[string]string {
	docs := map[string]string{}
	m, _ := definition.(map[string]any)
	properties, _ := m["properties"].(map[string]any)
	for name, p := range properties {
		add(docs, name, p)
	}
	add(docs, "", definition)
	return docs
}

func add(docs map[string]string, field string, schema any) {
	m, _ := schema.(map[string]any)
	if text, _ := m["description"].(string); text != "" {
		docs[field] = text
	}
}

// dropped are the keys of a schema that checks do not read.
var dropped = []string{"description", "example", "externalDocs", "x-kubernetes-patch-strategy",
	"x-kubernetes-patch-merge-key", "x-kubernetes-unions"}

// strip removes these keys from a schema, and collects its references.
func strip(v any, refs *[]string) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for _, key := range dropped {
		delete(m, key)
	}
	if ref, ok := m["$ref"].(string); ok {
		*refs = append(*refs, strings.TrimPrefix(ref, schema.RefPrefix))
	}
	if properties, ok := m["properties"].(map[string]any); ok {
		for name, p := range properties {
			properties[name] = strip(p, refs)
		}
	}
	for _, key := range []string{"items", "additionalProperties", "not"} {
		if sub, ok := m[key]; ok {
			m[key] = strip(sub, refs)
		}
	}
	for _, key := range []string{"allOf", "oneOf", "anyOf"} {
		subs, _ := m[key].([]any)
		for i := range subs {
			subs[i] = strip(subs[i], refs)
		}
	}
	return m
}

func writeCompressed(file string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

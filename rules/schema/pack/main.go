// Command pack writes the schemas of Kubernetes' own kinds into a small file that is
// embedded in the program:
//
//	pack OUT.gz DOCUMENT.json...
//
// The documents are those of /openapi/v3. pack keeps the kinds and the definitions that
// they need, without descriptions.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"reconcel/rules/schema"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: pack OUT.gz DOCUMENT.json...")
		os.Exit(2) //nolint:forbidigo // a command of its own
	}
	if err := pack(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1) //nolint:forbidigo // a command of its own
	}
}

func pack(out string, files []string) error {
	var lines []string
	definitions := map[string]json.RawMessage{}
	var models []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		doc, err := schema.ReadDocument(data)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, k := range doc.Kinds {
			lines = append(lines, kindLine(k))
			models = append(models, k.Definition)
		}
		maps.Copy(definitions, doc.Definitions)
	}
	needed, err := closure(definitions, models)
	if err != nil {
		return err
	}
	slices.Sort(lines)
	for _, name := range slices.Sorted(slices.Values(needed.names)) {
		lines = append(lines, "schema "+name+" "+needed.text[name])
	}
	return write(out, strings.Join(lines, "\n")+"\n")
}

func kindLine(k *schema.Kind) string {
	flags := ""
	if k.Namespaced {
		flags += "n"
	}
	if k.Status {
		flags += "s"
	}
	if k.Scale {
		flags += "c"
	}
	return strings.Join([]string{"kind", k.GVK.GroupVersion().String(), k.GVK.Kind, k.Resource, "-" + flags, k.Definition}, " ")
}

// A selection is the definitions that are needed.
type selection struct {
	names []string
	text  map[string]string
}

// closure returns the definitions that models need, directly or indirectly.
func closure(all map[string]json.RawMessage, models []string) (*selection, error) {
	s := &selection{text: map[string]string{}}
	for todo := models; len(todo) > 0; todo = todo[1:] {
		name := todo[0]
		if _, done := s.text[name]; done {
			continue
		}
		var v any
		dec := json.NewDecoder(bytes.NewReader(all[name]))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var refs []string
		text, err := json.Marshal(strip(v, &refs))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.names = append(s.names, name)
		s.text[name] = string(text)
		todo = append(todo, refs...)
	}
	return s, nil
}

// dropped are the keys of a schema that nothing in this program reads.
var dropped = []string{"description", "example", "externalDocs", "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key", "x-kubernetes-unions"}

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

func write(file, text string) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write([]byte(text)); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

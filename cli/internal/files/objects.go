package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/settings"
	"reconcel/rules/source"
)

// An Object is a Kubernetes object with the file that it comes from.
type Object struct {
	unstructured.Unstructured
	File string
}

// String returns the kind, namespace and name.
func (o *Object) String() string {
	if o.GetNamespace() == "" {
		return o.GetKind() + " " + o.GetName()
	}
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

var objectFiles = filter{[]string{".yaml", ".yml", ".json"}, everyFile}

func everyFile(string) bool { return true }

// Objects reads Kubernetes objects from files and folders. A file has any number of
// YAML or JSON documents; the items of a list are separate objects.
func (r Reader) Objects(paths []string) (all []*Object, err error) {
	texts, unread := r.readAll(paths, objectFiles, func(string) bool { return false })
	var wrong []error
	for _, e := range unread {
		wrong = append(wrong, e)
	}
	for _, text := range texts {
		objects, err := decodeObjects(text)
		if err != nil {
			wrong = append(wrong, err)
		}
		all = append(all, objects...)
	}
	switch {
	case len(unread) > 0:
		return nil, exit.Failure(errors.Join(wrong...))
	case len(wrong) > 0:
		return nil, exit.Wrong(errors.Join(wrong...))
	}
	return all, nil
}

// decodeObjects reads the documents of one file. It tries JSON first: YAML may
// begin with a brace, too.
func decodeObjects(from source.File) (all []*Object, err error) {
	file := from.Name
	documents, err := splitJSON(from.Data)
	if err != nil {
		documents, err = splitYAML(from.Data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, document := range documents {
		var content any
		if err := utiljson.Unmarshal(document, &content); err != nil {
			return all, fmt.Errorf("%s: %w", file, err)
		}
		if content == nil {
			continue // The document has only comments.
		}
		entries, isMap := content.(map[string]any)
		if !isMap {
			return all, fmt.Errorf("%s: expected a Kubernetes object, got a %s", file, settings.TypeOf(content))
		}
		all = appendObjects(all, file, entries)
	}
	return all, nil
}

// splitJSON returns the concatenated JSON documents of a text.
func splitJSON(data []byte) (documents [][]byte, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var document json.RawMessage
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return documents, nil
		} else if err != nil {
			return nil, err
		}
		documents = append(documents, document)
	}
}

// splitYAML returns the YAML documents of a text as JSON. It puts empty lines
// before each document, so that the errors of the parser have the line numbers of
// the file.
func splitYAML(data []byte) (documents [][]byte, err error) {
	lines := strings.SplitAfter(string(data), "\n")
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && !startsDocument(lines[to]) {
			to++
		}
		text := strings.Join(lines[from:to], "")
		if startsDocument(lines[from]) {
			text = "   " + text[len("---"):] // The rest of the line belongs to the document.
		}
		document, err := yaml.YAMLToJSONStrict([]byte(strings.Repeat("\n", from) + text))
		if err != nil {
			return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
		}
		documents = append(documents, document)
		from = to
	}
	return documents, nil
}

// startsDocument reports whether a line is a document marker. YAML allows it
// nowhere else.
func startsDocument(line string) bool {
	return strings.HasPrefix(line, "---") && strings.TrimLeft(line[3:], " \t\r\n") != line[3:] || line == "---"
}

// appendObjects adds an object, or the items of a list.
func appendObjects(all []*Object, file string, content map[string]any) []*Object {
	o := &Object{Unstructured: unstructured.Unstructured{Object: content}, File: file}
	items, ok := content["items"].([]any)
	if !ok || !strings.HasSuffix(o.GetKind(), "List") {
		return append(all, o)
	}
	for _, item := range items {
		entries, ok := item.(map[string]any)
		if !ok {
			entries = map[string]any{} // Check rejects it later.
		}
		inherit(entries, o)
		all = appendObjects(all, file, entries)
	}
	return all
}

// inherit sets the kind of an item in a typed list, where the API server omits it.
func inherit(item map[string]any, list *Object) {
	kind := strings.TrimSuffix(list.GetKind(), "List")
	if kind == "" || item["kind"] != nil || item["apiVersion"] != nil {
		return
	}
	item["apiVersion"], item["kind"] = list.GetAPIVersion(), kind
}

// Check returns an error if the object lacks a required field, or has a wrong type
// in one.
func (o *Object) Check() error {
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, field := range []string{"name", "namespace"} {
		if _, isText := metadata[field].(string); metadata[field] != nil && !isText {
			return fmt.Errorf("%s: %s: metadata.%s must be text, is the %s %v (quote it)", o.File, o.GetKind(), field, settings.TypeOf(metadata[field]), metadata[field])
		}
	}
	switch {
	case o.GetAPIVersion() == "" || o.GetKind() == "":
		return fmt.Errorf("%s: an object without apiVersion and kind", o.File)
	case o.GetName() == "":
		return fmt.Errorf("%s: %s without metadata.name", o.File, o.GetKind())
	}
	return nil
}

package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/settings"
	"reconcel/internal/disk"
	"reconcel/rules/source"
)

// An Object is a Kubernetes object with the file that it comes from.
type Object struct {
	Unstructured unstructured.Unstructured
	File         string
	text         []byte // of the file
}

// String returns the kind, namespace and name.
func (o *Object) String() string {
	if o.Unstructured.GetNamespace() == "" {
		return o.Unstructured.GetKind() + " " + o.Unstructured.GetName()
	}
	return o.Unstructured.GetKind() + " " + o.Unstructured.GetNamespace() + "/" + o.Unstructured.GetName()
}

var objectFiles = filter{[]string{".yaml", ".yml", ".json"}, everyFile, objectLimit + 1}

func everyFile(string) bool { return true }

// Objects reads Kubernetes objects from files and folders. A file has any number of
// YAML or JSON documents; the items of a list are separate objects. After errors, it returns
// the objects of the other files.
func (r Reader) Objects(paths []string) (all []*Object, err error) {
	texts, wrong := r.readAll(paths, objectFiles, func(string) bool { return false })
	fail := exit.Wrong
	if len(wrong) > 0 {
		fail = exit.Failure
	}
	for _, text := range texts {
		objects, err := decodeObjects(text)
		if err == nil {
			err = r.emptied(text)
		}
		if err != nil {
			wrong = append(wrong, err)
		}
		all = append(all, objects...)
	}
	if len(wrong) > 0 {
		return all, fail(source.Collect(texts, wrong))
	}
	return all, nil
}

// emptied returns an error for an empty file. Pipes and devices may be empty on purpose.
func (r Reader) emptied(from source.File) *source.Error {
	if info, err := disk.Stat(from.Name); len(from.Data) > 0 || r.Texts != nil || err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return source.NewError(source.Pos{File: from.Name, Line: 1, Column: 1}, "", "file is empty", source.Emptied)
}

// decodeObjects reads the documents of one file. It tries JSON first: YAML may
// begin with a brace, too.
func decodeObjects(from source.File) (all []*Object, wrong *source.Error) {
	if len(from.Data) > objectLimit {
		return nil, source.NewError(source.Pos{File: from.Name}, "", fmt.Sprintf("has more than %d MiB", objectLimit>>20), "")
	}
	documents, err := splitJSON(from.Data)
	if err != nil {
		documents, wrong = splitYAML(from)
	}
	if wrong != nil {
		return nil, wrong
	}
	for _, d := range documents {
		var content any
		if err := utiljson.Unmarshal(d.data, &content); err != nil {
			return all, source.NewError(d.pos, "", err.Error(), "")
		}
		if content == nil {
			continue // The document has only comments.
		}
		entries, isMap := content.(map[string]any)
		if !isMap {
			return all, source.NewError(d.pos, "", "expected a Kubernetes object, got a "+settings.TypeOf(content), "")
		}
		all = appendObjects(all, from, entries)
	}
	return all, nil
}

// A document is one of a file, as JSON.
type document struct {
	data []byte
	pos  source.Pos // of its first line; only the file is known of JSON
}

// splitJSON returns the concatenated JSON documents of a text.
func splitJSON(data []byte) (documents []document, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var d json.RawMessage
		if err := decoder.Decode(&d); errors.Is(err, io.EOF) {
			return documents, nil
		} else if err != nil {
			return nil, err
		}
		documents = append(documents, document{data: d})
	}
}

// splitYAML returns the YAML documents of a file as JSON.
func splitYAML(from source.File) (documents []document, wrong *source.Error) {
	lines := strings.SplitAfter(string(from.Data), "\n")
	for first := 0; first < len(lines); {
		next := first + 1
		for next < len(lines) && !startsDocument(lines[next]) {
			next++
		}
		text := strings.Join(lines[first:next], "")
		if startsDocument(lines[first]) {
			text = "   " + text[len("---"):] // The rest of the line belongs to the document.
		}
		d, err := yaml.YAMLToJSONStrict([]byte(text))
		if err != nil {
			return nil, brokenYAML(from, err, first)
		}
		documents = append(documents, document{d, source.Pos{File: from.Name, Line: first + 1, Column: 1}})
		first = next
	}
	return documents, nil
}

// lineOf matches the line in the first message of the YAML parser.
var lineOf = regexp.MustCompile(`line (\d+): ([^\n]*)`)

// brokenYAML returns an error of the YAML parser with its position in the file. The
// parser counts lines from the first one of the document.
func brokenYAML(from source.File, err error, first int) *source.Error {
	if e := source.Invalid(from); e != nil {
		return e
	}
	pos, message := source.Pos{File: from.Name}, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := lineOf.FindStringSubmatch(message); m != nil {
		line, _ := strconv.Atoi(m[1])
		pos.Line, pos.Column, message = first+line, 1, m[2]
		if text := lineText(from.Data, pos.Line); text != "" {
			pos.Column = utf8.RuneCountInString(text[:len(text)-len(strings.TrimLeft(text, " -\t"))]) + 1
		}
	}
	return source.NewError(pos, "", "not valid YAML: "+message, "")
}

// lineText returns a line of a text.
func lineText(data []byte, line int) string {
	for text := range strings.Lines(string(data)) {
		if line--; line == 0 {
			return text
		}
	}
	return ""
}

// startsDocument reports whether a line is a document marker. YAML allows it
// nowhere else.
func startsDocument(line string) bool {
	return strings.HasPrefix(line, "---") && strings.TrimLeft(line[3:], " \t\r\n") != line[3:] || line == "---"
}

// appendObjects adds an object, or the items of a list.
func appendObjects(all []*Object, from source.File, content map[string]any) []*Object {
	o := &Object{Unstructured: unstructured.Unstructured{Object: content}, File: from.Name, text: from.Data}
	items, ok := content["items"].([]any)
	if !ok || !strings.HasSuffix(o.Unstructured.GetKind(), "List") {
		return append(all, o)
	}
	for _, item := range items {
		entries, ok := item.(map[string]any)
		if !ok {
			entries = map[string]any{} // Check rejects it later.
		}
		inherit(entries, o)
		all = appendObjects(all, from, entries)
	}
	return all
}

// inherit sets the kind of an item in a typed list, where the API server omits it.
func inherit(item map[string]any, list *Object) {
	kind := strings.TrimSuffix(list.Unstructured.GetKind(), "List")
	if kind == "" || item["kind"] != nil || item["apiVersion"] != nil {
		return
	}
	item["apiVersion"], item["kind"] = list.Unstructured.GetAPIVersion(), kind
}

// Check returns an error if the object lacks a required field, or has a wrong type
// in one.
func (o *Object) Check() error {
	metadata, _ := o.Unstructured.Object["metadata"].(map[string]any)
	for _, field := range []string{"name", "namespace"} {
		if _, isText := metadata[field].(string); metadata[field] != nil && !isText {
			return o.flaw("metadata."+field, "%s: metadata.%s must be text, is the %s %v (quote it)", o.Unstructured.GetKind(),
				field, settings.TypeOf(metadata[field]), metadata[field])
		}
	}
	switch {
	case o.Unstructured.GetAPIVersion() == "" || o.Unstructured.GetKind() == "":
		return o.flaw("", "an object without apiVersion and kind")
	case o.Unstructured.GetName() == "":
		return o.flaw("metadata", "%s without metadata.name", o.Unstructured.GetKind())
	}
	return nil
}

// flaw returns an error at a field of the object.
func (o *Object) flaw(path, format string, args ...any) error {
	e := source.NewError(o.Position(path), "", fmt.Sprintf(format, args...), "")
	return source.Collect([]source.File{o.Source()}, []*source.Error{e})
}

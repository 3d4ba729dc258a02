package files

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/exit"
	"reconcel/rules/source"
)

// Stream visits the objects in files and folders as JSON, one after another: the files may
// be larger than the memory. It understands what kubectl prints: documents, and lists whose
// items are separate objects.
func (r Reader) Stream(paths []string, visit func(object []byte) error) error {
	for _, path := range paths {
		found, err := r.find(path, objectFiles)
		if err != nil {
			return exit.Failure(unreadable(path, err))
		}
		for _, file := range found {
			if err := r.streamFile(file, visit); err != nil {
				return exit.Failure(fmt.Errorf("%s: %w", file, exit.Cause(err)))
			}
		}
	}
	return nil
}

func (r Reader) streamFile(file string, visit func([]byte) error) error {
	from := r.Stdin
	if file != Stdin {
		r.see(file)
		f, err := open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		from = f
	}
	text := bufio.NewReaderSize(from, 1<<16)
	if head, _ := text.Peek(1); len(head) == 0 {
		if e := r.emptied(source.File{Name: file}); e != nil {
			return errors.New(e.Text())
		}
	}
	if isJSON(text) {
		return streamJSON(text, visit)
	}
	return streamYAML(text, visit)
}

// isJSON reports whether a text begins with a brace.
func isJSON(text *bufio.Reader) bool {
	for n := 1; ; n++ {
		head, err := text.Peek(n)
		if len(head) < n || err != nil {
			return false
		}
		if c := head[n-1]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c == '{'
		}
	}
}

// streamJSON visits the objects of concatenated JSON documents.
func streamJSON(text io.Reader, visit func([]byte) error) error {
	d := json.NewDecoder(text)
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := streamDocument(d, visit); err != nil {
			return err
		}
	}
}

// streamDocument visits the object, or the items of the list, whose brace was read.
func streamDocument(d *json.Decoder, visit func([]byte) error) error {
	fields, isList := map[string]json.RawMessage{}, false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if key == "items" {
			if isList, err = streamItems(d, fields, visit); err != nil {
				return err
			}
			continue
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		fields[key.(string)] = value
	}
	if _, err := d.Token(); err != nil || isList {
		return err
	}
	object, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	return visit(object)
}

// streamItems visits the items of a list whose other fields so far are given.
func streamItems(d *json.Decoder, fields map[string]json.RawMessage,
	visit func([]byte) error) (isList bool, err error) {
	bracket, err := d.Token()
	if err != nil || bracket != json.Delim('[') {
		return false, errors.Join(err, errors.New("items is not a list"))
	}
	for d.More() {
		var item json.RawMessage
		if err := d.Decode(&item); err != nil {
			return true, err
		}
		if err := visit(inheriting(item, fields)); err != nil {
			return true, err
		}
	}
	_, err = d.Token()
	return true, err
}

// inheriting returns an item of a typed list with its kind, which the API server omits.
func inheriting(item []byte, list map[string]json.RawMessage) []byte {
	var typed struct{ Kind, APIVersion string }
	var kind, version string
	_ = json.Unmarshal(item, &typed)
	_ = json.Unmarshal(list["kind"], &kind)
	_ = json.Unmarshal(list["apiVersion"], &version)
	if kind = strings.TrimSuffix(kind, "List"); typed.Kind != "" || kind == "" {
		return item
	}
	head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,`, version, kind)
	return append([]byte(head), bytes.TrimPrefix(bytes.TrimLeft(item, " \n\t"), []byte("{"))...)
}

// streamYAML visits the objects of YAML documents. The items of a list begin in the first
// column, as kubectl prints them; other lists are read as a whole.
func streamYAML(text *bufio.Reader, visit func([]byte) error) error {
	s := yamlStream{visit: visit}
	for {
		line, err := text.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if wrong := s.line(line); wrong != nil {
			return wrong
		}
		if err != nil {
			return s.end()
		}
	}
}

// A yamlStream splits YAML into objects.
type yamlStream struct {
	visit   func([]byte) error
	text    strings.Builder // of the current object
	inItems bool
}

func (s *yamlStream) line(line string) error {
	switch {
	case startsDocument(line):
		if err := s.end(); err != nil {
			return err
		}
		s.inItems = false
		line = "   " + strings.TrimPrefix(line, "---")
	case strings.HasPrefix(line, "items:") && strings.TrimSpace(line) == "items:":
		s.inItems = true
	case s.inItems && strings.HasPrefix(line, "- "):
		if err := s.end(); err != nil {
			return err
		}
		line = " " + line[1:]
	case s.inItems && line != "" && !strings.ContainsAny(line[:1], " #\r\n"):
		if err := s.end(); err != nil {
			return err
		}
		s.inItems = false
	}
	s.text.WriteString(line)
	return nil
}

// end visits the current object. The list around items is not an object.
func (s *yamlStream) end() error {
	text := s.text.String()
	s.text.Reset()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil || string(data) == "null" {
		return err
	}
	var about struct {
		Kind     string
		Metadata struct{ Name string }
	}
	switch err := json.Unmarshal(data, &about); {
	case err != nil:
		return errors.New("expected Kubernetes objects")
	case about.Metadata.Name == "" && (about.Kind == "" || strings.HasSuffix(about.Kind, "List")):
		if bytes.Contains(data, []byte(`"items":[`)) {
			return streamJSON(bytes.NewReader(data), s.visit)
		}
		return nil
	}
	return s.visit(data)
}

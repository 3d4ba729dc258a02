// Package explain describes the keys of files, in the format of kubectl explain.
package explain

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"reconcel/rules/source"
)

// lineWidth is the width of descriptions, in characters.
const lineWidth = 80

// An UnknownError is a path that the schema does not have.
type UnknownError struct {
	Path string // up to the unknown key
	Keys []string
}

// Error names the unknown key and the nearest known one.
func (e *UnknownError) Error() string {
	key := e.Path[strings.LastIndex(e.Path, ".")+1:]
	if len(e.Keys) == 0 {
		return e.Path + ": the key above it has no documented keys"
	}
	return fmt.Sprintf("%s: unknown key%s; the keys are %s", e.Path, source.DidYouMean(key, e.Keys),
		strings.Join(e.Keys, ", "))
}

// Describe returns the documentation of the key at a path such as
// rules.children.onChange, or of the whole file for "". Lists have no part of the path, and the first key may be
// left out: children.onChange.
func Describe(root *source.Schema, path string) ([]byte, error) {
	text, err := describe(root, path)
	unknown, ok := errors.AsType[*UnknownError](err)
	if !ok || strings.Contains(unknown.Path, ".") {
		return text, err
	}
	for _, p := range root.Properties {
		if p.Value != nil && slices.Contains(keys(element(p.Value)), unknown.Path) {
			return describe(root, p.Name+"."+path)
		}
	}
	return nil, err
}

func describe(root *source.Schema, path string) ([]byte, error) {
	s, required := root, false
	var walked []string
	for key := range strings.SplitSeq(path, ".") {
		if path == "" {
			break
		}
		walked = append(walked, key)
		within := element(s)
		i := slices.IndexFunc(within.Properties, func(p source.Property) bool { return p.Name == key && p.Value != nil })
		if others, ok := within.Others.(*source.Schema); i < 0 && ok {
			s, required = others, false
			continue
		}
		if i < 0 {
			return nil, &UnknownError{strings.Join(walked, "."), keys(within)}
		}
		s, required = within.Properties[i].Value, slices.Contains(within.Required, key)
	}
	var b bytes.Buffer
	if path != "" {
		fmt.Fprintf(&b, "FIELD: %s <%s>%s\n\n", walked[len(walked)-1], typeOf(s), mark(required))
	}
	enum(&b, s)
	b.WriteString("DESCRIPTION:\n")
	wrap(&b, "    ", description(s))
	fields(&b, element(s))
	return b.Bytes(), nil
}

// element returns the schema of the elements of a list, that of the alternative that has keys, or the schema itself.
func element(s *source.Schema) *source.Schema {
	if s.Items != nil {
		return element(s.Items)
	}
	if len(s.Properties) == 0 {
		for _, alternative := range s.AnyOf {
			if e := element(alternative); len(e.Properties) > 0 {
				return e
			}
		}
	}
	return s
}

// description returns the text of a key, and that of the elements of its list.
func description(s *source.Schema) string {
	all := s.Doc
	if e := element(s); e != s && e.Doc != "" {
		all = strings.TrimSpace(all + " Each element: " + e.Doc)
	}
	if all == "" {
		return "<none>"
	}
	return all
}

func enum(b *bytes.Buffer, s *source.Schema) {
	if len(s.Enum) == 0 {
		return
	}
	b.WriteString("ENUM:\n")
	for i, word := range s.Enum {
		fmt.Fprintf(b, "    %s\n", word)
		if i < len(s.EnumDocs) {
			wrap(b, "        ", s.EnumDocs[i])
		}
	}
	b.WriteByte('\n')
}

func fields(b *bytes.Buffer, s *source.Schema) {
	if len(s.Properties) == 0 {
		return
	}
	b.WriteString("\nFIELDS:\n")
	for i, p := range s.Properties {
		if p.Value == nil {
			continue // It only has a message of its own.
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "  %s\t<%s>%s\n", p.Name, typeOf(p.Value), mark(slices.Contains(s.Required, p.Name)))
		wrap(b, "    ", description(p.Value))
	}
}

func mark(required bool) string {
	if required {
		return " -required-"
	}
	return ""
}

func keys(s *source.Schema) (names []string) {
	for _, p := range s.Properties {
		if p.Value != nil {
			names = append(names, p.Name)
		}
	}
	return names
}

// typeOf names the types as kubectl does: string, integer, boolean, Object, []Object.
func typeOf(s *source.Schema) string {
	var names []string
	for _, t := range s.Type {
		switch {
		case t == "null":
			continue // The same as no key.
		case t == "array" && s.Items != nil:
			if t = typeOf(s.Items); strings.Contains(t, "|") {
				t = "(" + t + ")"
			}
			t = "[]" + t
		case t == "object":
			t = "Object"
		}
		names = append(names, t)
	}
	for _, alternative := range s.AnyOf {
		if name := typeOf(alternative); len(s.Type) == 0 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 || slices.Contains(names, "any") {
		return "any"
	}
	return strings.Join(names, "|")
}

// wrap prints a text in lines of at most lineWidth characters.
func wrap(b *bytes.Buffer, indent, text string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		width := 0
		for word := range strings.FieldsSeq(line) {
			n := len([]rune(word))
			switch {
			case width == 0:
				b.WriteString(indent)
				width = len(indent)
			case width+1+n > lineWidth:
				b.WriteString("\n" + indent)
				width = len(indent)
			default:
				b.WriteByte(' ')
				width++
			}
			b.WriteString(word)
			width += n
		}
		b.WriteByte('\n')
	}
}

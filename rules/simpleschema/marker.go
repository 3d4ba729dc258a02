package simpleschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// A marker is a name with a value, as it is written without its quotes.
type marker struct {
	name, value string
	quoted      bool
}

// splitMarkers splits a field into its type and the text of its markers.
func splitMarkers(text string) (typeName, markers string) {
	typeName, markers, _ = strings.Cut(text, "|")
	return strings.TrimSpace(typeName), strings.TrimSpace(markers)
}

// readMarkers reads name=value, separated by blanks.
func readMarkers(text string) ([]marker, error) {
	var out []marker
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		name, rest, given := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		if !given || strings.ContainsAny(name, " \t\n") {
			return nil, fmt.Errorf("%q: write markers as name=value, separated by blanks", text)
		}
		if setMarker[name] == nil && name != "required" {
			return nil, fmt.Errorf("unknown marker %q: write required, %s", name,
				strings.Join(slices.Sorted(maps.Keys(setMarker)), ", "))
		}
		if slices.ContainsFunc(out, func(m marker) bool { return m.name == name && name != "validation" }) {
			return nil, fmt.Errorf("the marker %s is there twice", name)
		}
		if len(out) == maxMarkers {
			return nil, fmt.Errorf("there are more than %d markers", maxMarkers)
		}
		m := marker{name: name}
		length, err := m.read(strings.TrimLeft(rest, " \t"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, m)
		text = strings.TrimLeft(rest, " \t")[length:]
	}
	return out, nil
}

// read reads the value at the beginning of a text, and returns its length there.
func (m *marker) read(text string) (int, error) {
	if text == "" {
		return 0, errors.New("has no value")
	}
	var end byte
	switch text[0] {
	case '"', '\'':
		m.quoted, end = true, text[0]
	case '{', '[':
		decoder := json.NewDecoder(strings.NewReader(text))
		var value any
		if err := decoder.Decode(&value); err != nil {
			return 0, fmt.Errorf("the value is not JSON: %w", err)
		}
		m.value = text[:decoder.InputOffset()]
		return int(decoder.InputOffset()), nil
	default:
		n := strings.IndexAny(text, " \t\n")
		if n < 0 {
			n = len(text)
		}
		m.value = text[:n]
		return n, nil
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == end:
			m.value = b.String()
			return i + 1, nil
		case c == '\\' && i+1 < len(text) && (text[i+1] == end || text[i+1] == '\\'):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return 0, errors.New("the quote is not closed")
}

func (m marker) boolean() (bool, error) {
	b, err := strconv.ParseBool(m.value)
	if err != nil {
		return false, fmt.Errorf("%q is not true or false", m.value)
	}
	return b, nil
}

func (m marker) number() (*float64, error) {
	f, err := strconv.ParseFloat(m.value, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a number", m.value)
	}
	return &f, nil
}

func (m marker) count() (*int64, error) {
	n, err := strconv.ParseInt(m.value, 10, 64)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%q is not a count", m.value)
	}
	return &n, nil
}

// setMarker sets what each marker says.
var setMarker = map[string]func(marker, *spec.Schema) error{
	"description":   func(m marker, s *spec.Schema) error { s.Description = m.value; return nil },
	"format":        func(m marker, s *spec.Schema) error { s.Format = m.value; return nil },
	"default":       func(m marker, s *spec.Schema) (err error) { s.Default, err = m.valueOf(s); return err },
	"enum":          marker.enum,
	"minimum":       func(m marker, s *spec.Schema) (err error) { s.Minimum, err = m.number(); return err },
	"maximum":       func(m marker, s *spec.Schema) (err error) { s.Maximum, err = m.number(); return err },
	"minLength":     func(m marker, s *spec.Schema) (err error) { s.MinLength, err = m.count(); return err },
	"maxLength":     func(m marker, s *spec.Schema) (err error) { s.MaxLength, err = m.count(); return err },
	"minItems":      func(m marker, s *spec.Schema) (err error) { s.MinItems, err = m.count(); return err },
	"maxItems":      func(m marker, s *spec.Schema) (err error) { s.MaxItems, err = m.count(); return err },
	"minProperties": func(m marker, s *spec.Schema) (err error) { s.MinProperties, err = m.count(); return err },
	"maxProperties": func(m marker, s *spec.Schema) (err error) { s.MaxProperties, err = m.count(); return err },
	"nullable":      func(m marker, s *spec.Schema) (err error) { s.Nullable, err = m.boolean(); return err },
	"pattern":       marker.pattern,
	"uniqueItems":   marker.unique,
	"immutable":     marker.immutable,
	"validation":    func(m marker, s *spec.Schema) error { addRule(s, map[string]any{"rule": m.value}); return nil },
}

func (m marker) pattern(s *spec.Schema) error {
	_, err := regexp.Compile(m.value)
	s.Pattern = m.value
	return err
}

// enum reads a list of values: of JSON, or separated by commas.
func (m marker) enum(s *spec.Schema) error {
	if strings.HasPrefix(m.value, "[") {
		return utiljson.Unmarshal([]byte(m.value), &s.Enum)
	}
	for text := range strings.SplitSeq(m.value, ",") {
		v, err := marker{value: strings.TrimSpace(text), quoted: m.quoted}.valueOf(s)
		if err != nil {
			return err
		}
		s.Enum = append(s.Enum, v)
	}
	return nil
}

// unique makes a list a set, as the API server keeps it: it knows no uniqueItems.
func (m marker) unique(s *spec.Schema) error {
	yes, err := m.boolean()
	if yes {
		s.AddExtension("x-kubernetes-list-type", "set")
	}
	return err
}

func (m marker) immutable(s *spec.Schema) error {
	yes, err := m.boolean()
	if yes {
		addRule(s, map[string]any{"rule": immutableRule, "message": "cannot be changed"})
	}
	return err
}

const (
	immutableRule = "self == oldSelf"
	validations   = "x-kubernetes-validations"
)

func addRule(s *spec.Schema, rule map[string]any) {
	before, _ := s.Extensions[validations].([]any)
	s.AddExtension(validations, append(before[:len(before):len(before)], rule))
}

// valueOf reads the value as one of the schema's type.
func (m marker) valueOf(s *spec.Schema) (any, error) {
	of := ""
	if len(s.Type) == 1 {
		of = s.Type[0]
	}
	switch of {
	case "string":
		return m.value, nil
	case "boolean":
		return m.boolean()
	case "number":
		f, err := m.number()
		if err != nil {
			return nil, err
		}
		return *f, nil
	}
	var out any
	err := utiljson.Unmarshal([]byte(m.value), &out)
	switch {
	case err != nil && of == "":
		return m.value, nil
	case err != nil:
		return nil, fmt.Errorf("%q is not of the type %s", m.value, of)
	case of == "" && m.quoted:
		return m.value, nil
	}
	fits := map[string]bool{"": true}
	switch out.(type) {
	case int64:
		fits["integer"] = true
	case []any:
		fits["array"] = true
	case map[string]any:
		fits["object"] = true
	}
	if !fits[of] {
		return nil, fmt.Errorf("%q is not of the type %s", m.value, of)
	}
	return out, nil
}

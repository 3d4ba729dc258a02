package reference

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// exampleName is the name of the example. Few checks of names reject it.
const exampleName = "example"

// example returns a resource with the fields that it must have.
func example(apiVersion, kind string, root *spec.Schema) (string, error) {
	top := &yaml.Node{Kind: yaml.MappingNode}
	set(top, "apiVersion", scalar(apiVersion))
	set(top, "kind", scalar(kind))
	metadata := &yaml.Node{Kind: yaml.MappingNode}
	set(metadata, "name", scalar(exampleName))
	set(top, "metadata", metadata)
	if root != nil {
		for _, name := range []string{"apiVersion", "kind", "metadata"} {
			root = without(root, name)
		}
		addRequired(top, root)
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(top); err != nil {
		return "", fmt.Errorf("write the example of %s: %w", kind, err)
	}
	return b.String(), nil
}

// without returns an object's schema that does not require a field.
func without(s *spec.Schema, name string) *spec.Schema {
	out := *s
	out.Required = slices.DeleteFunc(slices.Clone(s.Required), func(required string) bool { return required == name })
	return &out
}

// addRequired adds the required fields of an object.
func addRequired(to *yaml.Node, s *spec.Schema) {
	for _, f := range fieldsIn("", s) {
		if f.required {
			set(to, f.path, sampleOf(f.path, f.schema))
		}
	}
}

func set(to *yaml.Node, key string, v *yaml.Node) { to.Content = append(to.Content, scalar(key), v) }

// scalar returns the node of a value of JSON.
func scalar(v any) *yaml.Node {
	n := &yaml.Node{}
	if n.Encode(v) != nil {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	return n
}

// sampleOf returns a value for a field. A value of which only the author of the rules knows
// more has a comment.
func sampleOf(name string, s *spec.Schema) *yaml.Node {
	element, _ := elementOf(s)
	switch {
	case s.Default != nil:
		return scalar(s.Default)
	case len(s.Enum) > 0:
		return scalar(s.Enum[0])
	case extension(s, "x-kubernetes-int-or-string"):
		return scalar(1)
	case s.Type.Contains("array"):
		return elements(name, s, element)
	case s.Type.Contains("object"):
		out := &yaml.Node{Kind: yaml.MappingNode}
		addRequired(out, s)
		if element != nil {
			set(out, "key", sampleOf(name, element))
		}
		if len(out.Content) == 0 {
			out.Style = yaml.FlowStyle
			if extension(s, "x-kubernetes-preserve-unknown-fields") {
				out.LineComment = "with any fields"
			}
		}
		return out
	case s.Type.Contains("string"):
		return text(name, s)
	case s.Type.Contains("integer"), s.Type.Contains("number"):
		return scalar(numeral(s))
	case s.Type.Contains("boolean"):
		return scalar(true)
	}
	n := scalar(nil)
	n.LineComment = "any value"
	return n
}

// elements returns a list with one element, or as many as there must be.
func elements(name string, s, element *spec.Schema) *yaml.Node {
	out := &yaml.Node{Kind: yaml.SequenceNode}
	n := int64(1)
	if s.MinItems != nil {
		n = max(n, *s.MinItems)
	}
	for range n {
		if element != nil {
			out.Content = append(out.Content, sampleOf(strings.TrimSuffix(name, "s"), element))
		}
	}
	if n > 1 {
		out.HeadComment = fmt.Sprintf("at least %d elements", n)
	}
	return out
}

// numeral returns the smallest number that a field may have, positive if possible.
func numeral(s *spec.Schema) any {
	step := 1.0
	if s.MultipleOf != nil {
		step = *s.MultipleOf
	}
	n := step
	if s.Minimum != nil {
		n = max(n, math.Ceil(*s.Minimum/step)*step)
		if s.ExclusiveMinimum && n == *s.Minimum {
			n += step
		}
	}
	if s.Maximum != nil && n > *s.Maximum {
		n = *s.Maximum
		if s.ExclusiveMaximum {
			n -= step
		}
	}
	if n == math.Trunc(n) {
		return int64(n)
	}
	return n
}

// likely are texts for fields with these names.
var likely = map[string]string{
	"image": "registry.example.com/app:1.0", "namespace": "default", "host": "www.example.com", "hostname": "www.example.com",
	"domain": "example.com", "url": "https://example.com", "version": "1.0.0", "path": "/", "schedule": "0 3 * * *",
	"size": "1Gi", "storage": "1Gi", "cpu": "100m", "memory": "128Mi", "ttl": "1h", "interval": "1h", "timeout": "1h", "command": "sh",
}

// formats are texts of the formats that the API server checks.
var formats = map[string]string{
	"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "duration": "1h", "email": "name@example.com", "hostname": "www.example.com",
	"uri": "https://example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "cidr": "192.0.2.0/24", "mac": "00:00:5e:00:53:01",
	"uuid": "123e4567-e89b-12d3-a456-426614174000", "byte": "ZXhhbXBsZQ==", "password": "secret",
}

// others are texts that many patterns accept.
var others = []string{exampleName, "a", "A", "1", "1.0", "1.0.0", "v1", "v1.0.0", "/", "1h", "1d", "1Gi", "10%", "example.com", "example.com/a", "https://example.com", "name@example.com", "0 3 * * *", "192.0.2.1", "12:00", "2026-01-31"}

// text returns the first likely text that a field accepts, or one with a comment.
func text(name string, s *spec.Schema) *yaml.Node {
	first := exampleName
	if known, ok := formats[s.Format]; ok {
		first = known
	} else if known, ok := likely[strings.ToLower(name)]; ok {
		first = known
	}
	for _, candidate := range append([]string{first}, others...) {
		if s.MinLength != nil {
			if missing := int(*s.MinLength) - utf8.RuneCountInString(candidate); missing > 0 {
				candidate += strings.Repeat("a", missing)
			}
		}
		if accepts(s, candidate) {
			return scalar(candidate)
		}
	}
	n := scalar(first)
	n.LineComment = "must match " + strconv.Quote(s.Pattern)
	return n
}

// accepts reports whether a text has the length and pattern of a field.
func accepts(s *spec.Schema, candidate string) bool {
	if s.MaxLength != nil && int64(utf8.RuneCountInString(candidate)) > *s.MaxLength {
		return false
	}
	pattern, err := regexp.Compile(s.Pattern)
	return err != nil || pattern.MatchString(candidate)
}

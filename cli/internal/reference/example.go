package reference

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"k8s.io/utils/ptr"

	"reconcel/internal/yamltext"
)

// exampleName is the name of the example. Few checks of names reject it.
const exampleName = "example"

// mostRepeated limits elements and characters that an example has because of their least number.
const mostRepeated = 100

// example returns a resource with the fields that it must have.
func example(gvk runtimeschema.GroupVersionKind, root *spec.Schema) (string, error) {
	object := requiredOf(root)
	object["apiVersion"], object["kind"] = gvk.ToAPIVersionAndKind()
	object["metadata"] = map[string]any{"name": exampleName}
	text, err := yamltext.Marshal(object)
	return string(text), err
}

// requiredOf returns an object with the fields that it must have.
func requiredOf(s *spec.Schema) map[string]any {
	object := map[string]any{}
	for name, field := range s.Properties {
		if isRequired(s, name) {
			object[name] = sampleOf(name, &field)
		}
	}
	return object
}

// sampleOf returns a value for a field.
func sampleOf(name string, s *spec.Schema) any {
	element, _ := elementOf(s)
	switch {
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type.Contains("array"):
		list := []any{}
		for range min(max(ptr.Deref(s.MinItems, 1), 1), mostRepeated) {
			if element != nil {
				list = append(list, sampleOf(strings.TrimSuffix(name, "s"), element))
			}
		}
		return list
	case s.Type.Contains("object"):
		object := requiredOf(s)
		if element != nil {
			object["key"] = sampleOf(name, element)
		}
		return object
	}
	return sampleScalar(name, s)
}

// likely are texts for fields with these formats or names.
var likely = map[string]string{
	"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "duration": "1h", "email": "name@example.com",
	"uri": "https://example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "cidr": "192.0.2.0/24",
	"mac": "00:00:5e:00:53:01", "uuid": "123e4567-e89b-12d3-a456-426614174000", "byte": "ZXhhbXBsZQ==",
	"image": "registry.example.com/app:1.0", "namespace": "default", "host": "www.example.com",
	"hostname": "www.example.com", "domain": "example.com", "url": "https://example.com", "version": "1.0.0",
	"path": "/", "schedule": "0 3 * * *", "size": "1Gi", "storage": "1Gi", "cpu": "100m", "memory": "128Mi",
	"ttl": "1h", "interval": "1h", "timeout": "1h", "command": "sh",
}

// others are texts that many patterns accept.
var others = []string{exampleName, "a", "A", "1", "1.0", "1.0.0", "v1", "v1.0.0", "/", "1h", "1d", "1Gi", "10%",
	"example.com", "example.com/a", "https://example.com", "name@example.com", "0 3 * * *", "192.0.2.1", "12:00",
	"2026-01-31"}

// sampleScalar returns the first likely value that a field accepts, or says what it has to match.
func sampleScalar(name string, s *spec.Schema) any {
	step := ptr.Deref(s.MultipleOf, 1)
	least, most := ptr.Deref(s.Minimum, step), ptr.Deref(s.Maximum, step)
	values := []any{step, least, least + step, math.Ceil(least/step) * step, most, most - step, true}
	for _, text := range append([]string{likely[s.Format], likely[strings.ToLower(name)]}, others...) {
		if text != "" {
			missing := min(ptr.Deref(s.MinLength, 0), mostRepeated) - int64(utf8.RuneCountInString(text))
			values = append(values, text+strings.Repeat("a", int(max(0, missing))))
		}
	}
	validator := validate.NewSchemaValidator(s, nil, "", strfmt.Default)
	if at := slices.IndexFunc(values, func(v any) bool { return validator.Validate(v).IsValid() }); at >= 0 {
		return values[at]
	}
	return "must match " + s.Pattern
}

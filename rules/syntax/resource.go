package syntax

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/source"
)

// Names and the scale subresource are written as in a CustomResourceDefinition.
var (
	resourceName = &source.Schema{Type: source.Types{"string"}, Pattern: `^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`,
		Expected: "Expected at most 63 lower-case letters, digits and -, with a letter first."}
	resourceNames = &source.Schema{Type: source.Types{"array", "null"}, Items: resourceName, Unique: true}

	namesShape = source.Shape{
		Doc: "What the API server calls the kind, as `spec.names` of a CRD.",
		Keys: []source.Key{
			{Name: "plural", Value: resourceName, Doc: "The plural. By default, it is derived from the kind as in English."},
			{Name: "singular", Value: resourceName, Doc: "The singular: the kind in lower case by default."},
			{Name: "shortNames", Value: resourceNames, Doc: "Short names for kubectl, such as `deploy`."},
			{Name: "categories", Value: resourceNames,
				Doc: "Groups of kinds, such as `all`, with which `kubectl get all` lists the objects."},
		},
	}
	scaleShape = source.Shape{
		Doc: "The fields that the scale subresource shows, as `subresources.scale` of a CRD.",
		Keys: []source.Key{
			{Name: "specReplicasPath", Required: true, Value: scalePath(specPath), Doc: "The wanted number, such as `.spec.size`."},
			{Name: "statusReplicasPath", Required: true, Value: scalePath(statusPath),
				Doc: "The number that there is, such as `.status.readyMembers`."},
			{Name: "labelSelectorPath", Value: scalePath(selectorPath),
				Doc: "The selector of the Pods as text, for a HorizontalPodAutoscaler, such as `.status.selector`."},
		},
	}
)

// Paths of the fields that the scale subresource shows.
var (
	specPath     = regexp.MustCompile(`^\.spec(\.[A-Za-z0-9_]+)+$`)
	statusPath   = regexp.MustCompile(`^\.status(\.[A-Za-z0-9_]+)+$`)
	selectorPath = regexp.MustCompile(`^\.(spec|status)(\.[A-Za-z0-9_]+)+$`)
)

func scalePath(pattern *regexp.Regexp) *source.Schema {
	return &source.Schema{Type: source.Types{"string"}, Pattern: pattern.String(),
		Expected: "Expected the path of a field, such as .spec.replicas or .status.replicas."}
}

// readResourceNames reads spec.names of a CRD. It returns nil if the key is missing or null.
func readResourceNames(v source.Value) map[string]any {
	if v.Missing() || v.IsNull() {
		return nil
	}
	t, names := v.Table(&namesShape), map[string]any{}
	for _, key := range []string{"plural", "singular"} {
		if name := readResourceName(t.Key(key)); name != "" {
			names[key] = name
		}
	}
	for _, key := range []string{"shortNames", "categories"} {
		var list []any
		for _, item := range t.Key(key).Items() {
			if name := readResourceName(item); name != "" {
				list = append(list, name)
			}
		}
		if len(list) > 0 {
			names[key] = list
		}
	}
	return names
}

func readResourceName(v source.Value) string {
	if v.Missing() {
		return ""
	}
	s, ok := v.Literal()
	if ok && len(validation.IsDNS1035Label(s.Value)) > 0 {
		v.Errorf("%q is not a name of a resource", s.Value).Hint =
			"use at most 63 lower-case letters, digits and -, with a letter first and no - last"
	}
	return s.Value
}

// readScale reads subresources.scale of a CRD. It returns nil if the key is missing or null.
func readScale(v source.Value) map[string]any {
	if v.Missing() || v.IsNull() {
		return nil
	}
	t, scale := v.Table(&scaleShape), map[string]any{}
	read := func(key string, pattern *regexp.Regexp, example string) {
		at := t.Key(key)
		if at.Missing() {
			return
		}
		if path, ok := at.Literal(); ok && pattern.MatchString(path.Value) {
			scale[key] = path.Value
		} else if ok {
			at.Errorf("%q is not the path of such a field", path.Value).Hint = "write a path like " + example
		}
	}
	read("specReplicasPath", specPath, ".spec.replicas")
	read("statusReplicasPath", statusPath, ".status.replicas")
	read("labelSelectorPath", selectorPath, ".status.selector")
	return scale
}

//go:build integration

package examples

import (
	"encoding/json"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// rule is the part of a rule that the tests need. They parse it themselves, independently
// of the code under test.
type rule struct {
	Name     string
	For      selections
	Children []child
	Finalize []child
}

type child struct {
	ID           string
	Replicas     any
	OnChange     string
	OnDelete     string
	IgnoreFields []any // a path, or a map with a condition
	Generate     map[string]any
	Template     typeMeta
}

// others returns the fields that keep what other writers set.
func (c child) others() []string {
	var fields []string
	for _, entry := range c.IgnoreFields {
		if path, ok := entry.(string); ok {
			fields = append(fields, path)
		}
	}
	for key := range c.Generate {
		fields = append(fields, "data."+key)
	}
	return fields
}

type typeMeta struct{ APIVersion, Kind string }

// selections are the kinds that a rule is for: none, one, or a list.
type selections []typeMeta

// UnmarshalJSON reads a map, a list, or the text cluster.
func (s *selections) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return nil
	case '[':
		return json.Unmarshal(data, (*[]typeMeta)(s))
	}
	*s = make(selections, 1)
	return json.Unmarshal(data, &(*s)[0])
}

func (m typeMeta) gvk() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(m.APIVersion, m.Kind)
}

func readRules(files []string) (all []rule, err error) {
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for document := range strings.SplitSeq(string(data), "\n---") {
			var parsed struct{ Rules []rule }
			if err := yaml.Unmarshal([]byte(document), &parsed); err != nil {
				return nil, err
			}
			all = append(all, parsed.Rules...)
		}
	}
	return all, nil
}

// childOf finds the child of the rules that created an object, by the object's labels.
func (w *world) childOf(labels map[string]string) child {
	for _, r := range w.read {
		if r.Name != labels[ruleLabel] {
			continue
		}
		for _, c := range r.Children {
			if c.ID == labels[childLabel] {
				return c
			}
		}
	}
	return child{}
}

// childKinds are the distinct kinds of all children of the rules.
func (w *world) childKinds() (kinds []schema.GroupVersionKind) {
	seen := map[schema.GroupVersionKind]bool{}
	for _, r := range w.read {
		for _, list := range [][]child{r.Children, r.Finalize} {
			for _, c := range list {
				of := selections{c.Template}
				if c.Template.Kind == "self" {
					of = r.For
				}
				for _, m := range of {
					if kind := m.gvk(); !seen[kind] {
						seen[kind] = true
						kinds = append(kinds, kind)
					}
				}
			}
		}
	}
	return kinds
}

// isPrimary reports whether a rule selects a kind.
func (w *world) isPrimary(kind schema.GroupVersionKind) bool {
	for _, r := range w.read {
		if slices.ContainsFunc(r.For, func(m typeMeta) bool { return m.gvk().GroupKind() == kind.GroupKind() }) { // In any version.
			return true
		}
	}
	return false
}

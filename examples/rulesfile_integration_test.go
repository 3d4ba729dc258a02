//go:build integration

package examples

import (
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// A rule is what the tests read of one. They read it by themselves, and not with
// the code that they are there to test.
type rule struct {
	Name     string
	For      typeMeta
	Children []child
	Finalize []child
}

type child struct {
	ID           string
	Replicas     any
	OnChange     string
	OnDelete     string
	IgnoreFields []string
	Template     typeMeta
}

type typeMeta struct{ APIVersion, Kind string }

func (m typeMeta) gvk() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(m.APIVersion, m.Kind)
}

// readRules reads the rules of some files.
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

// childOf finds what made an object, by the labels that it carries.
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

// childKinds are the kinds of all that the rules may make, each once.
func (w *world) childKinds() (kinds []schema.GroupVersionKind) {
	seen := map[schema.GroupVersionKind]bool{}
	for _, r := range w.read {
		for _, list := range [][]child{r.Children, r.Finalize} {
			for _, c := range list {
				if kind := c.Template.gvk(); !seen[kind] {
					seen[kind] = true
					kinds = append(kinds, kind)
				}
			}
		}
	}
	return kinds
}

// isPrimary reports whether a rule is for a kind.
func (w *world) isPrimary(kind schema.GroupVersionKind) bool {
	for _, r := range w.read {
		if r.For.gvk().GroupKind() == kind.GroupKind() { // In whichever version.
			return true
		}
	}
	return false
}

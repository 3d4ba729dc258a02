package oracle

import (
	"encoding/base64"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Generated values differ between runs. Each counts as its number among the values that the
// key of this Secret has had. So runs differ if a value is made again, or comes back.

// WithValues returns Names that replace the values of these keys of Secrets.
func (n Names) WithValues(keys []string) Names {
	n.values = keys
	return n
}

// number returns the numbers of the values of a Secret.
func (h *History) number(key Key, object *unstructured.Unstructured) map[string]int {
	if key.Kind != "Secret" {
		return nil
	}
	if h.values[key] == nil {
		h.values[key] = map[string][]string{}
	}
	numbers, had := map[string]int{}, h.values[key]
	data, _, _ := unstructured.NestedStringMap(object.Object, "data")
	for name, value := range data {
		i := slices.Index(had[name], value)
		if i < 0 {
			i = len(had[name])
			had[name] = append(had[name], value)
		}
		numbers[name] = i + 1
	}
	return numbers
}

func (n Names) numberValues(u *unstructured.Unstructured, numbers map[string]int) {
	data, _ := u.Object["data"].(map[string]any)
	for _, key := range n.values {
		if number := numbers[key]; number > 0 {
			data[key] = fmt.Sprintf("VALUE %d", number)
		}
	}
}

// Values returns all values that the keys of WithValues have had in the Secrets of the
// selection, decoded.
func (s *Selection) Values() (all []string) {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	for key := range s.selected() {
		had := s.history.values[key]
		for _, name := range s.names.values {
			for _, value := range had[name] {
				if text, err := base64.StdEncoding.DecodeString(value); err == nil && len(text) > 0 {
					all = append(all, string(text))
				}
			}
		}
	}
	return all
}

// Texts returns every version of every object of the history since the selection was made, also of
// objects of others, as JSON with managedFields. The data of Secrets is left out.
func (s *Selection) Texts() map[string]string {
	texts := map[string]string{}
	for _, v := range s.recordedSince() {
		u := v.object
		if u.GetKind() == "Secret" {
			u = u.DeepCopy()
			delete(u.Object, "data")
		}
		text, err := u.MarshalJSON()
		if err != nil {
			panic(err) // An object from the API server can be encoded.
		}
		name := Key{u.GetKind(), u.GetNamespace(), u.GetName()}
		texts[fmt.Sprintf("%s, version %s", name, u.GetResourceVersion())] = string(text)
	}
	return texts
}

// recordedSince returns all versions of the history since the selection was made.
func (s *Selection) recordedSince() (all []version) {
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	recorded := map[Key]bool{}
	for _, key := range s.history.recorded[s.begun:] {
		recorded[key] = true
	}
	for key := range recorded {
		for _, v := range s.history.versions[key] {
			if v.order > s.begun {
				all = append(all, v)
			}
		}
	}
	return all
}

package sim

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"reconcel/rules/schema"
)

// A custom is what a CRD says about one version of its kind.
type custom struct {
	schema.Structure
	validation func() *customValidation // computed when an object is validated: its rules take long to compile
}

// custom returns what a CRD says about a kind.
func (ks *Kinds) custom(k *schema.Kind) *custom {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return ks.customLocked(k)
}

func (ks *Kinds) customLocked(k *schema.Kind) *custom {
	c := ks.customs[k.GVK]
	if c == nil {
		root := ks.set.Schema(k.GVK)
		c = &custom{Structure: ks.set.Structure(k), validation: sync.OnceValue(func() *customValidation {
			return newCustomValidation(k, root)
		})}
		ks.customs[k.GVK] = c
	}
	return c
}

// conform removes the fields of an object that the schema does not have, and sets defaults.
func (c *custom) conform(u *unstructured.Unstructured) {
	c.Structure.Prune(u.Object)
	c.Structure.Default(u.Object)
}

// Default implements runtime.ObjectDefaulter.
func (c *custom) Default(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		c.Structure.Default(u.Object)
	}
}

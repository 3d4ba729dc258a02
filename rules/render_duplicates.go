package rules

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/kstatus"
)

// A claim is a child that wants to be an object.
type claim struct {
	rule string
	d    *Desired
}

// An objectKey is what two identities of one object have in common: all
// versions of a kind show the same objects.
type objectKey struct {
	kind            schema.GroupKind
	namespace, name string
}

// contest fails the children that want to be one and the same object.
func (r *run) contest(rules []RuleResult) {
	if r.objects < 2 {
		return
	}
	first := make(map[objectKey]claim, r.objects)
	for i := range rules {
		for j := range rules[i].Children {
			objects := rules[i].Children[j].Objects
			for k := range objects {
				d := &objects[k]
				if d.State == Excluded || d.Identity.Name == "" {
					continue
				}
				this, key := claim{rules[i].Rule.Name, d}, objectKey{d.Identity.GVK.GroupKind(), d.Identity.Namespace, d.Identity.Name}
				if other, taken := first[key]; taken {
					this.lose(other)
					other.lose(this)
					continue
				}
				first[key] = this
			}
		}
	}
}

// lose fails an object because another child is the same one.
func (c claim) lose(other claim) {
	d := c.d
	if d.State == Failed {
		return // It has an error to mend first.
	}
	d.State, d.Waits, d.contested = Failed, d.Waits[:0], true
	d.Readiness, d.Reason = kstatus.Progressing, cannotRender
	d.Err = &Failure{Reason: RuleError, Message: fmt.Sprintf("%s: rule %q: %s: metadata.name: %s of rule %q has the same kind, namespace and name",
		d.Child.name.pos, c.rule, d.Subject(), other.d.Subject(), other.rule)}
}

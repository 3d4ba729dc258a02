package rules

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/kstatus"
)

// A ruleObject is an object and the rule that renders it.
type ruleObject struct {
	rule string
	d    *Desired
}

// An objectKey identifies an object in all versions of its kind.
type objectKey struct {
	kind            schema.GroupKind
	namespace, name string
}

// failDuplicates fails children that render the same object. A child whose when waits may be excluded: two children can
// exclude each other.
func (r *run) failDuplicates(rules []RuleResult) {
	if r.objects < 2 {
		return
	}
	first := make(map[objectKey]ruleObject, r.objects)
	for i := range rules {
		for j := range rules[i].Children {
			c := &rules[i].Children[j]
			if c.State == Waiting && !c.included {
				continue
			}
			objects := c.Objects
			for k := range objects {
				d := &objects[k]
				if d.State == Excluded || d.Identity.Name == "" {
					continue
				}
				this, key := ruleObject{rules[i].Rule.Name, d},
					objectKey{d.Identity.GVK.GroupKind(), d.Identity.Namespace, d.Identity.Name}
				if other, taken := first[key]; taken {
					this.fail(other)
					other.fail(this)
					continue
				}
				first[key] = this
			}
		}
	}
}

// fail fails an object that another child renders, too.
func (c ruleObject) fail(other ruleObject) {
	d := c.d
	if d.State == Failed {
		return // Its own error takes precedence.
	}
	d.State, d.Waits, d.duplicate = Failed, d.Waits[:0], true
	d.Readiness, d.Reason = kstatus.Progressing, cannotRender
	d.Err = &Failure{Reason: RuleError, Message: fmt.Sprintf(
		"%s: rule %q: %s: metadata.name: %s of rule %q has the same kind, namespace and name",
		d.Child.name.pos, c.rule, d.Subject(), other.d.Subject(), other.rule)}
}

package lint

import (
	"regexp"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// frozen are fields that the API server lets change in few states of an object: before a Job has started, or a claim
// has a volume. The others are those of schema.Immutable.
var frozen = map[runtimeschema.GroupKind][][]string{
	kindIn("batch", "Job"): {{"spec", "template"}},
	core("Service"):        {{"spec", "clusterIP"}, {"spec", "loadBalancerClass"}},
	core("PersistentVolumeClaim"): {{"spec", "storageClassName"}, {"spec", "accessModes"},
		{"spec", "volumeName"}, {"spec", "volumeMode"}, {"spec", "selector"}},
}

// immutable returns the fields of a kind that the API server does not let change.
func immutable(gk runtimeschema.GroupKind) [][]string {
	return slices.Concat(schema.Immutable(gk), frozen[gk])
}

var readsSpec = regexp.MustCompile(`\bself\.(\??spec|\[\??"spec"\])`)

// changesImmutable finds immutable fields that follow the spec of the primary: the API
// server rejects the change. onChange says what to do instead.
func (c *child) changesImmutable() {
	if change := c.OnChange.Value; change != "" && change != "apply" || c.finalizes {
		return
	}
	if _, follows := c.in.specIn(c.template.at("metadata", "name").node); follows {
		return // Another spec may mean another object.
	}
	for _, keys := range immutable(c.gk) {
		if c.ignores(keys...) {
			continue
		}
		v := c.template.at(keys...)
		if pos, reads := c.in.specIn(v.node); reads {
			if v.use.Line > 0 {
				pos = v.use
			}
			c.find(ImmutableField, pos, "%s: follows the spec of the %s, but the API server rejects a change of it", v.where,
				c.in.src.For.Kind.Value).Hint =
				c.insteadOfChange()
			return
		}
	}
}

// insteadOfChange returns what to do about a field that the API server does not let change.
func (c *child) insteadOfChange() string {
	if c.Shares() {
		return "leave the field to the object with ignoreFields"
	}
	if schema.Replaceable(c.gk) {
		return "set onChange to replace or keep"
	}
	return "leave the field to the object with ignoreFields, or set onChange to keep"
}

// replacesData finds children that are deleted, with the data that they hold, when their rendering changes.
func (c *child) replacesData() {
	if change := c.OnChange.Value; change != "replace" && change != "once" {
		return
	}
	lost := "with all data"
	switch c.gk {
	case core("PersistentVolumeClaim"), core("PersistentVolume"):
	case core("Namespace"):
		lost = "with everything in it"
	case kindIn("apiextensions.k8s.io", "CustomResourceDefinition"):
		lost = "with all objects of the kind"
	case kindIn("apps", "StatefulSet"):
		retention := c.template.at("spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")
		if retention.node == nil || retention.node.Literal().Value == "Retain" {
			return
		}
		lost = "with its claims"
	default:
		return
	}
	c.find(ReplacedData, c.OnChange.Pos, "onChange: %s deletes the %s %s when its rendering changes", c.OnChange.Value,
		c.gk.Kind, lost).Hint =
		"leave onChange out, or set it to keep"
}

// specIn returns the position of an expression in a value that reads the spec of the
// primary, directly or through a let.
func (r *rule) specIn(n *source.Node) (source.Pos, bool) {
	for e := range n.Expressions() {
		if r.readsSpec(e) {
			return e.Pos, true
		}
	}
	return source.Pos{}, false
}

var word = regexp.MustCompile(`[A-Za-z_]\w*`)

// readsSpec reports whether an expression reads the spec, directly or through lets.
func (r *rule) readsSpec(e *source.Expr) bool {
	if e == nil {
		return false
	}
	if readsSpec.MatchString(e.Text) {
		return true
	}
	for _, name := range word.FindAllString(e.Text, -1) {
		if let := r.lets[name]; let != nil && !strings.Contains(e.Text, "."+name) && r.letReadsSpec(let) {
			return true
		}
	}
	return false
}

// letReadsSpec is readsSpec for a let. It is computed once.
func (r *rule) letReadsSpec(let *syntax.Let) bool {
	name := let.Name.Value
	reads, known := r.specLets[name]
	if !known {
		r.specLets[name] = false // Lets cannot form a cycle. This is a second line of defence.
		_, reads = r.specIn(let.Data)
		reads = reads || r.readsSpec(let.Expr)
		r.specLets[name] = reads
	}
	return reads
}

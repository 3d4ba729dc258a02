package rules

import (
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// template returns the whole template of a child.
func (a *asking) template(d *Desired) area {
	return area{node: a.sourceOf(d.Child).Template, ops: d.Child.body.ops, more: d.Child.ignored,
		of: evaluated{child: d.Child, index: d.Index}, child: d.Child}
}

// sourceOf returns a child as it is written.
func (a *asking) sourceOf(c *Child) *syntax.Child {
	for _, list := range [][]*syntax.Child{a.src.Children, a.src.Finalize} {
		for _, s := range list {
			if s.ID.Value == c.ID {
				return s
			}
		}
	}
	return &syntax.Child{}
}

// field explains a field of an object. Around a field that the template does not have, the
// API server derives it from the others.
func (a *asking) field(d *Desired, path []any) []Origin {
	if len(path) > 0 && path[0] == "status" {
		return nil // Other controllers write it.
	}
	for n := len(path); n > 0; n-- {
		found := a.rendered(d, path[:n])
		if found == nil {
			continue
		}
		if n < len(path) {
			for i := range found {
				found[i].Role = RoleDefault
			}
		}
		return append(found, a.ignored(d, path)...)
	}
	return a.rendered(d, nil)
}

// rendered explains what the rendering of an object has at a path.
func (a *asking) rendered(d *Desired, path []any) []Origin {
	t := a.template(d)
	if len(path) == 0 {
		return append(a.walk(t, nil), a.metadata(d, nil)...)
	}
	switch {
	case path[0] == "metadata":
		return a.metadata(d, path[1:])
	case isSecret(d.Child.GVK) && path[0] == "data":
		return a.secretData(t, path[1:])
	}
	return a.walk(t, path)
}

// secretData explains the data of a Secret, which may be written as stringData.
func (a *asking) secretData(t area, path []any) (all []Origin) {
	if o := t.op("stringData"); o != nil && o.secret != nil {
		all = a.data(RoleValue, "template.stringData", o.secret.plain, t.of, path)
		if o.secret.data != nil && (len(all) == 0 || len(path) == 0) {
			all = append(all, a.data(RoleValue, "template.data", o.secret.data, t.of, path)...)
		}
	} else {
		all = a.walk(t.in(t.node.At("data"), "data"), path)
	}
	for i := range t.more {
		if f := &t.more[i]; f.generated && (len(path) == 0 || f.keys[1] == path[0]) {
			all = append(all, a.constant(f.entry, t.child.Pos, nil))
		}
	}
	return all
}

// metadata explains a field of metadata, some of which reconcel writes.
func (a *asking) metadata(d *Desired, path []any) []Origin {
	t := a.template(d)
	if len(path) == 0 {
		var all []Origin
		for _, key := range []string{"labels", "annotations", "finalizers"} {
			all = append(all, a.authored(t, []any{key})...)
		}
		all = append(all, a.metadata(d, []any{"name"})...)
		return append(all, a.metadata(d, []any{"namespace"})...)
	}
	switch path[0] {
	case "name":
		return a.name(d)
	case "namespace":
		return a.namespace(d)
	case "ownerReferences":
		return []Origin{a.own("metadata.ownerReferences", d.Child.Pos, "name", "uid")}
	case "labels", "annotations":
		if len(path) == 2 {
			switch path[1] {
			case LabelRule, LabelChild, AnnotationOrphan, AnnotationShared, AnnotationCreated, AnnotationApplied,
				AnnotationInstallation,
				AnnotationIndex, AnnotationReconciledAt:
				return []Origin{a.own("metadata."+path[0].(string), d.Child.Pos)}
			case AnnotationOwner:
				return []Origin{a.own("metadata.annotations", d.Child.Pos, "name", "namespace", "uid")}
			}
		}
		return a.marks(t, path)
	}
	return a.authored(t, path)
}

// marks explains labels or annotations. Those of the template take precedence over those of all objects.
func (a *asking) marks(t area, path []any) []Origin {
	section := path[0].(string)
	all := a.authored(t, path)
	common := area{node: a.src.CommonMetadata.At(section), where: expr.Join("commonMetadata", section), ops: t.ops,
		of: t.of}
	switch {
	case len(path) > 1 && a.sets(t, section, path[1].(string)) || common.node == nil:
		return all
	case len(path) > 1:
		return a.walk(common, path[1:])
	case common.node.Kind == source.Interp:
		return append(all, a.walk(common, nil)...)
	}
	for _, f := range common.node.Fields {
		if !a.sets(t, section, f.Key.Value) {
			all = append(all, a.walk(common.in(f.Value, expr.Join(common.where, f.Key.Value)), nil)...)
		}
	}
	return all
}

// sets reports whether a template has a label or annotation, perhaps without a value.
func (a *asking) sets(t area, section, key string) bool {
	n, where, path := t.node.At("metadata"), "metadata", []any{section, key}
	if n != nil && n.Kind != source.Interp {
		n, where, path = n.At(section), expr.Join(where, section), path[1:]
	}
	if n == nil || n.Kind != source.Interp {
		return n.At(key) != nil
	}
	o := t.op(where)
	if o == nil { // It is the data of a let.
		return a.walk(t.in(n, where), path) != nil
	}
	if e := a.of.read.ran[t.evaluated(o.prog)]; e != nil && e.value != nil {
		_, has := expr.At(e.value, path)
		return has
	}
	return false
}

// authored explains a field of metadata that the author writes.
func (a *asking) authored(t area, path []any) []Origin {
	n := t.node.At("metadata")
	if n == nil || n.Kind != source.Interp {
		return a.walk(t.in(n, "metadata"), path)
	}
	o := t.op("metadata")
	if e := a.of.read.ran[t.evaluated(o.prog)]; e == nil || e.value == nil {
		return nil
	} else if _, has := expr.At(e.value, path); !has {
		return nil
	}
	return []Origin{a.program(RoleValue, "template.metadata", o.prog, t.of, path, expr.UsedValue)}
}

// own explains what reconcel writes, from the metadata of the primary.
func (a *asking) own(where string, pos source.Pos, reads ...string) Origin {
	o := Origin{Role: RoleValue, Rule: a.res.Rule.Name, Field: where, Pos: pos}
	for _, field := range reads {
		o.Reads = append(o.Reads, a.of.ofSelf("metadata", field))
	}
	return o
}

// ofSelf reads a field of the primary.
func (x *Explanation) ofSelf(path ...any) Reading {
	one := Reading{Path: expr.Path(self, path), Use: expr.UsedAbsence, Object: &x.self, Field: path}
	if v, has := expr.At(types.DefaultTypeAdapter.NativeToValue(x.object), path); has {
		one.Use = expr.UsedValue
		one.Value, _ = jsonValue(v)
	}
	return one
}

func (a *asking) name(d *Desired) []Origin {
	t := d.Child.name
	if t == nil {
		return nil
	}
	o := a.text(RoleName, t, evaluated{child: d.Child, index: d.Index})
	o.Field = "template." + t.where
	if d.Child.HasReplicas() {
		o = a.text(RoleName, t, evaluated{child: d.Child})
		o.Value = d.Identity.Name
		o.Reads = append(o.Reads, a.of.ofSelf("metadata", "uid"))
	}
	return []Origin{o}
}

func (a *asking) namespace(d *Desired) []Origin {
	t := d.Child.namespace
	if t == nil {
		o := a.own("metadata.namespace", d.Child.Pos, "namespace")
		o.Role, o.Value = RoleNamespace, d.Identity.Namespace
		return []Origin{o}
	}
	of := evaluated{child: d.Child, index: d.Index}
	if d.Child.HasReplicas() {
		of.index = 0
	}
	o := a.text(RoleNamespace, t, of)
	o.Field = "template." + t.where
	return []Origin{o}
}

// ignored explains the conditions of ignored fields at or around a path.
func (a *asking) ignored(d *Desired, path []any) (all []Origin) {
	for i := range d.Child.ignored {
		f := &d.Child.ignored[i]
		if f.when == nil || len(f.keys) > len(path) {
			continue
		}
		around := true
		for j, key := range f.keys {
			around = around && path[j] == key
		}
		if around {
			all = append(all, a.program(RoleIgnored, f.entry+".when", f.when, evaluated{child: d.Child, index: d.Index}, nil,
				expr.UsedValue))
		}
	}
	return all
}

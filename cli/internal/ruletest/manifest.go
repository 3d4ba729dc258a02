package ruletest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// A manifest is a file with objects, or one inline object.
type manifest struct {
	pos     source.Pos
	file    string // "" for an inline object
	objects []*unstructured.Unstructured
}

// newObjects reads the objects that a test creates.
func (r *reader) newObjects(n *source.Node) (all []*manifest) {
	for _, item := range itemsIn(n) {
		m := r.manifest(item)
		for _, u := range m.objects {
			switch {
			case u.GetAPIVersion() == "":
				r.complain(m.pos, "", "an object without apiVersion")
			case u.GetName() == "" && u.GetGenerateName() == "":
				r.complain(m.pos, "", "%s without metadata.name", u.GetKind())
			default:
				r.complete(m, u)
			}
		}
		all = append(all, m)
	}
	r.made = append(r.made, all...)
	return all
}

// expectedObjects reads the objects that a test expects. A kind may omit its
// apiVersion.
func (r *reader) expectedObjects(n *source.Node) (all []*manifest) {
	for _, item := range itemsIn(n) {
		m := r.manifest(item)
		for _, u := range m.objects {
			r.complete(m, u)
		}
		all = append(all, m)
	}
	return all
}

// manifest reads an object or a file with objects. It omits malformed objects.
func (r *reader) manifest(n *source.Node) *manifest {
	m := &manifest{pos: n.Pos, file: n.Literal().Value}
	found := []*unstructured.Unstructured{{}}
	if object, inline := n.Plain().(map[string]any); inline {
		found[0].Object = object
	} else {
		var err error
		if found, err = r.setting.Read(besideFile(r.file, m.file)); err != nil {
			r.complain(m.pos, "", "%v", err)
		} else if len(found) == 0 {
			r.complain(m.pos, "", "%s: no object there", m.file)
		}
	}
	for _, u := range found {
		if r.isWellFormed(m.pos, u) {
			m.objects = append(m.objects, u)
		}
	}
	return m
}

// isWellFormed reports whether an object has a kind and valid names, and complains if
// it does not.
func (r *reader) isWellFormed(pos source.Pos, u *unstructured.Unstructured) bool {
	before := len(r.errs)
	if u.GetKind() == "" {
		r.complain(pos, "", "an object without kind")
	}
	metadata, isMap := u.Object["metadata"].(map[string]any)
	if !isMap && u.Object["metadata"] != nil {
		r.complain(pos, "", "%s: metadata is not a map", u.GetKind())
	}
	for _, field := range []string{"name", "namespace", "generateName"} {
		if _, isText := metadata[field].(string); !isText && metadata[field] != nil {
			r.complain(pos, "quote it", "%s: metadata.%s is %v, which is not text", u.GetKind(), field, metadata[field])
		}
	}
	return len(r.errs) == before
}

// complete sets the kind and namespace of an object, and checks its fields.
func (r *reader) complete(m *manifest, u *unstructured.Unstructured) {
	gvk := u.GroupVersionKind()
	kind := r.setting.Kinds.Kind(gvk)
	switch {
	case u.GetAPIVersion() == "":
		kind = r.kind(m.pos, gvk.Kind)
	case kind == nil:
		r.complain(m.pos, r.kinds.hint(gvk), "there is no kind %s in %s", gvk.Kind, u.GetAPIVersion())
	}
	if kind == nil {
		return
	}
	u.SetGroupVersionKind(kind.GVK)
	switch {
	case kind.Namespaced && u.GetNamespace() == "":
		u.SetNamespace("default")
	case !kind.Namespaced && u.GetNamespace() != "":
		r.complain(m.pos, "remove metadata.namespace", "%s %s: the kind is cluster-scoped", kind.GVK.Kind, u.GetName())
	}
	subject := kind.GVK.Kind
	if m.file != "" {
		subject = m.file + ": " + titleOf(u)
	}
	r.checkFields(m.pos, subject, kind, u.Object)
}

// checkFields complains about fields that a kind does not have. An API server would
// drop them, and an expectation that such a field is absent would always pass.
func (r *reader) checkFields(pos source.Pos, subject string, kind *schema.Kind, object map[string]any) {
	for _, f := range r.setting.Kinds.Unknown(kind, object) {
		r.complain(pos, source.Suggest(f.Name, f.Have), "%s has no field %s", subject, f.Path)
	}
}

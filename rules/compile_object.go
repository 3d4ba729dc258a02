package rules

import (
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// An objectCompiler compiles the metadata and the template of an object.
type objectCompiler struct {
	*compilation
	expressions *expressions
	common      map[string]*op // the labels and annotations of all objects, by field
}

// compileObject compiles the template of a child into operations. They write the object up
// to and within its annotations: metadata comes last in the object, and annotations
// last in metadata. The hash of these bytes and the fields of one request are
// appended later, so that the bytes are not written again.
func (c *objectCompiler) compileObject(ch *Child, n *source.Node, ignore []*syntax.FieldPath,
	conditions map[*syntax.FieldPath]*expr.Program) *template {
	b := &builder{c: c.expressions, omit: notStored(ch.GVK.GroupKind()), common: c.common}
	ignoring(b, ignore, conditions)
	b.run = append(b.run, '{')
	isSecret := ch.GVK.Group == "" && ch.GVK.Kind == "Secret"
	var metadata *source.Node
	var hidden [2]*source.Node // data and stringData of a Secret
	for _, f := range sortedFields(n) {
		switch key := f.Key.Value; {
		case key == "metadata":
			metadata = f.Value
		case isSecret && key == "data":
			hidden[0] = f.Value
		case isSecret && key == "stringData":
			hidden[1] = f.Value
		default:
			b.appendNode(keyedEntry(key, key), f.Value)
		}
	}
	if hidden[1] != nil {
		b.secret(hidden[0], hidden[1])
	} else if hidden[0] != nil {
		b.appendNode(keyedEntry("data", "data"), hidden[0])
	}
	b.run = append(b.run, `"metadata":{`...)
	c.appendMetadata(b, ch, metadata)
	ch.ignored = b.ignoring
	b.checkIgnored(ignore)
	return b.template()
}

// appendMetadata writes the fields of metadata: those of the author and reconcel's own.
func (c *objectCompiler) appendMetadata(b *builder, ch *Child, n *source.Node) {
	if n != nil && n.Kind == source.Interp {
		c.computedMetadata(b, ch, n)
		return
	}
	own := map[string]*source.Node{}
	var fields []source.Field
	if n != nil {
		fields = n.Fields
	}
	for _, f := range fields {
		own[f.Key.Value] = f.Value
	}
	if f := own["finalizers"]; f != nil {
		b.appendNode(keyedEntry("finalizers", "metadata.finalizers"), f)
	}
	b.marks("labels", own["labels"], c.ownLabels(ch))
	ch.name = c.expressions.text(own["name"], "metadata.name")
	if ch.HasReplicas() {
		ch.name = c.expressions.text(own["generateName"], "metadata.generateName")
	}
	if own["namespace"] != nil && own["namespace"].Kind != source.Null {
		ch.namespace = c.expressions.text(own["namespace"], "metadata.namespace")
	}
	c.appendIdentity(b, ch)
	b.marks("annotations", own["annotations"], nil)
	c.appendOwnAnnotations(b, ch)
}

// ownLabels returns reconcel's own labels.
func (c *objectCompiler) ownLabels(ch *Child) []entryBytes {
	return []entryBytes{{LabelChild, ch.ID}, {LabelRule, c.rule.Name}}
}

// appendIdentity writes the name and namespace, and the owner reference.
func (c *objectCompiler) appendIdentity(b *builder, ch *Child) {
	b.emit(op{kind: opName, lit: []byte(`"name":`)})
	b.emit(op{kind: opNamespace, lit: []byte(`"namespace":`)})
	if !ch.tracked {
		lit := `"ownerReferences":[{"apiVersion":` + quoteJSON(c.rule.GVK.GroupVersion().String()) +
			`,"blockOwnerDeletion":true,"controller":true,"kind":` + quoteJSON(c.rule.GVK.Kind) + `,"name":`
		b.emit(op{kind: opOwner, lit: []byte(lit)})
	}
}

// appendOwnAnnotations writes reconcel's own annotations that are known.
func (c *objectCompiler) appendOwnAnnotations(b *builder, ch *Child) {
	if ch.OnDelete == Orphan {
		b.run = append(append(expr.AppendString(b.run, AnnotationOrphan), `:"true"`...), ',')
	}
	if ch.Shared { // The rendering names no owner: it is the same for all of them.
		value := SharedOwn
		if ch.Extends {
			value = SharedExtended
		}
		b.run = append(expr.AppendString(append(expr.AppendString(b.run, AnnotationShared), ':'), value), ',')
		return
	}
	b.emit(op{kind: opOwnerUID, lit: append(expr.AppendString(nil, AnnotationOwner), ':'),
		key: c.rule.GVK.GroupKind().String()})
}

// secret writes the field data from data, which may be nil, and stringData.
func (b *builder) secret(encoded, plain *source.Node) {
	s := &secret{plain: b.c.data(plain, "stringData")}
	if encoded != nil {
		s.data = b.c.data(encoded, "data")
	}
	b.emit(op{kind: opSecret, lit: []byte(`"data":`), secret: s, where: "stringData", pos: plain.Pos, omit: b.omit})
}

// The API server does not store everything that it receives. Renderings of built-in
// kinds omit the fields that it drops. Otherwise their hash would include fields
// that no manager can own, and each apply would change the object. Objects of
// custom kinds are stored as sent. (Null entries of a template are omitted in all
// kinds.)

// freeForm are built-in kinds that contain arbitrary JSON, in which null, [] and {}
// have a meaning.
var freeForm = map[runtimeschema.GroupKind]bool{
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: true,
	{Group: "apps", Kind: "ControllerRevision"}:                       true,
	{Group: "resource.k8s.io", Kind: "DeviceClass"}:                   true,
	{Group: "resource.k8s.io", Kind: "ResourceClaim"}:                 true,
	{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}:         true,
}

// mapFields are the fields of built-in kinds that are Go maps. The API server does
// not store empty maps. It stores an empty struct as {}, which often has a meaning:
// emptyDir, podSelector, or a selector of all objects.
var mapFields = map[string]bool{
	"annotations": true, "binaryData": true, "data": true, "extra": true, "hard": true, "labels": true,
	"limits": true, "matchLabels": true, "nodeSelector": true, "overhead": true, "parameters": true,
	"requests": true, "stringData": true, "volumeAttributes": true, "capacity": true, "allocatable": true,
}

// mapFieldsOf are fields that are maps in some kinds and structs in others.
var mapFieldsOf = map[runtimeschema.GroupKind]map[string]bool{
	{Kind: "Service"}:               {"selector": true},
	{Kind: "ReplicationController"}: {"selector": true},
	{Kind: "LimitRange"}: {
		"default": true, "defaultRequest": true, "max": true, "min": true, "maxLimitRequestRatio": true,
	},
}

// notStored returns which values the API server drops from objects of a kind, or
// nil if it stores all.
func notStored(gk runtimeschema.GroupKind) expr.Omit {
	if !schema.BuiltInGroup(gk.Group) || freeForm[gk] {
		return nil
	}
	own := mapFieldsOf[gk]
	return func(field string, value expr.Empty) bool {
		return value != expr.EmptyMap || mapFields[field] || own[field]
	}
}

// An ignoredField is set when an object is created, and belongs to others
// afterwards. The hashed and compared rendering does not contain it. With a
// condition, the field is ignored only in renderings whose condition is true.
type ignoredField struct {
	keys  []string
	ops   []op          // write its value, or nothing
	when  *expr.Program // or nil: always
	entry string        // of ignoreFields or generate, for messages

	generated bool // ops write a generate.Spec instead of the value
}

// ignoring sets the fields that the rendering omits.
func ignoring(b *builder, paths []*syntax.FieldPath, conditions map[*syntax.FieldPath]*expr.Program) {
	b.ignored, b.conditions = map[string]*syntax.FieldPath{}, conditions
	for _, p := range paths {
		b.ignored[whereOf(p.Keys)] = p
	}
}

// ignoredWhen compiles the conditions of ignored fields.
func (c *childCompiler) ignoredWhen(paths []*syntax.FieldPath) map[*syntax.FieldPath]*expr.Program {
	out := map[*syntax.FieldPath]*expr.Program{}
	for _, p := range paths {
		out[p] = c.expressions.expression(p.When, expr.Bool, p.Entry+".when")
	}
	return out
}

func whereOf(keys []string) string {
	where := ""
	for _, k := range keys {
		where = expr.Join(where, k)
	}
	return where
}

// ignore compiles an ignored field separately from the other fields.
func (b *builder) ignore(p *syntax.FieldPath, n *source.Node, e entry) {
	inner := &builder{c: b.c, omit: b.omit, texts: b.texts}
	inner.appendNode(entry{where: e.where}, n)
	f := ignoredField{keys: p.Keys, ops: inner.template().ops, when: b.conditions[p], entry: p.Entry}
	if p.When != nil {
		b.emit(op{kind: opIgnorable, lit: e.lit, key: e.key, omit: b.omit, ops: f.ops, index: len(b.ignoring), where: e.where,
			pos: n.Pos})
	}
	b.ignoring = append(b.ignoring, f)
}

// checkIgnored records an error for paths that the template does not set.
func (b *builder) checkIgnored(paths []*syntax.FieldPath) {
	for _, p := range paths {
		if !slices.ContainsFunc(b.ignoring, func(f ignoredField) bool { return slices.Equal(f.keys, p.Keys) }) {
			b.c.complain(p.Pos, "%s cannot be ignored: the template does not set it as a field of its own", p.Text)
		}
	}
}

// ignorableBelow reports whether a field below a path is ignored under a condition.
func (b *builder) ignorableBelow(where string) bool {
	for at, p := range b.ignored {
		if p.When != nil && strings.HasPrefix(at, where) {
			return true
		}
	}
	return false
}

// isIgnored returns the ignored path of a field, or nil.
func (b *builder) isIgnored(e entry) *syntax.FieldPath {
	if len(b.ignored) == 0 || len(e.lit) == 0 {
		return nil
	}
	return b.ignored[strings.TrimPrefix(e.where, ".")]
}

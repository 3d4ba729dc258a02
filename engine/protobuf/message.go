package protobuf

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reconcel/rules/projection"
)

// A message says how to write a Protobuf message of a Go type as JSON.
type message struct {
	fields []field // by number; those that do not exist have no name
	nulls  []int   // the numbers of fields that JSON has as null if the message has no value
	// extensible: the rules may read a field that the type does not have.
	extensible bool
}

// maxNumber is the highest number of a field.
const maxNumber = 63

// A field is one of a message.
type field struct {
	name      string // in JSON; for an inlined message that of the Go type
	key       string // the name with quotes and a colon
	omitEmpty bool   // JSON has no zero value
	value
}

// A value says how to write the value of a field.
type value struct {
	shape    shape
	wire     protowire.Type         // of the value, or of each element
	brackets string                 // of a list or map
	message  *message               // of an object, or of an inlined one
	element  *value                 // of a list or map
	entries  *projection.Projection // what the rules read of a map
	special  func() special         // of a value in its own form
}

// A shape is a way to write a value.
type shape uint8

const (
	skipped shape = iota // the rules do not read it
	text
	boolean
	integer
	encoded // bytes in base64
	object
	inlined // an object whose fields are those of the enclosing one
	list
	wrappedList // a list that is a message, with its elements in field 1
	dictionary
	timestamp // a metav1.Time
	fieldsV1  // a metav1.FieldsV1
	inOwnForm // the type encodes itself
)

// A special is a value that has a form of its own in JSON.
type special interface {
	Unmarshal([]byte) error
	json.Marshaler
}

// specials make special values.
var specials = map[reflect.Type]func() special{
	reflect.TypeFor[metav1.MicroTime]():     func() special { return &metav1.MicroTime{} },
	reflect.TypeFor[metav1.Duration]():      func() special { return &metav1.Duration{} },
	reflect.TypeFor[resource.Quantity]():    func() special { return &resource.Quantity{} },
	reflect.TypeFor[intstr.IntOrString]():   func() special { return &intstr.IntOrString{} },
	reflect.TypeFor[runtime.RawExtension](): func() special { return &runtime.RawExtension{} },
}

// A view is what is written of a value, and what the rules read of it.
type view struct{ written, read *projection.Projection }

func (v view) field(name string) view { return view{v.written.Field(name), v.read.Field(name)} }

func (v view) elements() view { return view{v.written.Elements(), v.read.Elements()} }

func (v view) isWhole() bool { return v.written.All() && v.read.All() }

// A compiler makes messages.
type compiler struct {
	root reflect.Type
	// whole are the messages that are written and read whole: a type may contain itself.
	whole map[reflect.Type]*message
}

// messageOf returns how to write a struct.
func messageOf(t reflect.Type, v view) (*message, error) {
	c := &compiler{root: t, whole: map[reflect.Type]*message{}}
	return c.message(t, v)
}

func (c *compiler) message(t reflect.Type, v view) (*message, error) {
	if m := c.whole[t]; m != nil && v.isWhole() {
		return m, nil
	}
	m := &message{}
	if v.isWhole() {
		c.whole[t] = m
	}
	names := map[string]bool{}
	if err := c.add(m, t, v, names); err != nil {
		return nil, err
	}
	if v.read.Beyond(names) {
		m.extend()
	}
	return m, nil
}

// extend makes the message extensible, and those that are inlined.
func (m *message) extend() {
	m.extensible = true
	for i := range m.fields {
		if m.fields[i].shape == inlined {
			m.fields[i].message.extend()
		}
	}
}

// add adds the fields of a struct, and their names to names.
func (c *compiler) add(m *message, t reflect.Type, v view, names map[string]bool) error {
	for f := range t.Fields() {
		var err error
		if f.Type == reflect.TypeFor[metav1.TypeMeta]() {
			err = c.addTypeMeta(t, v, names)
		} else {
			err = c.addField(m, f, v, names)
		}
		if err != nil {
			return fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
	}
	return nil
}

// addTypeMeta adds the apiVersion and kind. Protobuf has them only beside the root object. JSON
// also has them in a StatefulSet's volumeClaimTemplates (https://issue.k8s.io/87583).
func (c *compiler) addTypeMeta(of reflect.Type, v view, names map[string]bool) error {
	for _, name := range []string{"apiVersion", "kind"} {
		names[name] = true
		if of != c.root && v.written.Field(name) != nil {
			return fmt.Errorf("Protobuf has no %s", name)
		}
	}
	return nil
}

func (c *compiler) addField(m *message, f reflect.StructField, v view, names map[string]bool) error {
	name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
	number, err := numberOf(f.Tag.Get("protobuf"))
	if err != nil {
		return err
	}
	if name == "" && f.Anonymous {
		inner := &message{}
		if err := c.add(inner, f.Type, v, names); err != nil {
			return err
		}
		return m.set(number, field{name: f.Name, value: value{shape: inlined, wire: protowire.BytesType, message: inner}})
	}
	if name == "" || name == "-" {
		return fmt.Errorf("it has no name in JSON")
	}
	names[name] = true
	out := field{name: name, key: strconv.Quote(name) + ":"}
	if out.value, err = c.value(f.Type, v.field(name)); err != nil {
		return err
	}
	options := strings.Split(rest, ",")
	optional := slices.Contains(options, "omitempty")
	switch f.Type.Kind() {
	case reflect.Pointer:
	case reflect.Struct: // encoding/json omits none that is only omitempty.
		if out.omitEmpty = slices.Contains(options, "omitzero"); out.omitEmpty && f.Type != reflect.TypeFor[metav1.Time]() {
			return fmt.Errorf("its zero value cannot be told")
		}
	default:
		out.omitEmpty = optional
	}
	switch f.Type.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		if out.shape != skipped && !optional {
			m.nulls = append(m.nulls, number)
		}
	}
	return m.set(number, out)
}

func (m *message) set(number int, f field) error {
	for len(m.fields) <= number {
		m.fields = append(m.fields, field{})
	}
	if m.fields[number].name != "" {
		return fmt.Errorf("number %d is used twice", number)
	}
	m.fields[number] = f
	return nil
}

// numberOf reads the tag of a field, such as "bytes,1,opt,name=metadata".
func numberOf(tag string) (int, error) {
	_, rest, _ := strings.Cut(tag, ",")
	text, _, _ := strings.Cut(rest, ",")
	number, err := strconv.Atoi(text)
	switch {
	case err != nil || number < 1:
		return 0, fmt.Errorf("it has no number in Protobuf")
	case number > maxNumber:
		return 0, fmt.Errorf("number %d is above %d", number, maxNumber)
	}
	return number, nil
}

// value returns how to write a value.
func (c *compiler) value(t reflect.Type, v view) (out value, err error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	out.wire = wireOf(t)
	if v.written == nil {
		return out, nil
	}
	if out.special = specials[t]; out.special != nil {
		out.shape = inOwnForm
		return out, nil
	}
	switch t {
	case reflect.TypeFor[metav1.Time]():
		out.shape = timestamp
		return out, nil
	case reflect.TypeFor[metav1.FieldsV1]():
		out.shape = fieldsV1
		return out, nil
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
		return value{}, fmt.Errorf("%s encodes itself in JSON", t)
	}
	switch t.Kind() {
	case reflect.String:
		out.shape = text
	case reflect.Bool:
		out.shape = boolean
	case reflect.Int32, reflect.Int64:
		out.shape = integer
	case reflect.Struct:
		out.shape = object
		out.message, err = c.message(t, v)
	case reflect.Slice:
		return c.list(t, v)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return value{}, fmt.Errorf("the keys of a map are no strings")
		}
		out.shape, out.brackets, out.entries = dictionary, "{}", v.written
		out.element, err = c.element(t.Elem(), view{projection.Whole(), projection.Whole()})
	default:
		return value{}, fmt.Errorf("unknown type %s", t)
	}
	return out, err
}

// list returns how to write a slice.
func (c *compiler) list(t reflect.Type, v view) (out value, err error) {
	if t.Elem().Kind() == reflect.Uint8 {
		return value{shape: encoded, wire: protowire.BytesType}, nil
	}
	out = value{shape: list, brackets: "[]"}
	if out.element, err = c.element(t.Elem(), v.elements()); err != nil {
		return value{}, err
	}
	out.wire = out.element.wire
	if _, isMessage := reflect.PointerTo(t).MethodByName("Unmarshal"); isMessage {
		out.shape, out.wire = wrappedList, protowire.BytesType
	}
	return out, nil
}

func (c *compiler) element(t reflect.Type, v view) (*value, error) {
	out, err := c.value(t, v)
	return &out, err
}

// wireOf returns the encoding of a type. The tags of some fields name another one.
func wireOf(t reflect.Type) protowire.Type {
	switch t.Kind() {
	case reflect.Bool, reflect.Int32, reflect.Int64:
		return protowire.VarintType
	}
	return protowire.BytesType
}

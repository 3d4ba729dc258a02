package protobuf

import (
	"encoding/json"
	"fmt"
	"reflect"
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
	// open: the rules may read a field that the type does not have.
	open bool
}

// maxNumber is the highest number of a field.
const maxNumber = 63

// A field is one of a message.
type field struct {
	name      string // in JSON; for an inlined message that of the Go type
	key       string // the name with quotes and a colon
	omitEmpty bool   // JSON has no zero value
	wire      protowire.Type
	value
}

// A value says how to write the value of a field.
type value struct {
	shape   shape
	message *message               // of an object, or of an inlined one
	element *value                 // of a list or map
	entries *projection.Projection // what the rules read of a map
	special func() special         // of a value in its own form
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
	inOwnForm // what a special says
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

// A compiler makes messages. It has those that are written whole: a type may contain itself.
type compiler map[reflect.Type]*message

// message returns how to write a struct. What p does not keep is left out.
func (c compiler) message(t reflect.Type, p *projection.Projection) (*message, error) {
	if m := c[t]; m != nil && p.All() {
		return m, nil
	}
	m := &message{}
	if p.All() {
		c[t] = m
	}
	names := map[string]bool{}
	if err := c.add(m, t, p, names); err != nil {
		return nil, err
	}
	m.open = p.Beyond(names)
	return m, nil
}

// add adds the fields of a struct, and their names to names.
func (c compiler) add(m *message, t reflect.Type, p *projection.Projection, names map[string]bool) error {
	for f := range t.Fields() {
		if err := c.addField(m, f, p, names); err != nil {
			return fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
	}
	return nil
}

func (c compiler) addField(m *message, f reflect.StructField, p *projection.Projection, names map[string]bool) error {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if f.Type == reflect.TypeFor[metav1.TypeMeta]() {
		names["apiVersion"], names["kind"] = true, true // The frame has them.
		return nil
	}
	number, err := numberOf(f.Tag.Get("protobuf"))
	if err != nil {
		return err
	}
	out := field{name: name, wire: wireOf(f.Type)}
	if name == "" && f.Anonymous {
		out.name, out.shape = f.Name, inlined
		out.message = &message{}
		if err := c.add(out.message, f.Type, p, names); err != nil {
			return err
		}
		out.message.open = p.Beyond(names)
		return m.set(number, out)
	}
	if name == "" || name == "-" {
		return fmt.Errorf("it has no name in JSON")
	}
	names[name] = true
	out.key = strconv.Quote(name) + ":"
	if out.value, err = c.valueOf(f.Type, p.Field(name)); err != nil {
		return err
	}
	out.omitEmpty = hasOption(options, "omitempty") && f.Type.Kind() != reflect.Struct && f.Type.Kind() != reflect.Pointer ||
		hasOption(options, "omitzero")
	switch f.Type.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		if out.shape != skipped && !hasOption(options, "omitempty") {
			m.nulls = append(m.nulls, number)
		}
	}
	return m.set(number, out)
}

func hasOption(options, name string) bool {
	for option := range strings.SplitSeq(options, ",") {
		if option == name {
			return true
		}
	}
	return false
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

// wireOf returns the encoding of a type, or of its elements. The tags of some fields say another.
func wireOf(t reflect.Type) protowire.Type {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int32, reflect.Int64:
		return protowire.VarintType
	}
	return protowire.BytesType
}

// valueOf returns how to write a value. What p does not keep is left out.
func (c compiler) valueOf(t reflect.Type, p *projection.Projection) (v value, err error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if p == nil {
		return value{}, nil
	}
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return value{shape: timestamp}, nil
	case reflect.TypeFor[metav1.FieldsV1]():
		return value{shape: fieldsV1}, nil
	}
	if special, ok := specials[t]; ok {
		return value{shape: inOwnForm, special: special}, nil
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
		return value{}, fmt.Errorf("%s has an encoding of its own in JSON", t)
	}
	switch t.Kind() {
	case reflect.String:
		return value{shape: text}, nil
	case reflect.Bool:
		return value{shape: boolean}, nil
	case reflect.Int32, reflect.Int64:
		return value{shape: integer}, nil
	case reflect.Struct:
		v.shape = object
		v.message, err = c.message(t, p)
		return v, err
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return value{shape: encoded}, nil
		}
		v.shape = list
		if _, isMessage := reflect.PointerTo(t).MethodByName("Unmarshal"); isMessage {
			v.shape = wrappedList
		}
		v.element, err = c.elementOf(t.Elem(), p.Elements())
		return v, err
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return value{}, fmt.Errorf("the keys of a map are no strings")
		}
		v.shape, v.entries = dictionary, p
		v.element, err = c.elementOf(t.Elem(), projection.Whole())
		return v, err
	}
	return value{}, fmt.Errorf("unknown type %s", t)
}

func (c compiler) elementOf(t reflect.Type, p *projection.Projection) (*value, error) {
	v, err := c.valueOf(t, p)
	return &v, err
}

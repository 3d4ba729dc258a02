package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/rules/projection"
)

// reference decodes as apimachinery does.
func reference(data []byte) (any, error) {
	var v any
	err := utiljson.Unmarshal(data, &v)
	return v, err
}

// decoded decodes exactly one value with a decoder that has read others before.
func decoded(r io.Reader, p *projection.Projection) (any, error) {
	d := used.Get().(*Decoder)
	defer used.Put(d)
	d.Reset(r)
	v, err := d.Value(p)
	if err != nil {
		return nil, err
	}
	more, err := d.Next()
	if more {
		err = d.unexpected("the end")
	}
	return v, err
}

var used = sync.Pool{New: func() any { return New(nil) }}

// compare checks the decoding of data against apimachinery's, whole and projected.
func compare(t *testing.T, data []byte, p *projection.Projection) {
	t.Helper()
	want, wrong := reference(data)
	for name, r := range map[string]io.Reader{"at once": bytes.NewReader(data), "bytewise": iotest.OneByteReader(bytes.NewReader(data))} {
		got, err := decoded(r, projection.Whole())
		if (err != nil) != (wrong != nil) {
			t.Fatalf("%s: %q: got error %v, want %v", name, data, err, wrong)
		}
		if wrong == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %q: got %#v, want %#v", name, data, got, want)
		}
	}
	if !json.Valid(data) {
		if got, err := decoded(bytes.NewReader(data), p); err == nil {
			t.Fatalf("%q: got %v for invalid JSON", data, got)
		}
		return
	}
	if wrong != nil {
		return // A number that is too large.
	}
	got, err := decoded(iotest.HalfReader(bytes.NewReader(data)), p)
	if err != nil || !reflect.DeepEqual(got, p.Of(want)) {
		t.Fatalf("%q: got %#v, %v, want %#v", data, got, err, p.Of(want))
	}
	raw, err := New(iotest.OneByteReader(bytes.NewReader(data))).AppendRaw(nil)
	if err != nil || string(raw) != strings.Trim(string(data), " \t\r\n") {
		t.Fatalf("%q: raw %q, %v", data, raw, err)
	}
}

// sample keeps some fields and some elements.
func sample() *projection.Projection {
	var b projection.Builder
	b.Field("a").Each().Field("b").Keep()
	b.Field("b").Field("a")
	b.Field("c").Keep()
	b.Each().Field("x").Keep()
	return b.Projection()
}

var samples = []string{
	`{}`, `[]`, ` {"a" : [ 1 , 2.5 ] } `, `null`, `true`, `false`, `"x"`, `0`, `-0`, `-1`, `1e3`, `1E-2`, `1.0`, `9223372036854775807`, `9223372036854775808`, `1e999`,
	`{"a":[{"b":1,"c":2},{"b":{"d":null}}],"b":{"a":{"z":1},"b":2},"c":{"d":[1]},"d":{"x":1,"y":2},"e":"f"}`,
	`{"a":1,"a":{"b":2}}`, `{"c":{"x":1,"y":2},"c":{"y":2,"x":1}}`, `{"c":[1,1.0,true,false,null,"null",[],{},[[]],[{}]]}`, `{"c":[[],{},[null],{"":null},{"":[]},{"":{}}]}`,
	`{"c":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8}}`, `{"c":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"a":10}}`, `{"c":[1,2,3,4,5,6,7,8,9]}`, `{"c":1,"c":null}`, `"\u0041\n\"\\\/\b\f\r\t"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\udc00"`, "\"\xff\"", "\"a\xc3\"", "\"\xe2\x80\xa8\"",
	"\"\x01\"", "\"\n\"", `"\x"`, `"\u12"`, `"\u12g4"`, `"`, `"\`, `{`, `[`, `[1,]`, `{"a":}`, `{"a"}`, `{"a":1,}`, `{a:1}`, `01`, `1.`, `.5`, `-`, `+1`, `1e`, `1e+`, `nul`, `tru`, `nulll`, `1 2`, `{} {}`, ``, ` `,
	`{"a":[{"b":"` + strings.Repeat("long", 9000) + `"}],"c":"` + strings.Repeat("é\\n", 9000) + `"}`,
	strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
	`{"q":` + strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1) + `}`,
}

func TestDecode(t *testing.T) {
	for _, s := range samples {
		compare(t, []byte(s), sample())
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s), uint64(len(s)))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		var b projection.Builder
		at := &b
		for range random.IntN(12) {
			switch random.IntN(4) {
			case 0:
				at = at.Each()
			case 1:
				at, _ = &b, at.Field("c")
			case 2:
				at.Keep()
				at = &b
			default:
				at = at.Field(string(rune('a' + random.IntN(3))))
			}
		}
		compare(t, data, b.Projection())
	})
}

// TestStreamOfValues reads values one after the other, as the frames of a watch.
func TestStreamOfValues(t *testing.T) {
	d := New(iotest.OneByteReader(strings.NewReader("{\"a\":1}\n{\"a\":2}\n  ")))
	for want := int64(1); want <= 2; want++ {
		if more, err := d.Next(); !more || err != nil {
			t.Fatal(more, err)
		}
		v, err := d.Value(projection.Whole())
		if err != nil || !reflect.DeepEqual(v, map[string]any{"a": want}) {
			t.Fatal(v, err)
		}
	}
	if more, err := d.Next(); more || err != nil {
		t.Error(more, err)
	}
}

// TestBrokenStream checks that the error of a stream is returned, and no part of a value.
func TestBrokenStream(t *testing.T) {
	v, err := New(io.MultiReader(strings.NewReader(`{"a":[1,`), iotest.ErrReader(io.ErrClosedPipe))).Value(projection.Whole())
	if v != nil || !errors.Is(err, io.ErrClosedPipe) {
		t.Error(v, err)
	}
	v, err = New(strings.NewReader(`{"a":[1,`)).Value(projection.Whole())
	if v != nil || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(v, err)
	}
}

// TestSkippedValuesAreNotAllocated checks what a skipped value costs.
func TestSkippedValuesAreNotAllocated(t *testing.T) {
	data := []byte(`{"a":{"x":[1,2.5e7,"text\n",{"y":null}],"z":"é"},"c":"kept"}` + "\n")
	var b projection.Builder
	b.Field("c").Keep()
	p, r := b.Projection(), bytes.NewReader(nil)
	d := New(r)
	got := testing.AllocsPerRun(100, func() {
		r.Reset(data)
		if _, err := d.Value(p); err != nil {
			t.Error(err)
		}
	})
	const most = 4 // the map and its closure
	if got > most {
		t.Errorf("%v allocations", got)
	}
}

// TestSharedStrings checks that equal strings share memory and others replace each other.
func TestSharedStrings(t *testing.T) {
	var s shared
	for i := range 3 * valueSlots {
		text := []byte(strings.Repeat("x", i%(2*longestShared)) + string(rune('a'+i%26)))
		if got, _ := s.value(text); got != string(text) {
			t.Fatalf("got %q for %q", got, text)
		}
		if got := s.key(text); got != string(text) {
			t.Fatalf("got %q for %q", got, text)
		}
	}
	if got, _ := s.value([]byte("")); got != "" {
		t.Error("the empty string is lost")
	}
	if n := testing.AllocsPerRun(100, func() { s.value([]byte("namespace")) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestObjectSharesAllOfAnother checks that the values of one object do not replace each
// other before an equal object is read, however the seed distributes them.
func TestObjectSharesAllOfAnother(t *testing.T) {
	defer func(old maphash.Seed) { seed = old }(seed)
	const object = `{"metadata":{"labels":{"app":"a"},"annotations":{"note":"b"},"generation":1},"spec":{"replicas":1,"selector":{"matchLabels":{"app":"c"}}},
"status":{"replicas":1,"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True"},{"type":"Failed","status":"False"}]}}`
	for range 300 {
		seed = maphash.MakeSeed()
		d := New(strings.NewReader(object + object))
		first, err := d.Value(projection.Whole())
		if err != nil {
			t.Fatal(err)
		}
		second, err := d.Value(projection.Whole())
		if err != nil {
			t.Fatal(err)
		}
		if !identical(first, second) {
			t.Fatal("two equal objects do not share their content")
		}
	}
}

// TestSharedValues checks which values share memory.
func TestSharedValues(t *testing.T) {
	long := strings.Repeat("x", longestShared+1)
	for _, test := range []struct {
		first, second string
		want          bool
	}{
		{`{"a":1}`, `{"a":1}`, true},
		{`{"a":[{"b":"x"},true,null,{}],"c":[]}`, ` {"a" : [{"b":"\u0078"},true,null,{ }],"c":[ ]}`, true},
		{`[{"type":"Ready","status":"True"}]`, `[{"type":"Ready","status":"True"}]`, true},
		{`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8}`, `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8}`, true},
		{`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}`, `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}`, false},
		{`[1,2,3,4,5,6,7,8,9]`, `[1,2,3,4,5,6,7,8,9]`, false},
		{`["` + long + `"]`, `["` + long + `"]`, false},
		{`{"a":1}`, `{"a":1.0}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":null}`, `{"b":null}`, false},
		{`{"a":1,"a":1}`, `{"a":1,"a":1}`, false},
	} {
		d := New(strings.NewReader(test.first + "\n" + test.second))
		first, err := d.Value(projection.Whole())
		if err != nil {
			t.Fatal(err)
		}
		second, err := d.Value(projection.Whole())
		if err != nil {
			t.Fatal(err)
		}
		if got := identical(first, second); got != test.want {
			t.Errorf("%s and %s share memory: %t, want %t", test.first, test.second, got, test.want)
		}
	}
}

package projection

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

type object = map[string]any

// grow adds random reads.
func grow(random *rand.Rand, b *Builder, depth int) {
	for range random.IntN(4) {
		switch n := random.IntN(8); {
		case n == 0:
			b.Keep()
		case depth == 0:
		case n < 3:
			grow(random, b.Each(), depth-1)
		default:
			grow(random, b.Field(string(rune('a'+random.IntN(3)))), depth-1)
		}
	}
}

func invent(random *rand.Rand, depth int) any {
	switch n := random.IntN(4); {
	case depth == 0 || n == 0:
		return int64(random.IntN(3))
	case n == 1:
		return []any{invent(random, depth-1), invent(random, depth-1)}
	}
	return object{"a": invent(random, depth-1), "b": invent(random, depth-1), "c": invent(random, depth-1), "d": nil}
}

// TestCovers checks that a projection that covers another one keeps at least as much.
func TestCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	covering := 0
	for range 20000 {
		var a, b Builder
		grow(random, &a, 3)
		grow(random, &b, 3)
		p, q, value := a.Projection(), b.Projection(), invent(random, 4)
		if !p.Covers(p) || !Whole().Covers(p) || p.Covers(Whole()) != p.All() {
			t.Fatalf("%+v does not cover itself", p)
		}
		if p.Covers(q) {
			covering++
			if !reflect.DeepEqual(q.Of(p.Of(value)), q.Of(value)) {
				t.Fatalf("of %v one keeps %v, and the other %v", value, p.Of(value), q.Of(value))
			}
		}
	}
	if covering < 1000 {
		t.Errorf("only %d cover another one", covering)
	}
}

// TestBuilderGrows checks that a builder with more reads gives a projection that covers the
// earlier one.
func TestBuilderGrows(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		var b Builder
		grow(random, &b, 3)
		before := b.Projection()
		grow(random, &b, 3)
		if !b.Projection().Covers(before) {
			t.Fatal("it keeps less than before")
		}
	}
}

func TestWithout(t *testing.T) {
	value := object{"m": object{"a": int64(1), "b": object{"x": "y", "z": "w"}}, "l": []any{"e"}}
	var b Builder
	b.Field("m").Keep()
	for _, c := range []struct {
		p    *Projection
		want object
	}{
		{Whole().Without("m", "b", "x"), object{"m": object{"a": int64(1), "b": object{"z": "w"}}, "l": []any{"e"}}},
		{Whole().Without("m"), object{"l": []any{"e"}}},
		{b.Projection().Without("m", "b"), object{"m": object{"a": int64(1)}}},
		{b.Projection().Without("l", "b"), object{"m": value["m"]}},
	} {
		if got := c.p.Of(value); !reflect.DeepEqual(got, c.want) {
			t.Errorf("got %v, want %v", got, c.want)
		}
		if !Whole().Covers(c.p) || c.p.Covers(Whole()) {
			t.Errorf("%v covers the whole", c.want)
		}
	}
}

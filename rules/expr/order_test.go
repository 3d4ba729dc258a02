package expr

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/source"
)

func TestLoopsOverMapsAreOrdered(t *testing.T) {
	vars := world()
	vars["self"] = object{"spec": object{"k": "m", "m": object{"d": int64(1), "b": int64(2), "a": int64(3), "c": int64(4)}, "l": list{object{"z": int64(1), "y": int64(2), "x": int64(3)}}}}
	for src, want := range map[string]string{
		`self.spec.m.map(k, k)`:                                       `["a","b","c","d"]`,
		`self.spec.m.filter(k, k != "b")`:                             `["a","c","d"]`,
		`self.spec.m.transformList(k, v, k + string(v))`:              `["a3","b2","c4","d1"]`,
		`self.spec["m"].map(k, k)`:                                    `["a","b","c","d"]`,
		`self.spec[self.spec.k].map(k, k)`:                            `["a","b","c","d"]`,
		`self.spec["" + "m"].map(k, k)`:                               `["a","b","c","d"]`,
		`self.spec.l[1 - 1].map(k, k)`:                                `["x","y","z"]`,
		`self.spec.l.map(m, m.map(k, k))`:                             `[["x","y","z"]]`,
		`self.spec.?m.orValue({}).map(k, k)`:                          `["a","b","c","d"]`,
		`self.spec.?nope.orValue({"b": 1, "a": 2}).map(k, k)`:         `["a","b"]`,
		`(true ? self.spec.m : {}).map(k, k)`:                         `["a","b","c","d"]`,
		`{"c": 1, "b": 2, "a": 3, "d": 4}.map(k, k)`:                  `["a","b","c","d"]`,
		`{"c": 1, self.spec.k: 2, "a": 3, "d": 4}.map(k, k)`:          `["a","c","d","m"]`,
		`{3: 1, 1: 2, 2: 3, 0: 4}.map(k, k)`:                          `[0,1,2,3]`,
		`self.spec.m.transformMap(k, v, v + 1).map(k, k)`:             `["a","b","c","d"]`,
		`self.spec.m.transformMapEntry(k, v, {k + "x": v}).map(k, k)`: `["ax","bx","cx","dx"]`,
		`merge(self.spec.m, {"e": 1}).map(k, k)`:                      `["a","b","c","d","e"]`,
		`cel.bind(m, self.spec.m, m.map(k, k))`:                       `["a","b","c","d"]`,
		`json.unmarshal('{"b":1,"a":2}').map(k, k)`:                   `["a","b"]`,
		`self.spec.m.exists(k, k == "c")`:                             `true`,
		`self.spec.m.exists_one(k, v, v == 1)`:                        `true`,
	} {
		p := compile(t, src, shapes())
		for range 20 {
			if got := eval(t, p, vars); got != want {
				t.Errorf("%s\n got %s\nwant %s", src, got, want)
				break
			}
		}
	}
}

// TestResultsDoNotDependOnOrderOfMaps calls every function that takes a map or a list, and every
// macro, with maps of many keys. The result, or the error, is the same each time.
func TestResultsDoNotDependOnOrderOfMaps(t *testing.T) {
	m, reversed := object{}, object{}
	for i := range 40 {
		key := string(rune('a'+i%26)) + strconv.Itoa(i)
		m[key], reversed[key] = int64(i), int64(40-i)
	}
	vars := variables{"self": object{
		"m": m, "n": reversed, "maps": list{m, reversed}, "nested": object{"z": m, "y": reversed}, "l": list{"b", "a", "b"},
		"object": object{"metadata": object{"name": "x", "labels": texts(m), "annotations": texts(reversed)}},
	}}
	withMaps := []string{"self.m", "self.nested", "self.object", "self.object.metadata.labels", "self.maps"}
	samples := append(withMaps, "self.l", `"a1"`, "1", "true", `"v1/ConfigMap"`)
	seen := map[string]bool{} // what was called without an error
	called := map[string]bool{}
	check := func(function, call string) {
		if called[call] || !slices.ContainsFunc(withMaps, func(s string) bool { return strings.Contains(call, s) }) {
			return
		}
		called[call] = true
		p := compileIfValid(t, call)
		if p == nil {
			return
		}
		want := eval(t, p, vars)
		seen[function] = seen[function] || !strings.HasPrefix(want, "error")
		for range 3 {
			if got := eval(t, p, vars); got != want {
				t.Errorf("%s\n gives %s\n and   %s", call, want, got)
				return
			}
		}
	}
	b, err := base()
	if err != nil {
		t.Fatal(err)
	}
	walks := map[string]bool{} // functions with an overload for a map
	for _, name := range b.functions {
		f := b.declared[name]
		if f == nil || name == "in" {
			continue // A macro, or an operator.
		}
		for _, o := range f.OverloadDecls() {
			walks[name] = walks[name] || slices.ContainsFunc(o.ArgTypes(), func(t *types.Type) bool { return t.Kind() == types.MapKind })
			for _, args := range choices(samples, min(len(o.ArgTypes()), 3)) {
				if o.IsMemberFunction() {
					check(name, args[0]+"."+name+"("+strings.Join(args[1:], ", ")+")")
				} else {
					check(name, name+"("+strings.Join(args, ", ")+")")
				}
			}
		}
	}
	for _, of := range []string{"self.m", "self.nested", "merge(self.m, self.n)", "self.m.transformMap(k, v, v)", "self.?m.orValue({})", "(1 > 2 ? self.nested : self.m)"} {
		for _, macro := range []string{
			"map(k, k)", "map(k, k != 'a0', k)", "filter(k, k != 'a0')", "transformList(k, v, k)", "transformList(k, v, k != 'a0', v)", "transformMap(k, v, v).map(k, k)",
			"transformMapEntry(k, v, {k + 'x': v}).map(k, k)", "exists(k, k == 'a0')", "all(k, k != 'a0')", "exists_one(k, k == 'a0')", "exists(k, 1 / 0 > int(k))", "map(k, 1 / (size(k) - size(k)))",
			"map(k, [k]).flatten()", "map(k, k).sort()", "map(k, k).sortBy(k, k)", "map(k, k).distinct()", "map(k, k).join()",
		} {
			check(macro, of+"."+macro)
		}
	}
	for name := range walks {
		if walks[name] && !seen[name] {
			t.Errorf("no call of %s succeeds: give it arguments", name)
		}
	}
}

// texts returns a map with its values as texts.
func texts(m object) object {
	out := object{}
	for k, v := range m {
		out[k] = strconv.FormatInt(v.(int64), 10)
	}
	return out
}

// choices returns all lists of n samples.
func choices(samples []string, n int) [][]string {
	if n == 0 {
		return [][]string{nil}
	}
	var all [][]string
	for _, rest := range choices(samples, n-1) {
		for _, s := range samples {
			all = append(all, append(slices.Clone(rest), s))
		}
	}
	return all
}

// compileIfValid returns nil if an expression is invalid.
func compileIfValid(t *testing.T, src string) *Program {
	t.Helper()
	scope, err := NewScope("self")
	if err != nil {
		t.Fatal(err)
	}
	c, issues := scope.Check(&source.Expr{Text: src, Pos: source.Pos{File: "rules.yaml", Line: 1, Column: 1}}, Any)
	if issues != nil {
		return nil
	}
	p, wrong := c.Program(shapes())
	if wrong != nil {
		return nil
	}
	return p
}

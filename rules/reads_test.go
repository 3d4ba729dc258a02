package rules

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reconcel/rules/projection"
	"reconcel/rules/source"
	"reconcel/test/race"
)

// checkProjected checks that a primary renders the same from what the rules read of the
// objects as from the objects themselves.
func checkProjected(t *testing.T, p *Program, in Input) {
	t.Helper()
	for _, primary := range p.Primaries() {
		hidden := func(*projection.Projection) *projection.Projection { return VisibleToRules() }
		read := func(reads *projection.Projection) *projection.Projection { return reads }
		var whole, part Rendering
		primary.Render(projectInput(p, primary, in, hidden), &whole)
		primary.Render(projectInput(p, primary, in, read), &part)
		a, b := strings.Join(seen(&whole), "\n"), strings.Join(seen(&part), "\n")
		if a != b {
			t.Fatalf("whole:\n%s\nprojected:\n%s\nself: %s", a, b, asJSON(p.Reads().Primary(primary.GVK).Of(in.Self)))
		}
	}
}

// projectInput returns the input with projected objects.
func projectInput(p *Program, primary *Primary, in Input, choose func(reads *projection.Projection) *projection.Projection) Input {
	part := func(reads *projection.Projection, o map[string]any) map[string]any {
		if o == nil {
			return nil
		}
		return choose(reads).OfMap(o)
	}
	out := in
	out.Self = part(p.Reads().Primary(primary.GVK), in.Self)
	if in.Observed != nil {
		out.Observed = func(id Identity) Live {
			live := in.Observed(id)
			live.Object = part(p.Reads().Child(id.GVK), live.Object)
			return live
		}
	}
	if in.Owned != nil {
		out.Owned = func(r *Rule, c *Child) (all []Live, _ error) {
			owned, err := in.Owned(r, c)
			for _, live := range owned {
				live.Object = part(p.Reads().Child(c.GVK), live.Object)
				all = append(all, live)
			}
			return all, err
		}
	}
	if in.Lookup != nil {
		out.Lookup = func(l *Lookup, q Query) ([]map[string]any, error) {
			found, err := in.Lookup(l, q)
			all := make([]map[string]any, len(found))
			for i, o := range found {
				all[i] = part(p.Reads().Lookup(l.GVK), o)
			}
			return all, err
		}
	}
	return out
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// An inventor makes random objects whose fields often have the names that rules read.
type inventor struct {
	*rand.Rand
	names []string
}

func (v inventor) value(depth int) any {
	switch n := v.IntN(10); {
	case n < 4 && depth > 0:
		m := map[string]any{}
		for range v.IntN(6) {
			m[v.names[v.IntN(len(v.names))]] = v.value(depth - 1)
		}
		return m
	case n < 6 && depth > 0:
		l := []any{}
		for range v.IntN(4) {
			l = append(l, v.value(depth-1))
		}
		return l
	case n < 7:
		return []any{nil, true, false, int64(0), int64(2), 2.5}[v.IntN(6)]
	}
	return []string{"", "a", "1", "True", "web", "https", "example.com"}[v.IntN(7)]
}

func (v inventor) object(kind, apiVersion string) map[string]any {
	o := map[string]any{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{
			"name": "name", "namespace": "ns", "uid": "u", "generation": int64(v.IntN(3)), "labels": map[string]any{"a": "b"},
			"managedFields": []any{map[string]any{"manager": "other"}}, "selfLink": "/x",
			"annotations": map[string]any{lastApplied: "{}", "note": "1"},
		},
	}
	for _, section := range []string{"spec", "status", "data"} {
		o[section] = v.value(5)
	}
	return o
}

// fieldNames returns the words of a rules file that may be names of fields.
func fieldNames(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// TestProjectionIsInvisible renders every example for random objects.
func TestProjectionIsInvisible(t *testing.T) {
	files, err := filepath.Glob("../examples/*/rules.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Load([]source.File{{Name: "rules.yaml", Data: text}})
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(200) {
				checkProjected(t, p, inventedInput(inventor{rand.New(rand.NewPCG(seed, 1)), fieldNames(string(text))}, p))
			}
		})
	}
}

// TestProjectionOfGrownRulesIsInvisible renders random expressions for random objects.
func TestProjectionOfGrownRulesIsInvisible(t *testing.T) {
	race.Skip(t)
	loaded := 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		data := make([]byte, 12)
		for i := range data {
			data[i] = byte(random.IntN(256))
		}
		p := loadFuzzed(t, (&grower{data: data}).expression())
		if p == nil {
			continue
		}
		loaded++
		names := strings.Fields("x map list image nope a b data status spec nope")
		for range 5 {
			checkProjected(t, p, inventedInput(inventor{random, names}, p))
		}
	}
	if loaded < 50 {
		t.Errorf("only %d expressions load", loaded)
	}
}

// inventedInput has objects for everything that the rules ask for, the same each time.
func inventedInput(v inventor, p *Program) Input {
	primary := p.Primaries()[0]
	objects := map[string]map[string]any{}
	object := func(kind, apiVersion, name string) map[string]any {
		key := kind + "/" + name
		if _, known := objects[key]; !known {
			o := v.object(kind, apiVersion)
			o["metadata"].(map[string]any)["name"] = name
			if objects[key] = o; v.IntN(5) == 0 {
				objects[key] = nil
			}
		}
		return objects[key]
	}
	self := v.object(primary.GVK.Kind, primary.GVK.GroupVersion().String())
	return Input{
		Self: self,
		Observed: func(id Identity) Live {
			return Live{Object: object(id.GVK.Kind, id.GVK.GroupVersion().String(), id.Name)}
		},
		Owned: func(_ *Rule, c *Child) (all []Live, _ error) {
			for i := range 3 {
				if o := object(c.GVK.Kind, c.GVK.GroupVersion().String(), fmt.Sprint("own-", i)); o != nil {
					all = append(all, Live{Object: o})
				}
			}
			return all, nil
		},
		Lookup: func(l *Lookup, q Query) (found []map[string]any, _ error) {
			if o := object(l.GVK.Kind, l.GVK.GroupVersion().String(), fmt.Sprint(q.Name, q.Selector)); o != nil {
				found = append(found, o)
			}
			return found, nil
		},
	}
}

package world_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"

	"reconcel/rules"
)

// life is that of a process that is killed at a write: before the write happens, or after it, so
// that the answer is lost.
type life struct {
	committed bool
	over      bool
}

var errKilled = errors.New("killed")

// write ends the life.
func (l *life) write(write func() error) error {
	if !l.over && l.committed {
		if err := write(); err != nil {
			return err
		}
	}
	l.over = true
	return errKilled
}

// TestKilledAtEachWrite removes children while a sibling waits, and orphans in every way,
// with a controller that is killed at each write. The result is the same as without
// kills.
func TestKilledAtEachWrite(t *testing.T) {
	waiting := "  - id: waits\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: derived}" + waitsForStatus + "}\n"
	rule := func(children ...string) string { return fooRule("one", "", append(children, waiting)...) }
	data, users := claim("data", "    onDelete: orphan\n"), each("users", "['ann', 'bob']", "")
	type change struct {
		rule string
		want string
	}
	changes := []change{
		{rule(child("door", "door", ""), users, data), "ann bob data door"},
		{rule(child("door", "door", excluded), users, data), "ann bob data"},
		{rule(child("door", "door", excluded), each("users", "['ann']", ""), data), "ann data"},
		{rule(each("users", "['ann']", ""), claim("data", "    onDelete: orphan\n"+excluded)), "ann data"},
		{rule(each("users", "['ann']", "")), "ann data"},
		{rule(each("users", "['ann']", ""), data), "ann data"},
		{rule(claim("other", "    onDelete: orphan\n")), "data other"},
		{strings.Replace(rule(users, data), "kind: Foo}", "kind: Foo, when: 'false'}", 1), "data other"},
		{rule(users, data), "ann bob data other"},
	}
	for round := range 2 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			w := load(t, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"+changes[0].rule)
			put(t, w, "../../examples/foo/foo.yaml")
			kills := 0
			for i, c := range changes {
				if i > 0 {
					w.Wrap(dying(&life{}))
					reload(t, w, c.rule) // This reload changes nothing.
				}
				for lives := 0; ; lives++ {
					if lives == 60 {
						t.Fatalf("change %d: it does not come to rest", i)
					}
					l := &life{committed: (lives+round)%2 == 1}
					w.Wrap(dying(l))
					if err := w.Restart(t.Context()); err != nil {
						t.Fatal(err)
					}
					if err := w.Advance(t.Context(), time.Second); err != nil {
						t.Fatal(err)
					}
					if !l.over {
						break
					}
					kills++
				}
				if got, _ := held(t, w); got != c.want {
					t.Errorf("change %d: there are %q, want %q", i, got, c.want)
				}
			}
			for _, c := range w.Cluster().Changes(0) {
				if c.New == nil && c.Old.GetAnnotations()[rules.AnnotationOrphan] == "true" {
					t.Errorf("the orphan %s was deleted", c.Old.GetName())
				}
			}
			if kills < 10 {
				t.Errorf("it was killed %d times only", kills)
			}
			t.Logf("killed %d times", kills)
		})
	}
}

// dying returns the client of a process that is killed at its first write to the namespace of
// the story.
func dying(l *life) func(dynamic.Interface) dynamic.Interface {
	return func(c dynamic.Interface) dynamic.Interface { return limited{c, &span{life: l, left: 1, in: "default"}} }
}

func immortal(c dynamic.Interface) dynamic.Interface { return c }

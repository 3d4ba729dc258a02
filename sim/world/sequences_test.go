package world_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/sim"
	"reconcel/sim/world"
	"reconcel/test/e2e"
	"reconcel/test/soak"
)

// boxCRD is a kind whose spec may hold anything.
var boxCRD = strings.NewReplacer("widgets", "boxes", "widget", "box", "Widget", "Box").Replace(e2e.WidgetCRD)

// obstacle keeps a child from being rendered.
type obstacle int

const (
	none      obstacle = iota
	dataWaits          // its objects are known but cannot be created
	dataFails          // the same, because of an error
	whenWaits          // it is unknown whether it has any objects
	whoWaits           // it is unknown which objects it has
	obstacles
)

// kid is one child of the rule in a sequence. Its slot makes its names unique.
type kid struct {
	slot   int
	id     string
	kind   string
	many   bool
	orphan bool
	prefix string
	obstacle
}

// sequence is a rule and a resource that change at random, with invariants about the
// objects between the changes.
type sequence struct {
	*testing.T
	world  *world.World
	random *rand.Rand
	rule   string
	kids   []*kid
	spec   map[string]any
	steps  []string
}

// TestSequences changes the rules and the resource at random, between failing writes and
// restarts. RECONCEL_SOAK=1 runs 500 sequences.
func TestSequences(t *testing.T) {
	count := 40
	if soak.Enabled() {
		count = 500
	}
	for seed := range count {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := &sequence{T: t, random: rand.New(rand.NewPCG(uint64(seed), 1)), rule: "one", spec: map[string]any{"match": true}}
			for range 2 + s.random.IntN(3) {
				s.addKid()
			}
			s.begin()
			for range 25 {
				s.step()
				if t.Failed() {
					t.Fatalf("after\n%s\nrules:\n%s\nspec: %v", strings.Join(s.steps, "\n"), s.text(), s.spec)
				}
			}
		})
	}
}

func (s *sequence) begin() {
	s.Helper()
	var err error
	if s.world, err = world.New(world.Options{Program: s.program(), Kinds: kindsOf(s.T, boxCRD)}); err != nil {
		s.Fatal(err)
	}
	s.createBox()
	s.rest()
}

func (s *sequence) program() *rules.Program {
	s.Helper()
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(s.text())}})
	if err != nil {
		s.Fatalf("%v\n%s", err, s.text())
	}
	return program
}

func (s *sequence) text() string {
	out := &strings.Builder{}
	fmt.Fprintf(out, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: %s\n", s.rule)
	fmt.Fprintf(out, "  for: {apiVersion: test.reconcel.dev/v1, kind: Box, when: self.spec.match}\n  children:\n")
	for _, k := range s.kids {
		fmt.Fprintf(out, "  - id: %s\n    when: %s\n", k.id, map[bool]string{true: "self.status.none == 'x'", false: "self.spec.on" + fmt.Sprint(k.slot)}[k.obstacle == whenWaits])
		name, list := fmt.Sprintf("%s%d-${self.spec.name%d}", k.prefix, k.slot, k.slot), fmt.Sprintf("self.spec.list%d", k.slot)
		if k.many {
			name = fmt.Sprintf("%s%d-${e}", k.prefix, k.slot)
			if k.obstacle == whoWaits {
				list = "self.status.none"
			}
			fmt.Fprintf(out, "    forEach: [{name: e, in: %s}]\n", list)
		} else if k.obstacle == whoWaits {
			name = k.prefix + "-${self.status.none}"
		}
		if k.orphan {
			out.WriteString("    onDelete: orphan\n")
		}
		value := map[obstacle]string{dataWaits: "${self.status.none}", dataFails: "${self.spec.none}"}[k.obstacle]
		fmt.Fprintf(out, "    template: {apiVersion: v1, kind: %s, metadata: {name: '%s', annotations: {value: '%s'}}}\n", k.kind, name, value)
	}
	return out.String()
}

func (s *sequence) addKid() {
	slot := 0
	for slices.ContainsFunc(s.kids, func(k *kid) bool { return k.slot == slot }) {
		slot++
	}
	k := &kid{slot: slot, id: fmt.Sprintf("k%d", slot), prefix: "n", many: s.random.IntN(2) == 0, orphan: s.random.IntN(4) == 0}
	k.kind = []string{"ConfigMap", "ServiceAccount"}[s.random.IntN(2)]
	s.kids = append(s.kids, k)
	s.spec[fmt.Sprintf("on%d", slot)] = true
	s.spec[fmt.Sprintf("name%d", slot)] = "a"
	s.spec[fmt.Sprintf("list%d", slot)] = []any{"a", "b"}
}

var boxes = runtimeschema.GroupVersionResource{Group: "test.reconcel.dev", Version: "v1", Resource: "boxes"}

func (s *sequence) createBox() {
	s.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "test.reconcel.dev/v1", "kind": "Box", "metadata": map[string]any{"name": "box", "namespace": "default"},
		"spec": maps.Clone(s.spec),
	}}
	if _, err := s.world.Cluster().Client("someone").Resource(boxes).Namespace("default").Create(s.Context(), u, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// edit sets a field of the spec.
func (s *sequence) edit(key string, value any) {
	s.Helper()
	s.spec[key] = value
	body, err := json.Marshal(map[string]any{"spec": map[string]any{key: value}})
	if err != nil {
		s.Fatal(err)
	}
	_, err = s.world.Cluster().Client("someone").Resource(boxes).Namespace("default").Patch(s.Context(), "box", types.MergePatchType, body, metav1.PatchOptions{})
	if err != nil {
		s.Fatal(err)
	}
}

// step makes one change, sometimes while writes fail, and checks the invariants.
func (s *sequence) step() {
	s.Helper()
	before := s.objects()
	if s.random.IntN(4) == 0 {
		s.world.Cluster().Fail(sim.Failure{By: world.Controller, Namespace: "default", Verb: []string{"apply", "delete", "get"}[s.random.IntN(3)],
			Times: 1 + s.random.IntN(3), Lost: s.random.IntN(2) == 0})
		s.note("writes fail")
	}
	k := s.kids[s.random.IntN(len(s.kids))]
	changedRules := true
	switch n := s.random.IntN(14); {
	case n < 3:
		changedRules = false
		s.note("%s: when %v", k.id, !s.spec[fmt.Sprintf("on%d", k.slot)].(bool))
		s.edit(fmt.Sprintf("on%d", k.slot), !s.spec[fmt.Sprintf("on%d", k.slot)].(bool))
	case n < 5:
		changedRules = false
		list := []any{}
		for _, e := range []string{"a", "b", "c"} {
			if s.random.IntN(2) == 0 {
				list = append(list, e)
			}
		}
		s.note("%s: list %v", k.id, list)
		s.edit(fmt.Sprintf("list%d", k.slot), list)
	case n < 6:
		changedRules = false
		name := string(rune('a' + s.random.IntN(3)))
		s.note("%s: name %s", k.id, name)
		s.edit(fmt.Sprintf("name%d", k.slot), name)
	case n < 7:
		changedRules = false
		s.note("match %v", !s.spec["match"].(bool))
		s.edit("match", !s.spec["match"].(bool))
	case n < 8:
		changedRules = false
		s.note("delete and create")
		if err := s.world.Cluster().Client("someone").Resource(boxes).Namespace("default").Delete(s.Context(), "box", deleteOptions); err != nil {
			s.Fatal(err)
		}
		s.rest()
		s.createBox()
		before = nil // All but the orphans are gone, and the history covers those.
	case n < 10:
		k.obstacle = obstacle(s.random.IntN(int(obstacles)))
		s.note("%s: obstacle %d", k.id, k.obstacle)
	case n < 11:
		k.orphan = !k.orphan
		s.note("%s: orphan %v", k.id, k.orphan)
	case n < 12:
		k.id, k.prefix = fmt.Sprintf("k%d%c", k.slot, 'a'+s.random.IntN(3)), []string{"n", "m"}[s.random.IntN(2)]
		s.note("slot %d is renamed: %s, %s", k.slot, k.id, k.prefix)
	case n < 13 && len(s.kids) > 1:
		s.kids = slices.DeleteFunc(s.kids, func(other *kid) bool { return other == k })
		s.note("%s is taken out", k.id)
	default:
		s.addKid()
		s.note("%s is added", s.kids[len(s.kids)-1].id)
		added := s.kids[len(s.kids)-1].slot
		for _, key := range []string{"on", "name", "list"} {
			key = fmt.Sprintf("%s%d", key, added)
			s.edit(key, s.spec[key])
		}
	}
	if changedRules {
		if err := s.world.Reload(s.Context(), s.program()); err != nil {
			s.Fatal(err)
		}
	}
	if s.random.IntN(4) == 0 {
		s.note("restart")
		if err := s.world.Restart(s.Context()); err != nil {
			s.Fatal(err)
		}
	}
	s.rest()
	s.check(before)
}

func (s *sequence) note(format string, args ...any) {
	s.steps = append(s.steps, fmt.Sprintf(format, args...))
}

// rest waits until all failed writes have been retried.
func (s *sequence) rest() {
	s.Helper()
	if err := s.world.Advance(s.Context(), 5*time.Minute); err != nil {
		s.Fatal(err)
	}
}

// thing is an object of the rule.
type thing struct {
	kind, name string
}

// objects returns the objects of the rule for the resource, by kind and name.
func (s *sequence) objects() map[thing]*unstructured.Unstructured {
	box := s.box()
	all := map[thing]*unstructured.Unstructured{}
	for _, o := range s.world.Objects() {
		owner, ok := rules.OwnerOf(o.Object)
		if ok && box != nil && owner.UID == box.GetUID() && o.GetLabels()[rules.LabelRule] == s.rule {
			all[thing{o.GetKind(), o.GetName()}] = o
		}
	}
	return all
}

func (s *sequence) box() *unstructured.Unstructured {
	return s.world.Cluster().Find(runtimeschema.GroupKind{Group: "test.reconcel.dev", Kind: "Box"}, "default", "box")
}

// names returns the objects that a kid wants, if they are known.
func (s *sequence) names(k *kid) (names []string, known bool) {
	slot := fmt.Sprint(k.slot)
	switch {
	case k.obstacle == whenWaits && k.many:
		return nil, false
	case k.obstacle != whenWaits && !s.spec["on"+slot].(bool):
		return nil, true
	case k.obstacle == whoWaits:
		return nil, false
	case !k.many:
		return []string{k.prefix + slot + "-" + s.spec["name"+slot].(string)}, true
	}
	for _, e := range s.spec["list"+slot].([]any) {
		names = append(names, k.prefix+slot+"-"+e.(string))
	}
	return names, true
}

// check checks the invariants.
func (s *sequence) check(before map[thing]*unstructured.Unstructured) {
	s.Helper()
	for _, c := range s.world.Cluster().Changes(0) {
		if c.New == nil && c.Old.GetAnnotations()[rules.AnnotationOrphan] == "true" {
			s.Errorf("the orphan %s %s was deleted", c.Old.GetKind(), c.Old.GetName())
		}
	}
	now, kept := s.objects(), message(s.box().Object, "Kept")
	for what, o := range now {
		if s.wanted(what) {
			continue
		}
		orphan := o.GetAnnotations()[rules.AnnotationOrphan] == "true" || slices.ContainsFunc(s.kids, func(k *kid) bool { return k.id == o.GetLabels()[rules.LabelChild] && k.orphan })
		if !orphan && !s.mayStay(what, o, now) {
			s.Errorf("%v stays for no reason: Kept says %q", what, kept)
		}
		if s.spec["match"].(bool) && !strings.Contains(kept, what.kind+"/default/"+what.name) {
			s.Errorf("%v stays, and Kept does not say so: %q", what, kept)
		}
	}
	for what, o := range before {
		if now[what] == nil && (s.wanted(what) || s.spec["match"].(bool) && s.undecided(what.kind)) {
			s.Errorf("%v was deleted (child %s), though it may be wanted", what, o.GetLabels()[rules.LabelChild])
		}
	}
}

func (s *sequence) wanted(what thing) bool {
	return s.spec["match"].(bool) && slices.ContainsFunc(s.kids, func(k *kid) bool {
		names, _ := s.names(k)
		return k.kind == what.kind && slices.Contains(names, what.name)
	})
}

// undecided reports whether the objects of some kid of this kind are unknown.
func (s *sequence) undecided(kind string) bool {
	return slices.ContainsFunc(s.kids, func(k *kid) bool {
		_, known := s.names(k)
		return k.kind == kind && !known
	})
}

// mayStay reports whether there is a reason to keep an object for now.
func (s *sequence) mayStay(what thing, o *unstructured.Unstructured, now map[thing]*unstructured.Unstructured) bool {
	if !s.spec["match"].(bool) {
		return false
	}
	if s.undecided(what.kind) {
		return true
	}
	child := o.GetLabels()[rules.LabelChild]
	own := slices.ContainsFunc(s.kids, func(k *kid) bool { return k.id == child })
	return slices.ContainsFunc(s.kids, func(k *kid) bool {
		names, _ := s.names(k)
		exists := slices.ContainsFunc(names, func(name string) bool { return now[thing{k.kind, name}] != nil })
		return k.kind == what.kind && len(names) > 0 && !exists && (own && k.id == child || !own && k.obstacle == dataFails)
	})
}

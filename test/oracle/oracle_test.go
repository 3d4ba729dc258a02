package oracle_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"reconcel/test/oracle"
)

// story is the part of a history of one run.
type story struct {
	*oracle.History
	namespace, uid string
}

// is records a version of a child.
func (s story) is(event watch.EventType, name, incarnation, value string) {
	s.Record(event, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": name, "namespace": s.namespace, "uid": s.uid + incarnation, "resourceVersion": value, "creationTimestamp": "2020-01-01T00:00:00Z",
			"labels":      map[string]any{"reconcel.dev/rule": "rule", "reconcel.dev/child": "child"},
			"annotations": map[string]any{"reconcel.dev/owner": s.uid + "0"},
		},
		"data": map[string]any{"value": value, "in": s.namespace},
	}})
}

const (
	firstUID  = "0b7e0a4c-7d5c-4a8e-9f57-00000000000"
	secondUID = "5c1e9d2f-11aa-4bb0-8c66-00000000000"
)

// play returns what a run does, after a beginning that the reference has, too.
func play(namespace, uid string, also func(story)) oracle.Run {
	s := story{oracle.NewHistory(), namespace, uid}
	s.is(watch.Added, "a", "1", "1")
	s.is(watch.Modified, "a", "1", "2")
	s.is(watch.Added, "gone", "2", "1")
	s.is(watch.Deleted, "gone", "2", "1")
	if also != nil {
		also(s)
	}
	return s.Select(oracle.NewNames([]string{"made-"}, namespace, "NAMESPACE"), func(k oracle.Key) bool { return k.Namespace == namespace }).Run()
}

func TestViolations(t *testing.T) {
	reference := play("space-one", firstUID, nil)
	for name, c := range map[string]struct {
		also func(story)
		want string // in a violation; empty: no violation
	}{
		"the same run":              {nil, ""},
		"an event that comes twice": {func(s story) { s.is(watch.Modified, "a", "1", "2") }, ""},
		"another end state":         {func(s story) { s.is(watch.Modified, "a", "1", "1") }, "end state"},
		"a missing object":          {func(s story) { s.is(watch.Deleted, "a", "1", "2") }, "end state"},
		"an extra object":           {func(s story) { s.is(watch.Added, "b", "3", "1") }, "end state"},
		"a deletion that is undone": {func(s story) {
			s.is(watch.Deleted, "a", "1", "2")
			s.is(watch.Added, "a", "4", "2")
		}, "a: deleted 1 times, 0"},
		"a creation that is undone": {func(s story) {
			s.is(watch.Added, "gone", "5", "1")
			s.is(watch.Deleted, "gone", "5", "1")
		}, "gone: created 2 times, 1"},
		"a child that exists twice": {func(s story) {
			s.is(watch.Added, "gone", "5", "1")
			s.is(watch.Added, "made-12345678", "6", "1")
			s.is(watch.Deleted, "gone", "5", "1")
			s.is(watch.Deleted, "made-12345678", "6", "1")
		}, "rule/child: present at a time 3 times, 2"},
		"a state that is undone": {func(s story) {
			s.is(watch.Modified, "a", "1", "7")
			s.is(watch.Modified, "a", "1", "2")
		}, "a state that the reference never had"},
	} {
		t.Run(name, func(t *testing.T) {
			found := strings.Join(play("space-other", secondUID, c.also).Violations(reference), "\n")
			if c.want == "" && found != "" || !strings.Contains(found, c.want) {
				t.Errorf("got %s, want %q", found, c.want)
			}
		})
	}
}

func TestGeneratedNamesAreOneObject(t *testing.T) {
	made := func(name string) func(story) {
		return func(s story) { s.is(watch.Added, name, "3", "1") }
	}
	reference := play("space-one", firstUID, made("made-abcdefgh"))
	if found := play("space-other", secondUID, made("made-12345678")).Violations(reference); len(found) > 0 {
		t.Errorf("got %q, want none", found)
	}
	both := func(s story) { made("made-12345678")(s); made("made-87654321")(s) }
	if found := play("space-other", secondUID, both).Violations(reference); len(found) == 0 {
		t.Error("a second object with a generated name was not found")
	}
}

func TestJoinedReferencesAllowBoth(t *testing.T) {
	other := func(s story) {
		s.is(watch.Modified, "a", "1", "7")
		s.is(watch.Modified, "a", "1", "2")
	}
	joined, err := play("space-one", firstUID, nil).Join(play("space-two", secondUID, other))
	if err != nil {
		t.Fatal(err)
	}
	if found := play("space-three", firstUID, other).Violations(joined); len(found) > 0 {
		t.Errorf("got %q, want none", found)
	}
	if _, err := joined.Join(play("space-four", firstUID, func(s story) { s.is(watch.Deleted, "a", "1", "2") })); err == nil {
		t.Error("two references with different results were joined")
	}
}

func TestUntouched(t *testing.T) {
	before := map[oracle.Key]string{{Kind: "ConfigMap", Namespace: "a", Name: "x"}: "1", {Kind: "Namespace", Name: "y"}: "2"}
	if found := oracle.Untouched(before, before); len(found) > 0 {
		t.Errorf("got %q, want none", found)
	}
	got := strings.Join(oracle.Untouched(before, map[oracle.Key]string{{Kind: "Namespace", Name: "y"}: "3"}), "\n")
	for _, want := range []string{"ConfigMap a/x: an object of others was deleted", "Namespace y: an object of others was changed from version 2 to 3"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestOrderOfDeletions(t *testing.T) {
	orders := []oracle.Order{{First: "ConfigMap NAMESPACE/upper", Then: "ConfigMap NAMESPACE/lower"}}
	for name, c := range map[string]struct {
		upper, lower string // the resourceVersions of the deletions
		want         int
	}{
		"in order":                         {"8", "9", 0},
		"the other way round":              {"9", "8", 1},
		"only the second":                  {"", "8", 1},
		"only the first":                   {"8", "", 0},
		"the numbers count, not the texts": {"9", "10", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := story{oracle.NewHistory(), "space", firstUID}
			s.is(watch.Added, "upper", "1", "1")
			s.is(watch.Added, "lower", "2", "2")
			if c.lower != "" {
				s.is(watch.Deleted, "lower", "2", c.lower)
			}
			if c.upper != "" {
				s.is(watch.Deleted, "upper", "1", c.upper)
			}
			all := s.Select(oracle.NewNames(nil, "space", "NAMESPACE"), func(oracle.Key) bool { return true })
			if found := all.OutOfOrder(orders); len(found) != c.want {
				t.Errorf("got %q, want %d", found, c.want)
			}
		})
	}
}

package rules_test

import (
	"strings"
	"testing"

	"reconcel/rules"
)

// marked is a primary with these annotations and labels.
func marked(annotations, labels map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": annotations, "labels": labels}}
}

func TestTruthyValuesPause(t *testing.T) {
	for value, want := range map[string]bool{
		"true": true, "True": true, "TRUE": true, "yes": true, "Y": true, "on": true, "1": true, " true ": true,
		"false": false, "No": false, "off": false, "0": false, "": false, "maybe": false, "2": false,
	} {
		if got := rules.Paused(marked(map[string]any{"reconcel.dev/paused": value}, nil)); got != want {
			t.Errorf("reconcel.dev/paused=%q pauses: %t", value, got)
		}
	}
	if rules.Paused(map[string]any{}) || rules.Paused(marked(nil, map[string]any{"reconcel.dev/paused": "true"})) {
		t.Error("an object without the annotation is paused")
	}
}

func TestPausesThatHaveNoEffectAreNamed(t *testing.T) {
	type marks = map[string]any
	for _, test := range []struct {
		annotations, labels marks
		want                string // a part of the message; "": no message
	}{
		{nil, nil, ""},
		{marks{"reconcel.dev/paused": "true"}, nil, ""},
		{marks{"reconcel.dev/paused": "false"}, nil, ""},
		{marks{"reconcel.dev/paused": "maybe"}, nil, `annotation reconcel.dev/paused has the value "maybe", which is neither true nor false: the resource is not paused`},
		{marks{"reconcel.dev/paused": strings.Repeat("x", 1000)}, nil, `xxxx..."`},
		{marks{"reconcel.dev/pause": "true"}, nil, "annotation reconcel.dev/pause has no meaning: the resource is not paused (did you mean reconcel.dev/paused?)"},
		{marks{"reconcel.dev/Paused": "true"}, nil, "annotation reconcel.dev/Paused has no meaning"},
		{marks{"reconcel.dev/pasued": "yes"}, nil, "did you mean reconcel.dev/paused?"},
		{marks{"reconcel.dev/suspend": "1"}, nil, "did you mean reconcel.dev/paused?"},
		{marks{"reconcel.dev/pause": "false"}, nil, ""},
		{marks{"reconcel.dev/paused": "true", "reconcel.dev/pause": "true"}, marks{"reconcel.dev/paused": "true"}, ""},
		{nil, marks{"reconcel.dev/paused": "true"}, "label reconcel.dev/paused has no meaning: the resource is not paused (set it as an annotation)"},
		{nil, marks{"reconcel.dev/pause": "true"}, "label reconcel.dev/pause has no meaning: the resource is not paused (did you mean the annotation reconcel.dev/paused?)"},
		{marks{"example.com/pause": "true", "reconcel.dev/owner": "x", "reconcel.dev/applied": "y"}, marks{"reconcel.dev/rule": "paused"}, ""},
	} {
		got := rules.PauseMistake(marked(test.annotations, test.labels))
		if !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("annotations %v, labels %v: got %q, want %q", test.annotations, test.labels, got, test.want)
		}
	}
}

package expr

import (
	"strings"
	"testing"

	"reconcel/rules/source"
)

func TestConditionsLabelsAndAnnotations(t *testing.T) {
	for src, want := range map[string]string{
		`isTrue(deployment, "Available")`:                                `true`,
		`isTrue(deployment, "Progressing")`:                              `false`, // It has no status.
		`isTrue(deployment, "Nope")`:                                     `false`,
		`isTrue(deployment, self.spec.image)`:                            `false`,
		`isTrue(service, "Ready")`:                                       `false`,
		`isTrue(self, "Ready")`:                                          `false`,
		`isTrue(self.?status.?nested, "Ready")`:                          `false`,
		`pods.exists(p, isTrue(p, "Ready"))`:                             `false`,
		`[deployment, service].filter(d, isTrue(d, "Available")).size()`: `waits service`,
		`condition(deployment, "Available").status`:                      `"True"`,
		`condition(deployment, "Progressing").?status`:                   `none`,
		`condition(deployment, "Nope")`:                                  `none`,
		`condition(deployment, "Nope").?reason.orValue("-")`:             `"-"`,
		`condition(service, "Ready")`:                                    `none`,
		`condition(deployment, "Available").hasValue()`:                  `true`,
		`label(self, "app.kubernetes.io/name")`:                          `"shop"`,
		`label(self, "nope")`:                                            `none`,
		`label(self, "nope").orValue("x")`:                               `"x"`,
		`label(service, "a")`:                                            `none`,
		`annotation(deployment, "a/b").orValue("") == "x"`:               `true`,
		`annotation(self, "a/b")`:                                        `none`,
		`annotation(deployment, "a/" + "b")`:                             `"x"`,
		`{?"a": annotation(deployment, "a/b"), ?"b": label(self, "b")}`:  `{"a":"x"}`,
		`pods.map(label, label.metadata.name)`:                           `["p0","p1"]`,
	} {
		if got := eval(t, compile(t, src, shapes()), world()); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

func TestWhen(t *testing.T) {
	for src, want := range map[string]string{
		`when(self.spec.replicas == 3, self.spec.image)`:              `"nginx"`,
		`when(self.spec.replicas == 1, self.spec.image)`:              `none`,
		`when(has(self.spec.size), self.spec.size)`:                   `none`, // self.spec.size is not read.
		`when(false, service.spec.clusterIP)`:                         `none`,
		`when(true, service.spec.clusterIP)`:                          `waits service.spec.clusterIP`,
		`when(service.spec.x, 1)`:                                     `waits service.spec.x`,
		`when(false, 1).orValue(2)`:                                   `2`,
		`[1, ?when(self.spec.replicas > 1, 2), ?when(false, "x")]`:    `[1,2]`,
		`{"a": 1, ?"b": when(true, 2), ?"c": when(false, 3)}`:         `{"a":1,"b":2}`,
		`{"a": 1, ?"b": when(true, self.spec.?nope)}`:                 `{"a":1}`,
		`{"a": 1, ?"b": when(true, when(true, self.spec.?replicas))}`: `{"a":1,"b":3}`,
		`when(exists(service), service)`:                              `none`,
		`when(self.spec.replicas, 1)`:                                 `error rules.yaml:1:5 the condition is neither true nor false`,
	} {
		vars := world()
		vars[Exists.Variable("service")] = false
		if got := eval(t, compile(t, src, shapes()), vars); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

// TestPathsOfWords expects the words to read what the expressions do that they stand for.
func TestPathsOfWords(t *testing.T) {
	for src, want := range map[string]string{
		`isTrue(deployment, "Ready")`:            `deployment.status.conditions deployment.status.conditions[].status deployment.status.conditions[].type`,
		`condition(deployment, "Ready").?reason`: `deployment.status.conditions deployment.status.conditions[].reason deployment.status.conditions[].type`,
		`label(self, "a/b")`:                     `self.metadata.labels["a/b"]`,
		`annotation(self, self.spec.key)`:        `self.metadata.annotations[] self.spec.key`,
	} {
		if got := strings.Join(compile(t, src, shapes()).Paths(), " "); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

func TestMistakesInWords(t *testing.T) {
	for src, want := range map[string]string{
		`isTrue("Ready", self)`:     `isTrue() takes an object and the type of a condition`,
		`isTrue(self)`:              `isTrue() does not take these arguments (write isTrue(x, "Ready"))`,
		`self.isTrue("Ready")`:      `isTrue() does not take these arguments (write isTrue(x, "Ready"))`,
		`condition(self, 1)`:        `condition() takes an object and the type of a condition`,
		`condition(self, "A", "B")`: `condition() does not take these arguments (write condition(x, "Ready"))`,
		`label(self, 1)`:            `label() takes an object and the key of its label`,
		`annotation("a/b", self)`:   `annotation() takes an object and the key of its annotation`,
		`yaml(self)`:                `undeclared function 'yaml' (there is yaml.marshal, yaml.tryUnmarshal, yaml.unmarshal)`,
		`yaml.encode(self)`:         `undeclared function 'yaml.encode' (there is yaml.marshal, yaml.tryUnmarshal, yaml.unmarshal)`,
		`yaml.marshl(self)`:         `undeclared function 'yaml.marshl' (did you mean 'yaml.marshal'?)`,
		`lowercase("A")`:            `undeclared function 'lowercase' (reconcel explain functions lists all)`,
		`anotation(self, "a/b")`:    `undeclared function 'anotation' (did you mean 'annotation'?)`,
		`isTrue(nope, "Ready")`:     `undeclared name 'nope'`,
		`when(1, "x")`:              `the condition must be true or false, but is of type integer`,
		`when(true)`:                `when() does not take these arguments (write when(condition, value))`,
	} {
		if got := issuesOf(t, src); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

// TestMistakesWithQuantities expects advice that CEL accepts.
func TestMistakesWithQuantities(t *testing.T) {
	for src, want := range map[string]string{
		`quantity("1Gi") + quantity("1")`:               `'+' does not take (quantity, quantity) (write a.add(b))`,
		`quantity("1Gi") - quantity("1")`:               `'-' does not take (quantity, quantity) (write a.sub(b))`,
		`quantity("1Gi") < quantity("1")`:               `'<' does not take (quantity, quantity) (write a.isLessThan(b))`,
		`quantity("1Gi") >= quantity("1")`:              `'>=' does not take (quantity, quantity) (write !a.isLessThan(b))`,
		`quantity(1)`:                                   `quantity() does not take (integer) (write quantity(string(...)))`,
		`["1", "2"].sum()`:                              `a list of string has no sum() (write list.map(x, int(x)).sum() for numbers, list.join() for texts)`,
		`string([1])`:                                   `string() does not take (list of integer) (write json.marshal(...), or join(",") for a list of texts)`,
		`string(quantity("1Gi").asInteger())`:           ``,
		`string(quantity("1").asApproximateFloat())`:    ``,
		`[quantity("1Gi")].map(q, q.asInteger()).sum()`: ``,
		`quantity("1Gi").add(quantity("1"))`:            ``,
		`quantity("1Gi").sub(quantity("1"))`:            ``,
		`!quantity("1Gi").isLessThan(quantity("1")) && !quantity("1Gi").isGreaterThan(quantity("1"))`: ``,
		`quantity(string(1))`:                 ``,
		`["1", "2"].map(x, int(x)).sum()`:     ``,
		`json.marshal([1]) + ["a"].join(",")`: ``,
	} {
		if got := issuesOf(t, src); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

// issuesOf returns the issues of an expression over self.
func issuesOf(t *testing.T, src string) string {
	t.Helper()
	scope, err := NewScope("self")
	if err != nil {
		t.Fatal(err)
	}
	_, issues := scope.Check(&source.Expr{Text: src, Pos: source.Pos{File: "rules.yaml", Line: 1, Column: 1}}, Any)
	var all []string
	for _, i := range issues {
		text := i.Message
		if i.Hint != "" {
			text += " (" + i.Hint + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

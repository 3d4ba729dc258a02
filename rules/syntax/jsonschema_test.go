package syntax

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"reconcel/rules/source"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("rules.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("rules.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// judge validates the documents of some files against the schema. It resolves aliases and
// merge keys, as editors and the parser do. It also reports whether all files are YAML.
func judge(s *jsonschema.Schema, files []source.File) (isYAML bool, err error) {
	isYAML = true
	for _, file := range files {
		docs, ok := new(source.Reader).Documents(file)
		isYAML = isYAML && ok
		for _, doc := range docs {
			if e := s.Validate(asJSON(doc)); e != nil {
				err = e
			}
		}
	}
	return isYAML, err
}

// asJSON returns a value as JSON decodes it.
func asJSON(v source.Value) any {
	switch {
	case v.IsMap():
		m := make(map[string]any)
		for key, value := range v.PeekPairs() {
			m[key.Scalar()] = asJSON(value)
		}
		return m
	case v.IsList():
		l := []any{}
		for _, item := range v.PeekItems() {
			l = append(l, asJSON(item))
		}
		return l
	case v.IsNull():
		return nil
	}
	if n := v.AsItIs(); n != nil {
		return n.Value
	}
	return v.Scalar()
}

func TestJSONSchemaAccepts(t *testing.T) {
	s := compileSchema(t)
	for _, pattern := range []string{"testdata/good/*.yaml", "../../examples/*/rules.yaml"} {
		for _, path := range files(t, pattern) {
			sources := read(t, path)
			if _, err := Parse(sources); err != nil {
				continue
			}
			if _, err := judge(s, sources); err != nil {
				t.Errorf("%s: is right, but: %v", path, err)
			}
		}
	}
}

// beyondSchema are the cases of testdata/bad whose mistakes no JSON schema can express.
var beyondSchema = strings.Fields(`
	alias-bomb alias-self data-numbers expr-comment expr-octal expr-ternary-below expr-ternary-below-interp expr-too-long
	file-blank file-comments-only file-empty for-each-names ignore-below-later ignore-computed ignore-dotted ignore-refused
	ignore-unset interp-helm interp-unclosed keys-duplicate keys-expression keys-new-duplicate merge-wrong nesting object-booleans object-for-each print-long
	print-wide`)

func TestJSONSchemaRefusesBadFiles(t *testing.T) {
	s := compileSchema(t)
	for _, path := range files(t, "testdata/bad/*.yaml") {
		isYAML, err := judge(s, read(t, path))
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		if beyond := slices.Contains(beyondSchema, name); isYAML && beyond == (err != nil) {
			t.Errorf("%s: expected to be beyond the schema: %t, but it says: %v", name, beyond, err)
		}
	}
}

// TestJSONSchemaRefuses has one mistake in each case, in a rule or an entry of children.
func TestJSONSchemaRefuses(t *testing.T) {
	const (
		rule  = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: r\n  for: {apiVersion: v1, kind: Pod}\n"
		child = rule + "  children:\n  - id: a\n    template: {apiVersion: v1, kind: Secret, metadata: {name: x}}\n    "
		many  = rule + "  children:\n  - id: a\n    template: {apiVersion: v1, kind: Secret, metadata: {generateName: x}}\n    "
	)
	right := []string{
		rule, child, child + "when: true", child + "forEach: [{name: w, in: self.x}]", child + "forEach: {w: self.x, z: w.y}", child + "forEach: {w: self.x}\n    order: sequential", child + "forEach: {w: self.x}\n    order: parallel", many + "replicas: 3", many + "replicas: 5000\n    maxObjects: 5000", child + "forEach: {w: self.x}\n    maxObjects: 600",
		child + "ignoreFields: [data.x, {path: data.y, when: self.x}]",
		many + "replicas: 3\n    onChange: replace\n    maxUnavailable: 2",
		rule + "  lookups: [{id: a, apiVersion: v1, kind: Pod, selector: {}}]", rule + "  patch: {spec: {a: 1}}",
		rule + "  onRuleRemoval: delete", rule + "  conditions: [{forEach: {z: self.x}, type: 'Zone${z}', when: true}]",
		rule + "  conditions: [{forEach: [{name: z, index: i, in: self.x}], type: 'Zone${i}', when: true}]",
	}
	wrong := []string{
		"kind: Rules\nrules: []", "apiVersion: reconcel.dev/v1\nkind: Rules\nrules: []",
		"apiVersion: reconcel.dev/v1alpha1\nkind: Rule\nrules: []", "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:", "apiVersion: reconcel.dev/v1alpha1\nkind: Rules",
		rule + "  chidren: []", rule + "  children: {}", rule + "  teardown: orderd", rule + "  requeueAfter: 10", rule + "  requeueAfter: 1d",
		rule + "  onRuleRemoval: orphan", rule + "  let: {self: a}", rule + "  let: {a-b: a}", rule + "  let: {a: }", rule + "  let: {a: '${b}'}",
		rule + "  validate: [{message: a}]", rule + "  conditions: [{type: Ready, when: true}]", rule + "  conditions: [{type: A, when: 3}]",
		rule + "  conditions: [{type: 'A${z}', when: true}]", rule + "  conditions: [{forEach: {z: self.x}, type: A, when: true}]",
		rule + "  conditions: [{forEach: {}, type: 'A${z}', when: true}]", rule + "  conditions: [{forEach: {z: self.x}, when: true}]",
		rule + "  conditions: [{type: A, when: true, reason: two words}]", rule + "  status: {conditions: []}",
		rule + "  lookups: [{id: a, apiVersion: v1, kind: Pod}]", rule + "  lookups: [{id: a, apiVersion: v1, kind: Pod, name: a, selector: {}}]",
		rule + "  lookups: [{id: a, apiVersion: v1, kind: Pod, selector: {app: a}}]",
		rule + "  lookups: [{id: a, apiVersion: v1, kind: Pod, name: a, namespace: ''}]",
		rule + "  patch: {}", rule + "  patch: {status: {}}", rule + "  patch: {metadata: {name: a}}",
		rule + "  patch: {metadata: {labels: {reconcel.dev/a: b}}}", rule + "  allow: {clusterScoped: [{kind: Node}]}",
		rule + "  finalize: [{id: a, template: {apiVersion: v1, kind: Pod, metadata: {name: x}}}]",
		child + "when: [a]", child + "when: ${a}", child + "onChange: recreate", child + "ifExists: overwrite", child + "after: a", child + "timeout: 5m",
		child + "forEach: []", child + "forEach: {}", child + "forEach: {w-x: self.x}", child + "forEach: {w: [self.x]}", child + "forEach: {w: '${self.x}'}", child + "forEach: {name: w, in: self.x}", child + "forEach: [{name: w}]", child + "forEach: [{name: w, in: self.x}]\n    replicas: 3",
		child + "replicas: 3", child + "maxUnavailable: 1", child + "order: sequential", many + "replicas: 3\n    order: sequential", child + "forEach: {w: self.x}\n    order: serial",
		child + "forEach: {w: self.x}\n    order: sequential\n    onChange: replace\n    maxUnavailable: 2", child + "ignoreFields: ['a[0]']", child + "ignoreFields: [{path: data.y}]",
		child + "onChange: keep\n    ignoreFields: [data]", many, many + "replicas: 501", many + "replicas: 3\n    maxObjects: 5001", child + "maxObjects: 600", child + "forEach: {w: self.x}\n    maxObjects: 0", many + "replicas: -1",
		many + "replicas: 3\n    onChange: keep\n    maxUnavailable: 2",
		rule + "  children: [{id: a, template: {kind: Secret, metadata: {name: x}}}]",
		rule + "  children: [{id: a, template: {apiVersion: v1, kind: Secret}}]",
		rule + "  children: [{id: a, template: {apiVersion: v1, kind: Secret, metadata: {name: x, uid: a}}}]",
		rule + "  children: [{id: a, template: {apiVersion: v1, kind: Secret, metadata: {name: x}, status: {}}}]",
		rule + "  children: [{id: a, template: {apiVersion: v1, kind: Pod, metadata: {name: x}}}]",
	}
	s := compileSchema(t)
	for _, data := range right {
		if isYAML, err := judge(s, []source.File{{Name: "x.yaml", Data: []byte(data)}}); !isYAML || err != nil {
			t.Errorf("%s\nis right, but: %v", data, err)
		}
	}
	for _, data := range wrong {
		if isYAML, err := judge(s, []source.File{{Name: "x.yaml", Data: []byte(data)}}); !isYAML || err == nil {
			t.Errorf("%s\nis wrong, but accepted", data)
		}
	}
}

// TestJSONSchemaDescribesAll requires a description of every key, and a mention of every
// key in the reference.
func TestJSONSchemaDescribesAll(t *testing.T) {
	reference, err := os.ReadFile("../../docs/reference/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	var walk func(path string, s *source.Schema)
	walk = func(path string, s *source.Schema) {
		if s == nil {
			return
		}
		walk(path+"[]", s.Items)
		for _, p := range s.Properties {
			if p.Value == nil {
				continue
			}
			if p.Value.Doc == "" {
				t.Errorf("%s.%s has no description", path, p.Name)
			}
			// The reference leaves the parts of label selectors to Kubernetes.
			if !strings.Contains(path, ".selector.") && !bytes.Contains(reference, []byte(p.Name)) {
				t.Errorf("docs/reference/rules.md says nothing of %s.%s", path, p.Name)
			}
			walk(path+"."+p.Name, p.Value)
		}
	}
	walk("", documentShape.Schema())
}

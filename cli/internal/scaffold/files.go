package scaffold

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/format"
	"reconcel/internal/yamltext"
	"reconcel/rules"
	"reconcel/rules/infer"
	"reconcel/rules/lint"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// The files of a project, besides the example, which has its name.
const (
	rulesFile         = "rules.yaml"
	crdFile           = "crd.yaml"
	testsFile         = "tests.yaml"
	prerequisitesFile = "prerequisites.yaml"
	settingsFile      = "reconcel.yaml"
)

func (a *application) exampleFile() string { return a.name + ".yaml" }

// A writer writes the files.
type writer struct {
	app     *application
	fields  *fieldSet
	lets    []let
	loaded  *rules.Loaded // the rules, as soon as they are written
	cluster bool          // the resources have no namespace
}

// files writes all files.
func (w *writer) files() (all []source.File, err error) {
	add := func(name string, data []byte, failed error) {
		if err == nil && failed != nil {
			err = fmt.Errorf("%s: %w", name, failed)
		}
		all = append(all, source.File{Name: name, Data: data})
	}
	text, failed := w.rules()
	add(rulesFile, text, failed)
	if err != nil {
		return nil, err
	}
	w.loaded = rules.Compile(all)
	text, failed = w.definition()
	add(crdFile, text, failed)
	text, failed = document(w.example())
	add(w.app.exampleFile(), text, failed)
	text, failed = w.tests()
	add(testsFile, text, failed)
	if len(w.app.first) > 0 {
		var first []any
		for _, u := range w.app.first {
			first = append(first, u.Object)
		}
		text, failed = document(first...)
		add(prerequisitesFile, text, failed)
	}
	if kinds := w.app.privileged(); len(kinds) > 0 {
		text, failed = document(map[string]any{"allow-kind": texts(kinds)})
		add(settingsFile, text, failed)
	}
	return all, err
}

// definition writes the CRD that follows from the rules.
func (w *writer) definition() ([]byte, error) {
	if err := w.loaded.Errors.Err(); err != nil {
		return nil, err
	}
	found, mistakes, err := infer.Kinds(w.loaded.File, w.app.kinds)
	if err != nil {
		return nil, err
	}
	if len(mistakes) > 0 {
		return nil, source.Collect(w.loaded.Sources, mistakes)
	}
	w.cluster = found[0].Cluster
	return found[0].YAML()
}

// example returns a resource with the values of the manifests.
func (w *writer) example() map[string]any {
	metadata := map[string]any{"name": w.app.name}
	if w.app.namespace != "" && !w.cluster {
		metadata["namespace"] = w.app.namespace
	}
	out := map[string]any{"apiVersion": w.app.Kind.GroupVersion().String(), "kind": w.app.Kind.Kind, "metadata": metadata}
	if len(w.fields.all) > 0 {
		out["spec"] = w.fields.tree(func(f *Field) any { return f.Value })
	}
	return out
}

// rules writes the rules, with a table of the fields in front.
func (w *writer) rules() ([]byte, error) {
	rule := map[string]any{
		"name": strings.ToLower(w.app.Kind.Kind),
		"for":  map[string]any{"apiVersion": w.app.Kind.GroupVersion().String(), "kind": w.app.Kind.Kind},
	}
	if len(w.fields.all) > 0 {
		rule["schema"] = node(map[string]any{"spec": w.fields.tree((*Field).declared)}, asIs)
	}
	if len(w.lets) > 0 {
		lets := map[string]any{}
		for _, l := range w.lets {
			lets[l.name] = l.value
		}
		rule["let"] = lets
	}
	var children []any
	for _, o := range w.app.objects {
		if o.constant && !w.app.isClusterScoped(o) {
			silence(o.template)
		}
		child := map[string]any{"id": o.id, "template": o.template}
		if o.gvk.Kind == "Pod" || o.gvk.Kind == "Job" {
			child["onChange"] = "replace" // Their Pods cannot be changed.
		}
		if w.app.leavesReplicas(o) {
			child["ignoreFields"] = texts([]string{"spec.replicas"})
		}
		children = append(children, child)
	}
	rule["children"] = children
	if allowed := w.allowed(); len(allowed) > 0 {
		rule["allow"] = allowed
	}
	set := map[string]any{"apiVersion": "reconcel.dev/v1alpha1", "kind": "Rules", "rules": []any{rule}}
	n := node(set, escaped)
	n.HeadComment = w.header()
	text, err := yamltext.Documents(n)
	if err != nil {
		return nil, err
	}
	return format.Text(text, syntax.Schema())
}

// silence turns off the check of literal names for a template: the notes say it already.
func silence(template map[string]any) {
	metadata := template["metadata"].(map[string]any)
	name := textNode(escaped(textAt(metadata, "name")))
	name.LineComment = "# reconcel:ignore " + lint.LiteralName
	metadata["name"] = name
}

// allowed returns what the rule does beyond the namespace of its resource.
func (w *writer) allowed() map[string]any {
	var kinds []any
	seen := map[schema.GroupKind]bool{}
	for _, o := range w.app.objects {
		if gk := o.gvk.GroupKind(); w.app.isClusterScoped(o) && !seen[gk] {
			seen[gk] = true
			kinds = append(kinds, map[string]any{"group": gk.Group, "kind": gk.Kind})
		}
	}
	allowed := map[string]any{}
	if kinds != nil {
		allowed["clusterScoped"] = kinds
	}
	if namespaces := w.app.others(); namespaces != nil {
		allowed["namespaces"] = texts(namespaces)
	}
	return allowed
}

// others returns the namespaces of objects that are not in that of the resource.
func (a *application) others() (namespaces []string) {
	for _, o := range a.objects {
		if o.namespace != "" && !slices.Contains(namespaces, o.namespace) {
			namespaces = append(namespaces, o.namespace)
		}
	}
	return namespaces
}

// header says what became a field, and what a reader has to know.
func (w *writer) header() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "reconcel init made these rules from %s.\n", w.app.Source)
	if len(w.fields.all) > 0 {
		b.WriteString("\nThe fields of schema, and where their values are in the manifests:\n\n")
		table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, f := range w.fields.all {
			name := f.Name()
			for _, use := range f.Uses {
				fmt.Fprintf(table, "  %s\t%s\n", name, use)
				name = ""
			}
		}
		_ = table.Flush() // A buffer takes everything.
	}
	for i, n := range w.app.notes {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString(wrapped("- "+n, 100) + "\n")
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight("# "+line, " ")
	}
	return strings.Join(lines, "\n")
}

// wrapped breaks a text into lines.
func wrapped(text string, width int) string {
	var b strings.Builder
	length := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case length+1+len(word) > width:
			b.WriteString("\n  ")
			length = 2
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += len(word)
	}
	return b.String()
}

func texts(all []string) (out []any) {
	for _, text := range all {
		out = append(out, text)
	}
	return out
}

// firstKeys come before all others in a map, in this order.
var firstKeys = []string{"apiVersion", "kind", "metadata", "name", "namespace", "spec", "image", "for", "schema", "let",
	"id", "onChange", "children", "allow", "replicas", "selector", "serviceName", "template"}

// escaped writes a text so that rules read it as it is.
func escaped(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// node returns a value as YAML. Texts are literal in rules, unlike expressions.
func node(v any, literal func(string) string) *yaml.Node {
	switch v := v.(type) {
	case *yaml.Node:
		return v
	case expression:
		return textNode(string(v))
	case string:
		return textNode(literal(v))
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, key := range sortedKeys(v) {
			n.Content = append(n.Content, textNode(key), node(v[key], literal))
		}
		if len(v) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range v {
			n.Content = append(n.Content, node(item, literal))
		}
		if len(v) == 0 {
			n.Style = yaml.FlowStyle
		}
		return n
	}
	n := &yaml.Node{}
	_ = n.Encode(v) // Numbers and booleans have a text.
	return n
}

func textNode(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

func sortedKeys(m map[string]any) []string {
	rank := func(key string) int {
		if i := slices.Index(firstKeys, key); i >= 0 {
			return i
		}
		return len(firstKeys)
	}
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

func asIs(text string) string { return text }

// document writes documents of YAML.
func document(values ...any) ([]byte, error) {
	var all []*yaml.Node
	for _, v := range values {
		all = append(all, node(v, asIs))
	}
	text, err := yamltext.Documents(all...)
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return text, nil
}

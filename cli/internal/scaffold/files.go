package scaffold

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/format"
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

// files writes all files.
func (a *application) files() (all []source.File, err error) {
	add := func(name string, data []byte, failed error) {
		if err == nil && failed != nil {
			err = fmt.Errorf("%s: %w", name, failed)
		}
		all = append(all, source.File{Name: name, Data: data})
	}
	text, failed := a.rules()
	add(rulesFile, text, failed)
	if err != nil {
		return nil, err
	}
	a.loaded = rules.Compile(all)
	text, failed = a.definition()
	add(crdFile, text, failed)
	text, failed = document(a.example())
	add(a.exampleFile(), text, failed)
	text, failed = a.tests()
	add(testsFile, text, failed)
	if len(a.first) > 0 {
		var first []any
		for _, u := range a.first {
			first = append(first, u.Object)
		}
		text, failed = document(first...)
		add(prerequisitesFile, text, failed)
	}
	if kinds := a.privileged(); len(kinds) > 0 {
		text, failed = document(map[string]any{"allow-kind": texts(kinds)})
		add(settingsFile, text, failed)
	}
	return all, err
}

// definition writes the CRD that follows from the rules.
func (a *application) definition() ([]byte, error) {
	if err := a.loaded.Errors.Err(); err != nil {
		return nil, err
	}
	found, mistakes, err := infer.Kinds(a.loaded.File, a.kinds)
	if err != nil {
		return nil, err
	}
	if len(mistakes) > 0 {
		return nil, source.Collect(a.loaded.Sources, mistakes)
	}
	a.cluster = found[0].Cluster
	return found[0].YAML()
}

// example returns a resource with the values of the manifests.
func (a *application) example() map[string]any {
	metadata := map[string]any{"name": a.name}
	if a.namespace != "" && !a.cluster {
		metadata["namespace"] = a.namespace
	}
	out := map[string]any{"apiVersion": a.Kind.GroupVersion().String(), "kind": a.Kind.Kind, "metadata": metadata}
	if len(a.fields) > 0 {
		out["spec"] = a.values()
	}
	return out
}

// rules writes the rules, with a table of the fields in front.
func (a *application) rules() ([]byte, error) {
	rule := map[string]any{
		"name": strings.ToLower(a.Kind.Kind),
		"for":  map[string]any{"apiVersion": a.Kind.GroupVersion().String(), "kind": a.Kind.Kind},
	}
	if len(a.fields) > 0 {
		rule["schema"] = node(map[string]any{"spec": a.schema()}, asIs)
	}
	if len(a.lets) > 0 {
		lets := map[string]any{}
		for _, l := range a.lets {
			lets[l.name] = l.value
		}
		rule["let"] = lets
	}
	var children []any
	for _, o := range a.objects {
		if o.constant && !a.isClusterScoped(o) {
			silence(o.template)
		}
		child := map[string]any{"id": o.id, "template": o.template}
		if o.gvk.Kind == "Pod" || o.gvk.Kind == "Job" {
			child["onChange"] = "replace" // Their Pods cannot be changed.
		}
		if a.leavesReplicas(o) {
			child["ignoreFields"] = texts([]string{"spec.replicas"})
		}
		children = append(children, child)
	}
	rule["children"] = children
	if allowed := a.allowed(); len(allowed) > 0 {
		rule["allow"] = allowed
	}
	set := map[string]any{"apiVersion": "reconcel.dev/v1alpha1", "kind": "Rules", "rules": []any{rule}}
	n := node(set, escaped)
	n.HeadComment = a.header()
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(n); err != nil {
		return nil, err
	}
	return format.Text(b.Bytes(), syntax.Schema())
}

// silence turns off the check of literal names for a template: the notes say it already.
func silence(template map[string]any) {
	metadata := template["metadata"].(map[string]any)
	name := textNode(escaped(textAt(metadata, "name")))
	name.LineComment = "# reconcel:ignore " + lint.LiteralName
	metadata["name"] = name
}

// allowed returns what the rule does beyond the namespace of its resource.
func (a *application) allowed() map[string]any {
	var kinds []any
	seen := map[schema.GroupKind]bool{}
	for _, o := range a.objects {
		if gk := o.gvk.GroupKind(); a.isClusterScoped(o) && !seen[gk] {
			seen[gk] = true
			kinds = append(kinds, map[string]any{"group": gk.Group, "kind": gk.Kind})
		}
	}
	allowed := map[string]any{}
	if kinds != nil {
		allowed["clusterScoped"] = kinds
	}
	if namespaces := a.others(); namespaces != nil {
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
func (a *application) header() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "reconcel init made these rules from %s.\n", a.Source)
	if len(a.fields) > 0 {
		b.WriteString("\nThe fields of schema, and where their values are in the manifests:\n\n")
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, f := range a.fields {
			name := f.Name()
			for _, use := range f.Uses {
				fmt.Fprintf(w, "  %s\t%s\n", name, use)
				name = ""
			}
		}
		_ = w.Flush() // A buffer takes everything.
	}
	for i, n := range a.notes {
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

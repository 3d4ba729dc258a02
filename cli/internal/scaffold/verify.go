package scaffold

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/files"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/offline"
	"reconcel/engine/managedfields"
	"reconcel/rules"
	"reconcel/rules/syntax"
)

// verify returns an error unless the loaded rules of a project are valid, and render its example
// to the manifests.
func (a *application) verify(p *Project, loaded *rules.Loaded) error {
	kinds, err := offline.ReadKinds(p.reader(crdFile, prerequisitesFile), []string{files.Stdin})
	if err != nil {
		return err
	}
	if err := judge.Of(loaded, kinds.Set, judge.Policy{AllowedKinds: a.privileged()}).Err(); err != nil {
		return err
	}
	resources, err := kinds.Resources(p.reader(a.exampleFile()), []string{files.Stdin}, defaultNamespace)
	if err != nil {
		return err
	}
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	r, err := offline.New(offline.Options{Program: loaded.Program, Kinds: kinds, Say: say})
	if err != nil {
		return err
	}
	r.Render(resources)
	if len(r.Failures) > 0 {
		return fmt.Errorf("the rules do not render the example:\n  %s", strings.Join(said, "\n  "))
	}
	if differences := a.compare(r.Objects()); len(differences) > 0 {
		return fmt.Errorf("the rules do not render the manifests again:\n  %s", strings.Join(differences, "\n  "))
	}
	return nil
}

// reader reads some files of the project as stdin.
func (p *Project) reader(names ...string) files.Reader {
	var b bytes.Buffer
	for _, f := range p.Files {
		if slices.Contains(names, f.Name) {
			b.WriteString("---\n")
			b.Write(f.Data)
		}
	}
	return files.Reader{Stdin: &b}
}

// compare returns how rendered objects differ from the manifests.
func (a *application) compare(rendered []map[string]any) (differences []string) {
	byID := map[string]map[string]any{}
	for _, content := range rendered {
		u := unstructured.Unstructured{Object: content}
		byID[u.GroupVersionKind().String()+"/"+u.GetNamespace()+"/"+u.GetName()] = plain(content)
	}
	for _, o := range a.objects {
		namespace := ""
		if !a.isClusterScoped(o) {
			namespace = a.namespaceOf(o)
		}
		id := o.gvk.String() + "/" + namespace + "/" + o.name
		got, exists := byID[id]
		delete(byID, id)
		if !exists {
			differences = append(differences, o.String()+" is not rendered")
			continue
		}
		want := encoded(asJSON(o.given))
		want["metadata"].(map[string]any)["namespace"] = namespace
		got["metadata"].(map[string]any)["namespace"] = namespace
		for _, field := range (managedfields.Set{}).Differing(got, want) {
			differences = append(differences, o.String()+": "+field+" differs")
		}
		for _, field := range (managedfields.Set{}).Differing(want, got) {
			differences = append(differences, o.String()+": "+field+" differs")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		differences = append(differences, id+" is rendered, and is not in the manifests")
	}
	slices.Sort(differences)
	return slices.Compact(differences)
}

// plain returns a rendered object without what reconcel adds.
func plain(content map[string]any) map[string]any {
	out := asJSON(content)
	metadata, _ := out["metadata"].(map[string]any)
	delete(metadata, "ownerReferences")
	for _, field := range []string{"labels", "annotations"} {
		m, _ := metadata[field].(map[string]any)
		maps.DeleteFunc(m, func(key string, _ any) bool { return syntax.IsOwn(key) })
		if len(m) == 0 {
			delete(metadata, field)
		}
	}
	return out
}

// encoded returns a Secret as the API server stores it: with stringData in data.
func encoded(o map[string]any) map[string]any {
	texts, _ := o["stringData"].(map[string]any)
	if o["kind"] != "Secret" || texts == nil {
		return o
	}
	delete(o, "stringData")
	data, _ := o["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
		o["data"] = data
	}
	for key, value := range texts {
		text, _ := value.(string)
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return o
}

// asJSON returns a copy in which all numbers have one type.
func asJSON(content map[string]any) map[string]any {
	data, err := json.Marshal(content)
	out := map[string]any{}
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return map[string]any{"error": err.Error()} // It differs from everything.
	}
	return out
}

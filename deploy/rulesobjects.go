package deploy

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Objects returns rules files for Options.RulesObjects: each of their documents is an object. The errors are about
// documents without a name, or with that of another one.
func Objects(sources []source.File) (files []RulesFile, complaints []*source.Error) {
	first := map[string]source.Pos{}
	for _, s := range sources {
		if len(s.Beside) > 0 {
			complaints = append(complaints, source.NewError(source.Pos{File: s.Name}, "", fmt.Sprintf("reads the file %s, "+
				"which a Rules object cannot", s.Beside[0].Path), "put the text into a ConfigMap, and read it with a lookup"))
		}
		files = append(files, RulesFile{Key: s.Name, Text: s.Data})
		for _, doc := range objectsIn(s) {
			root := doc.Content[0]
			at := source.Pos{File: s.Name, Line: root.Line, Column: root.Column}
			name := valueAt(valueAt(root, "metadata"), "name")
			if name == nil {
				complaints = append(complaints, source.NewError(at, "", "missing metadata.name: the document is to be an object",
					"write metadata: {name: "+suggestedName(root)+"}"))
				continue
			}
			if before, taken := first[name.Value]; taken {
				complaints = append(complaints, source.NewError(at, "",
					fmt.Sprintf("metadata.name: %q is already the name of the object at %s", name.Value, before), ""))
				continue
			}
			first[name.Value] = at
		}
	}
	return files, complaints
}

// suggestedName is the name of the first rule of a document.
func suggestedName(root *yaml.Node) string {
	if all := valueAt(root, "rules"); all != nil && len(all.Content) > 0 {
		if name := valueAt(all.Content[0], "name"); name != nil {
			return name.Value
		}
	}
	return "rules"
}

// objectsIn returns the documents of valid rules that have rules.
func objectsIn(file source.File) []*yaml.Node {
	docs, _ := source.Nodes(file) // The rules are valid.
	return slices.DeleteFunc(docs, func(doc *yaml.Node) bool {
		if len(doc.Content) == 0 {
			return true
		}
		kind := valueAt(doc.Content[0], "kind")
		return kind == nil || kind.Value != syntax.Kind
	})
}

// rules returns the manifest with the rules.
func (o Options) rules(files []RulesFile) Manifest {
	if !o.RulesObjects {
		return fillTemplate(rulesManifest, o.values(values{"data": configMapData(files)}))
	}
	m := Manifest{Name: rulesManifest}
	for _, f := range files {
		for _, doc := range objectsIn(source.File{Name: f.Key, Data: f.Text}) {
			setNamespace(valueAt(doc.Content[0], "metadata"), o.Namespace)
			m.docs = append(m.docs, doc)
		}
	}
	return m
}

// deployment returns the Deployment, which mounts the rules only if they are in a ConfigMap.
func (o Options) deployment(v values, files []RulesFile) Manifest {
	m := fillTemplate("deployment.yaml", v)
	pod := valueAt(valueAt(valueAt(m.docs[0].Content[0], "spec"), "template"), "spec")
	if o.RulesObjects {
		removeKey(pod, "volumes")
		removeKey(valueAt(pod, "containers").Content[0], "volumeMounts")
	} else if items := itemsOf(files); items != nil {
		volume := valueAt(valueAt(pod, "volumes").Content[0], "configMap")
		volume.Content = append(volume.Content, textNode("items"), items)
	}
	return m
}

// needRulesObjects adds the permissions to read Rules objects and to report on them. The namespace tells whether an
// object that is gone was deleted with it.
func (o Options) needRulesObjects(p *Permissions) {
	objects := Target{Group: rules.RulesResource.Group, Resource: rules.RulesResource.Resource}
	p.need(objects, toFollow, "Rules: the rules")
	p.need(objects.sub("status"), toPatch, "Rules: their status")
	p.need(Target{Resource: "namespaces", Name: o.Namespace}, toRead, "Namespace: whether the rules are deleted with it")
}

// removeKey removes an entry of a map.
func removeKey(n *yaml.Node, key string) {
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = slices.Delete(n.Content, i, i+2)
			return
		}
	}
}

// setNamespace writes the namespace of an object behind its name.
func setNamespace(metadata *yaml.Node, namespace string) {
	if there := valueAt(metadata, "namespace"); there != nil {
		*there = *textNode(namespace)
		return
	}
	behind := 0
	for i := 0; i < len(metadata.Content); i += 2 {
		if metadata.Content[i].Value == "name" {
			behind = i + 2
		}
	}
	metadata.Content = slices.Insert(metadata.Content, behind, textNode("namespace"), textNode(namespace))
}

// valueAt returns the value of a key, or nil.
func valueAt(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			if value := n.Content[i+1]; value.Kind == yaml.AliasNode {
				return value.Alias
			}
			return n.Content[i+1]
		}
	}
	return nil
}

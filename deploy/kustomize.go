package deploy

import (
	"cmp"
	"path"

	"go.yaml.in/yaml/v3"
)

// rulesManifest has the rules. If it is a ConfigMap, it is not part of the base: kustomize generates it from the files.
const rulesManifest = "rules.yaml"

// Base returns the manifests as a kustomize base: files by path. The rules remain
// separate files. The ConfigMap generated from them has a fixed name, so that a
// change of the rules is reloaded without a restart. Rules objects are resources of the base.
func (o Options) Base(all []Manifest, rules []RulesFile) (map[string][]byte, error) {
	files, names, keys := map[string][]byte{}, []string{}, []string{}
	for _, m := range all {
		if m.Name == rulesManifest && !o.RulesObjects {
			continue
		}
		text, err := m.YAML()
		if err != nil {
			return nil, err
		}
		files[m.Name] = text
		names = append(names, m.Name)
	}
	if o.RulesObjects {
		rules = nil // They are resources.
	}
	for _, f := range rules {
		at := path.Join("rules", cmp.Or(f.Path, f.Key))
		files[at] = f.Text
		if path.Base(at) != f.Key {
			at = f.Key + "=" + at
		}
		keys = append(keys, at)
	}
	kustomization := Manifest{Name: "kustomization.yaml", docs: []*yaml.Node{o.kustomization(names, keys)}}
	out, err := kustomization.YAML()
	files[kustomization.Name] = out
	return files, err
}

func (o Options) kustomization(resources, rules []string) *yaml.Node {
	generator := mapNode(
		textNode("name"), textNode(o.ObjectName()+"-rules"),
		textNode("namespace"), textNode(o.Namespace),
		textNode("files"), blockList(rules),
		textNode("options"), mapNode(
			textNode("disableNameSuffixHash"), boolNode(true),
			textNode("labels"), o.values(nil)["labels"].(*yaml.Node),
		),
	)
	base := mapNode(
		textNode("apiVersion"), textNode("kustomize.config.k8s.io/v1beta1"),
		textNode("kind"), textNode("Kustomization"),
		textNode("resources"), blockList(resources),
	)
	if len(rules) > 0 {
		base.Content = append(base.Content, textNode("configMapGenerator"),
			&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{generator}})
	}
	return base
}

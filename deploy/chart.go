package deploy

import (
	"embed"
	"io/fs"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// helm are the files of the chart that are no manifests.
//
//go:embed helm
var helm embed.FS

// charted are the manifests that are templates of the chart. The Namespace is not among
// them, because it must exist before Helm installs something in it. Roles depend on the
// rules and are values.
var charted = []struct{ manifest, condition, tail string }{
	{manifest: "serviceaccount.yaml"},
	{manifest: rulesManifest},
	{manifest: "deployment.yaml", tail: ruleItems + podSpec},
	{manifest: "poddisruptionbudget.yaml", condition: "gt (int .Values.replicas) 1"},
	{manifest: "service.yaml"},
	{manifest: "networkpolicy.yaml"},
	{manifest: "flowschema.yaml", condition: ".Values.flowSchema"},
}

// ruleItems says where files are whose paths are no keys of a ConfigMap. The Deployment ends with the volume.
const ruleItems = "          {{- with .Values.ruleItems }}\n          items: {{ toJson . }}\n          {{- end }}\n"

// podSpec adds fields to the specification of the Pods, with which the Deployment ends.
const podSpec = "      {{- with .Values.podSpec }}\n      {{- toYaml . | nindent 6 }}\n      {{- end }}\n"

// Chart returns a Helm chart: files by path. Its templates are the same for all rules.
// values.yaml has the rules, unless they are objects, and permissions: the roles and policies that they need.
func (o Options) Chart(permissions []Manifest, rules []RulesFile) (map[string][]byte, error) {
	files := map[string][]byte{}
	static, err := fs.Sub(helm, "helm")
	if err != nil {
		return nil, err
	}
	if err := fs.WalkDir(static, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[path], err = fs.ReadFile(static, path)
		}
		return err
	}); err != nil {
		return nil, err
	}
	for _, c := range charted {
		text, err := fillTemplate(c.manifest, helmValues()).YAML()
		if err != nil {
			return nil, err
		}
		template := string(wholeValue.ReplaceAll(text, []byte("$1"))) + c.tail
		if c.condition != "" {
			template = "{{- if " + c.condition + " }}\n" + template + "{{- end }}\n"
		}
		files["templates/"+c.manifest] = []byte(template)
	}
	if o.RulesObjects {
		rules = nil
	}
	values := Manifest{Name: "values.yaml", docs: []*yaml.Node{o.chartValues(permissions, rules)}}
	files[values.Name], err = values.YAML()
	return files, err
}

// wholeValue matches an expression of Helm that is a whole value. As YAML, JSON needs no
// quotes around it.
var wholeValue = regexp.MustCompile(`'(\{\{ toJson [^']*\}\})'`)

// helmValues returns the values of placeholders as expressions of Helm.
func helmValues() values {
	const name = "{{ .Values.name }}"
	whole := func(value string) *yaml.Node { return textNode("{{ toJson .Values." + value + " }}") }
	return values{
		"name": name, "namespace": "{{ .Release.Namespace }}", "labels": commonLabels(name),
		"image": whole("image"), "replicas": whole("replicas"), "args": whole("args"), "resources": whole("resources"),
		"data": whole("rules"),
	}
}

// chartValues returns the values of the chart for an installation.
func (o Options) chartValues(permissions []Manifest, rules []RulesFile) *yaml.Node {
	all := mapNode()
	add := func(key, comment string, value *yaml.Node) {
		name := textNode(key)
		name.HeadComment = "# " + comment
		all.Content = append(all.Content, name, value)
	}
	given := o.values(nil)
	objects := &yaml.Node{Kind: yaml.SequenceNode}
	for _, m := range permissions {
		for _, doc := range m.docs {
			objects.Content = append(objects.Content, doc.Content...)
		}
	}
	inserted := func(placeholder string) *yaml.Node {
		value, _ := given.node(textNode("${" + placeholder + "}"))
		return value
	}
	add("image", "The container image.", textNode(o.Image))
	add("replicas", "Pods: one leads, the others stand by.", inserted("replicas"))
	add("resources", "Requests and limits of the container.", inserted("resources"))
	add("podSpec", "More fields of the Pods' specification, such as nodeSelector, tolerations and imagePullSecrets.",
		mapNode())
	add("flowSchema", "The API server serves the renewal of the Lease even under load. Needs a cluster-scoped object.",
		boolNode(o.hasFlowSchema()))
	add("rules", "`reconcel manifests -f RULES --chart FOLDER` writes everything from here on.\n# The rules files, by "+
		"name.", configMapData(rules))
	if items := itemsOf(rules); items != nil {
		add("ruleItems", "The paths of the files that the rules read.", items)
	}
	add("name", "The name of all objects. The permissions contain it.", textNode(o.ObjectName()))
	add("namespace", "The namespace of the release. The permissions contain it.", textNode(o.Namespace))
	add("args", "The arguments of reconcel.", inserted("args"))
	add("permissions", "The roles that the rules need, and with --admission the policies.", objects)
	return all
}

package scaffold

import (
	"fmt"
	"slices"
	"strings"
)

// A let is a map of labels that several objects share.
type let struct {
	name  string
	value map[string]any
}

// eachLabels calls use for each map of labels.
func (t *templater) eachLabels(use func(o *object, p place, labels map[string]any)) {
	for _, o := range t.app.objects {
		everywhere(place{value: o.template}, func(key string, p place) {
			labels, isMap := p.value.(map[string]any)
			selects := (o.gvk.Kind == "Service" || o.gvk.Kind == "ReplicationController") && p.path == "spec.selector"
			if isMap && len(labels) > 0 && (selects || key == "labels" || key == "matchLabels") {
				use(o, p, labels)
			}
		})
	}
}

// label writes the values of labels that are the name of the application, or begin with it.
func (t *templater) label() {
	t.eachLabels(func(_ *object, _ place, labels map[string]any) {
		for name, value := range labels {
			text, _ := value.(string)
			if name == "kubernetes.io/metadata.name" && text == t.app.namespace && text != "" {
				labels[name] = expression(selfNamespace)
			} else if written, named := t.app.nameOf(text); named && name != "helm.sh/chart" {
				labels[name] = written
			}
		}
	})
}

// share makes lets of the maps of labels that occur several times.
func (t *templater) share() {
	type repeated struct {
		labels map[string]any
		of     *object
		places []place
	}
	byText := map[string]*repeated{}
	var order []string
	t.eachLabels(func(o *object, p place, labels map[string]any) {
		text := fmt.Sprintf("%#v", labels) // The keys are sorted.
		r := byText[text]
		if r == nil {
			r = &repeated{labels: labels, of: o}
			byText[text] = r
			order = append(order, text)
		}
		r.places = append(r.places, p)
	})
	order = slices.DeleteFunc(order, func(text string) bool { return len(byText[text].places) < 2 })
	for _, text := range order {
		r := byText[text]
		name := "labels"
		if len(order) > 1 && r.of.component != "" {
			name = r.of.component + "Labels"
		}
		name = t.app.unused(name)
		base := name
		for n := 2; slices.ContainsFunc(t.lets, func(l let) bool { return l.name == name }); n++ {
			name = fmt.Sprintf("%s%d", strings.TrimRight(base, "0123456789"), n)
		}
		t.lets = append(t.lets, let{name, r.labels})
		for _, p := range r.places {
			p.set(expression("${" + name + "}"))
		}
	}
}

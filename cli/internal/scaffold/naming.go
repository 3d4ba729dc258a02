package scaffold

import (
	"cmp"
	"slices"
	"strings"

	"reconcel/rules/syntax"
)

const (
	selfName      = "${self.metadata.name}"
	selfNamespace = "${self.metadata.namespace}"

	defaultNamespace = "default"
)

// chooseName returns the name of the example: what most of the objects are named after. If
// their names have nothing in common, it is the kind.
func chooseName(objects []*object, kind string) string {
	kind = strings.ToLower(kind)
	counts := map[string]int{}
	for _, o := range objects {
		candidates := []string{o.name}
		if instance := textAt(o.given, "metadata", "labels", "app.kubernetes.io/instance"); instance != "" {
			candidates = append(candidates, instance)
		}
		for _, c := range candidates {
			counts[c] = 0
		}
	}
	counts[kind] = 0
	best := kind
	for candidate := range counts {
		for _, o := range objects {
			if _, named := rest(candidate, o.name); named {
				counts[candidate]++
			}
		}
	}
	if counts[kind] > 0 {
		return kind
	}
	for candidate, n := range counts {
		if 2*n < len(objects) {
			continue
		}
		if c := cmp.Compare(n, counts[best]); c > 0 ||
			c == 0 && (len(candidate) < len(best) || len(candidate) == len(best) && candidate < best) {
			best = candidate
		}
	}
	return best
}

// rest returns what follows the name of the application in another name.
func rest(app, name string) (rest string, named bool) {
	if name == app {
		return "", true
	}
	after, found := strings.CutPrefix(name, app)
	if !found || len(after) < 2 || !strings.ContainsAny(after[:1], "-.") {
		return "", false
	}
	return after[1:], true
}

// chooseNamespace returns the namespace that most of the objects name, or "".
func chooseNamespace(objects []*object) string {
	counts := map[string]int{}
	best := ""
	for _, o := range objects {
		if o.namespace == "" {
			continue
		}
		counts[o.namespace]++
		if c := cmp.Compare(counts[o.namespace], counts[best]); best == "" || c > 0 || c == 0 && o.namespace < best {
			best = o.namespace
		}
	}
	return best
}

// A templater writes what texts of templates have in common as expressions: the name and
// namespace of the application, references between objects, and labels.
type templater struct {
	app  *application
	lets []let
}

// nameOf returns a name as an expression, if it is that of the application or begins
// with it.
func (a *application) nameOf(name string) (expression, bool) {
	after, named := rest(a.name, name)
	if !named {
		return "", false
	}
	return expression(selfName + escaped(name[len(a.name):len(name)-len(after)]) + escaped(after)), true
}

// rename writes the names and namespaces of the objects as expressions.
func (t *templater) rename() {
	for _, o := range t.app.objects {
		metadata := o.template["metadata"].(map[string]any)
		if name, named := t.app.nameOf(o.name); named {
			metadata["name"] = name
		} else {
			o.constant = true
		}
		if o.namespace == t.app.namespace || t.app.isClusterScoped(o) {
			o.namespace = ""
			delete(metadata, "namespace")
		} else if n := t.app.find("Namespace", o.namespace); n != nil {
			metadata["namespace"] = expression("${" + n.id + ".metadata.name}")
		}
	}
}

// identify gives every object its component, and its child an id.
func (a *application) identify() {
	shared := map[string]int{}
	for _, o := range a.objects {
		after, named := rest(a.name, o.name)
		if !named {
			after = o.name
		}
		o.component = camel(after)
		shared[o.component]++
	}
	taken := map[string]bool{}
	for _, o := range a.objects {
		kind := cmp.Or(shortKinds[o.gvk.Kind], lowerCamel(o.gvk.Kind))
		id := o.component
		switch {
		case id == "":
			id = kind
		case shared[id] > 1 || !syntax.IsName(id):
			id += strings.ToUpper(kind[:1]) + kind[1:]
		}
		if !syntax.IsName(id) {
			id = kind + "Object"
		}
		for n := 2; taken[id]; n++ {
			id = strings.TrimRight(id, "0123456789") + string(rune('0'+n%10))
		}
		taken[id] = true
		o.id = id
	}
}

// shortKinds are the kinds with a long name, as ids have them.
var shortKinds = map[string]string{
	"PersistentVolumeClaim":   "claim",
	"HorizontalPodAutoscaler": "autoscaler",
	"PodDisruptionBudget":     "disruptionBudget",
	"ServiceAccount":          "account",
}

// unused returns a name that no child has.
func (a *application) unused(name string) string {
	for slices.ContainsFunc(a.objects, func(o *object) bool { return o.id == name }) || !syntax.IsName(name) {
		name += "Value"
	}
	return name
}

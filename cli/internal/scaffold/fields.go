package scaffold

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/simpleschema"
	"reconcel/rules/syntax"
)

// A Field is a value of the manifests that becomes a field of the spec.
type Field struct {
	Path  []string // below spec
	Value any      // in the manifests
	Uses  []string // where it is, such as "Deployment/web spec.replicas"

	owner    *object // of the first place
	schema   spec.Schema
	places   []place
	constant bool // the value stays in the rules
}

// Name returns the path of the field, such as spec.db.image.
func (f *Field) Name() string { return "spec." + strings.Join(f.Path, ".") }

// A fieldSet has the fields of the spec.
type fieldSet struct {
	app *application
	all []*Field
}

// A find is a value that may become a field.
type find struct {
	of     *object
	path   []string // below the object's own part of the spec
	schema spec.Schema
	place  place
}

func typed(name string) spec.Schema {
	return spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{name}}}
}

func count() spec.Schema {
	s := typed("integer")
	zero := 0.0
	s.Minimum = &zero
	return s
}

func quantity() spec.Schema {
	s := spec.Schema{}
	s.AddExtension("x-kubernetes-int-or-string", true)
	return s
}

// quantities is the schema of the resources of a container. Each part has its own default, so
// that a resource with other limits keeps the requests.
func quantities() spec.Schema {
	s := typed("object")
	each := quantity()
	list := typed("object")
	list.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: &each}
	s.Properties = map[string]spec.Schema{"requests": list, "limits": list}
	return s
}

// discover finds all values that may become fields.
func (set *fieldSet) discover() (found []find) {
	for _, o := range set.app.objects {
		add := func(pattern string, s spec.Schema, path ...string) {
			each(o.template, pattern, func(p place) {
				if fits(p.value, s) {
					found = append(found, find{o, path, s, p})
				}
			})
		}
		switch o.gvk.Kind {
		case "Deployment", "StatefulSet", "ReplicaSet", "ReplicationController":
			if !set.app.leavesReplicas(o) {
				add("spec.replicas", count(), "replicas")
			}
		case "CronJob":
			add("spec.schedule", typed("string"), "schedule")
		case "HorizontalPodAutoscaler":
			add("spec.minReplicas", count(), "minReplicas")
			add("spec.maxReplicas", count(), "maxReplicas")
		case "Ingress":
			add("spec.rules.*.host", typed("string"), "host")
			add("spec.tls.*.hosts.*", typed("string"), "host")
		case "PersistentVolumeClaim":
			add("spec.resources.requests.storage", quantity(), "storage")
		}
		if pod, has := podPath(o.gvk.GroupKind()); has {
			found = append(found, o.inPod(pod)...)
		}
	}
	return found
}

// inPod finds the values of containers. Those of the main one are named as they are, those
// of others are below the name of the container.
func (o *object) inPod(pod string) (found []find) {
	images := map[any][]string{}
	for _, list := range []string{"containers", "initContainers"} {
		all := 0
		each(o.template, pod+list+".*", func(p place) {
			all++
			container, _ := p.value.(map[string]any)
			var within []string
			if list != "containers" || all > 1 {
				within = []string{camel(textAt(container, "name"))}
			}
			in := func(pattern string, s spec.Schema, path []string) {
				walk(p, strings.Split(pattern, "."), func(p place) {
					if fits(p.value, s) {
						found = append(found, find{o, path, s, p})
					}
				})
			}
			path, repeated := images[container["image"]]
			if !repeated {
				path = slices.Concat(within, []string{"image"})
				images[container["image"]] = path
			}
			in("image", typed("string"), path)
			in("resources", quantities(), slices.Concat(within, []string{"resources"}))
			walk(p, []string{"env", "*"}, func(entry place) {
				variable, _ := entry.value.(map[string]any)
				name := textAt(variable, "name")
				if value := textAt(variable, "value"); value == "" || !syntax.IsName(name) || isPort(container, value) {
					return
				}
				walk(entry, []string{"value"}, func(p place) {
					if fits(p.value, typed("string")) {
						found = append(found, find{o, slices.Concat(within, []string{"env", name}), typed("string"), p})
					}
				})
			})
		})
	}
	return found
}

// isPort reports whether a text is a port of a container: the other objects name it too.
func isPort(container map[string]any, text string) (port bool) {
	each(container, "ports.*.containerPort", func(p place) {
		n, _ := p.value.(int64)
		port = port || text == strconv.FormatInt(n, 10)
	})
	return port
}

// fits reports whether a value has the type of a schema. Expressions have none.
func fits(value any, s spec.Schema) bool {
	switch value := value.(type) {
	case string:
		return len(s.Type) == 0 || s.Type[0] == "string"
	case int64:
		return len(s.Type) == 0 || s.Type[0] == "integer"
	case map[string]any:
		if len(s.Type) == 0 || s.Type[0] != "object" || len(value) == 0 {
			return false
		}
		for key := range value {
			if _, known := s.Properties[key]; !known {
				return false
			}
		}
		return true
	}
	return false
}

// collect makes fields of what was found. Equal values with one path are one field.
func (set *fieldSet) collect(found []find) {
	owners := map[string][]*object{} // objects with a find, by the kind of find
	for _, f := range found {
		if key := f.group(); !slices.Contains(owners[key], f.of) {
			owners[key] = append(owners[key], f.of)
		}
	}
	for _, f := range found {
		path := slices.Clone(f.path)
		if f.of.component != "" && (len(owners[f.group()]) > 1 || set.isPart(f.of, owners[workloads])) {
			path = slices.Concat([]string{f.of.component}, path)
		}
		use := f.of.String() + " " + f.place.path
		field := set.field(path, f.place.value)
		if field == nil {
			field = &Field{Path: path, Value: f.place.value, owner: f.of, schema: f.schema}
			set.all = append(set.all, field)
		}
		field.Uses = append(field.Uses, use)
		field.places = append(field.places, f.place)
	}
}

// group names finds that are told apart by the component of their objects: those in
// workloads together, others by their path.
func (f find) group() string {
	if _, isWorkload := podPath(f.of.gvk.GroupKind()); isWorkload {
		return workloads
	}
	return f.path[0]
}

const workloads = "workload"

// isPart reports whether an object has the component of one of several workloads.
func (set *fieldSet) isPart(o *object, of []*object) bool {
	return len(of) > 1 && slices.ContainsFunc(of, func(w *object) bool { return w.component == o.component })
}

// field returns the field of a path if it has that value. Otherwise it makes the path
// unique.
func (set *fieldSet) field(path []string, value any) *Field {
	last := path[len(path)-1]
	for n := 2; ; n++ {
		clash := false
		for _, other := range set.all {
			if slices.Equal(other.Path, path) && reflect.DeepEqual(other.Value, value) {
				return other
			}
			clash = clash || beginsWith(other.Path, path) || beginsWith(path, other.Path)
		}
		if !clash {
			return nil
		}
		path[len(path)-1] = last + strconv.Itoa(n)
	}
}

func beginsWith(path, prefix []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// apply writes the fields as expressions.
func (set *fieldSet) apply() {
	for _, f := range set.all {
		for _, p := range f.places {
			p.set(expression("${self.spec" + selected(f.Path) + "}"))
		}
	}
}

// selected writes a path of fields in an expression.
func selected(path []string) string {
	var b strings.Builder
	for _, name := range path {
		if !syntax.IsName(name) {
			name = "`" + name + "`"
		}
		b.WriteString("." + name)
	}
	return b.String()
}

// declared returns the type and the default of the field.
func (f *Field) declared() any {
	s := f.schema
	if parts, isMap := f.Value.(map[string]any); isMap {
		s.Properties = map[string]spec.Schema{}
		for name, value := range parts {
			part := f.schema.Properties[name]
			part.Default = value
			s.Properties[name] = part
		}
	} else {
		s.Default = f.Value
	}
	in := typed("object")
	in.Properties = map[string]spec.Schema{"": s}
	declared, _ := simpleschema.Format(&in) // It can say all that fields have.
	return declared[""]
}

// tree returns maps with what is about each field at its path.
func (set *fieldSet) tree(about func(*Field) any) map[string]any {
	root := map[string]any{}
	for _, f := range set.all {
		_ = unstructured.SetNestedField(root, about(f), f.Path...) // No path begins with another one.
	}
	return root
}

package scaffold

import (
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/sim"
)

// An object is one of the manifests on its way to a child.
type object struct {
	gvk             schema.GroupVersionKind
	name, namespace string         // "" is the namespace of the resource
	component       string         // what it is within the application; "" is the application itself
	id              string         // of the child
	constant        bool           // the name is the same for every resource
	checksums       []string       // annotations with the checksum of a configuration
	given           map[string]any // what the child has to render
	template        map[string]any // texts may be expressions
}

// An expression is a text of a template that is written as rules have it, with ${...}.
type expression string

func newObject(u *unstructured.Unstructured, kinds *sim.Kinds) *object {
	given := cleaned(u, kinds)
	checksums := withoutHelm(given)
	withoutEmptyMetadata(given)
	return &object{
		checksums: checksums,
		gvk:       u.GroupVersionKind(),
		name:      u.GetName(),
		namespace: u.GetNamespace(),
		given:     given,
		template:  runtime.DeepCopyJSON(given),
	}
}

// String names the object in messages and comments.
func (o *object) String() string { return o.gvk.Kind + "/" + o.name }

// podPath returns the path of the Pod in a kind that has one, with a dot at its end.
func podPath(gk schema.GroupKind) (path string, found bool) {
	switch gk.Kind {
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job":
		return "spec.template.spec.", true
	case "CronJob":
		return "spec.jobTemplate.spec.template.spec.", true
	case "Pod":
		return "spec.", true
	}
	return "", false
}

// containers are the lists of containers in a Pod.
var containers = []string{"initContainers", "containers"}

// camel joins the words of a name: redis-leader becomes redisLeader.
func camel(name string) string {
	var b strings.Builder
	for i, word := range strings.FieldsFunc(name,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if i > 0 {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		b.WriteString(word)
	}
	return b.String()
}

// lowerCamel returns a kind as an id: APIService becomes apiService.
func lowerCamel(kind string) string {
	upper := 0
	for upper < len(kind) && unicode.IsUpper(rune(kind[upper])) {
		upper++
	}
	if upper > 1 && upper < len(kind) {
		upper--
	}
	return strings.ToLower(kind[:upper]) + kind[upper:]
}

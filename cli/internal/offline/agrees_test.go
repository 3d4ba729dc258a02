package offline_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/files"
	"reconcel/cli/internal/offline"
	"reconcel/rules"
	"reconcel/sim"
	"reconcel/sim/world"
)

const root = "../../../"

// underWay are examples that render shows in the middle of a change: what they observe has a
// status that only a controller at work gives it.
var underWay = []string{"bluegreen", "canary", "database"}

// TestRenderAgreesWithTheController runs the controller on the resources of each example,
// in a cluster where nothing sets a status. It creates what render shows, except objects
// that wait for a status.
func TestRenderAgreesWithTheController(t *testing.T) {
	makefile, err := os.ReadFile(root + "Makefile")
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := offline.ReadKinds(files.Reader{}, []string{root + "crds"})
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile(`(?m)^RESOURCES_(\S+) := (.*)$`).FindAllStringSubmatch(string(makefile), -1)
	if len(examples) < 10 {
		t.Fatal(examples)
	}
	for _, m := range examples {
		if slices.Contains(underWay, m[1]) {
			continue
		}
		t.Run(m[1], func(t *testing.T) {
			e := example{kinds: kinds, folder: root + "examples/" + m[1] + "/", resources: strings.Fields(m[2])}
			sources, unread := files.Reader{}.Rules([]string{e.folder + "rules.yaml"})
			e.program = rules.Compile(sources, unread...).Program
			shown, waiting := e.rendered(t)
			created := e.controlled(t)
			for id, object := range shown {
				switch live := created[id]; {
				case live == nil && !waiting[id]:
					t.Errorf("render shows %s, which the controller does not create", id)
				case live != nil:
					// The controller sets it when the Job has finished.
					unstructured.RemoveNestedField(object, "spec", "ttlSecondsAfterFinished")
					if field := differs("", object, live); field != "" {
						t.Errorf("%s: %s differs: render shows\n%v\nthe controller creates\n%v", id, field, object, live)
					}
				}
			}
			for id := range created {
				if shown[id] == nil {
					t.Errorf("the controller creates %s, which render does not show", id)
				}
			}
		})
	}
}

// An example has rules, and the resources that the Makefile renders.
type example struct {
	folder    string
	program   *rules.Program
	kinds     offline.Kinds
	resources []string
	time      time.Time // of the rendering
}

// objects returns the given objects with UIDs, and the objects that the cluster has
// besides them and their children.
func (e example) objects(t *testing.T) (given, others []*files.Object) {
	t.Helper()
	var paths []string
	for _, name := range e.resources {
		paths = append(paths, e.folder+name)
	}
	all, err := e.kinds.Resources(files.Reader{}, paths, "default")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if o.Unstructured.GetDeletionTimestamp() == nil { // Nothing can be created like that.
			o.Unstructured.SetUID(types.UID("uid-" + o.Unstructured.GetName()))
			given = append(given, o)
		}
	}
	for _, name := range []string{"cluster.yaml", "observed.yaml"} {
		if _, err := os.Stat(e.folder + name); err != nil {
			continue
		}
		more, err := e.kinds.Resources(files.Reader{}, []string{e.folder + name}, "default")
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, more...)
	}
	return given, others
}

// rendered returns the children that render shows, and which of them wait.
func (e example) rendered(t *testing.T) (shown map[string]map[string]any, waiting map[string]bool) {
	t.Helper()
	given, others := e.objects(t)
	shown, _ = e.mustRender(t, given, nil)
	given, _ = e.objects(t)
	return e.mustRender(t, given, withoutChildren(others, shown))
}

func withoutChildren(all []*files.Object, children map[string]map[string]any) []*files.Object {
	return slices.DeleteFunc(all, func(o *files.Object) bool { return children[name(&o.Unstructured)] != nil })
}

func (e example) mustRender(t *testing.T, given, observed []*files.Object) (shown map[string]map[string]any, waiting map[string]bool) {
	t.Helper()
	shown, waiting, err := e.render(t, given, observed)
	if err != nil {
		t.Fatal(err)
	}
	return shown, waiting
}

// render returns the children that render shows, and which of them wait. Its error says that
// render fails.
func (e example) render(t *testing.T, given, observed []*files.Object) (shown map[string]map[string]any, waiting map[string]bool, err error) {
	t.Helper()
	var notes []string
	r, err := offline.New(offline.Options{Program: e.program, Kinds: e.kinds, Observed: observed, Time: e.time, Say: func(format string, args ...any) {
		notes = append(notes, fmt.Sprintf(format, args...))
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.Render(given)
	out, err := r.Format("yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Failures) > 0 {
		return nil, nil, errors.New(strings.Join(notes, "\n"))
	}
	shown, waiting = map[string]map[string]any{}, map[string]bool{}
	for document := range strings.SplitSeq(string(out), "---\n") {
		json, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		var u unstructured.Unstructured
		if err := utiljson.Unmarshal(json, &u.Object); err != nil {
			t.Fatal(err)
		}
		if u.GetLabels()[rules.LabelRule] == "" {
			continue // The patch and status of the resource.
		}
		stored, err := e.server(t).Stored(&u)
		if err != nil {
			t.Fatal(err)
		}
		subject, _, _ := strings.Cut(strings.TrimPrefix(document, "# "), "\n")
		shown[name(&u)] = stored.Object
		waiting[name(&u)] = slices.ContainsFunc(notes, func(note string) bool { return strings.Contains(note, subject+": not applied yet") })
	}
	return shown, waiting, nil
}

// controlled returns the children that the controller creates.
func (e example) controlled(t *testing.T) map[string]map[string]any {
	t.Helper()
	given, others := e.objects(t)
	shown, _ := e.mustRender(t, given, nil)
	given, _ = e.objects(t)
	w, err := world.New(world.Options{Program: e.program, Kinds: e.server(t)})
	if err != nil {
		t.Fatal(err)
	}
	others = withoutChildren(others, shown)
	slices.SortStableFunc(others, func(a, b *files.Object) int { // A namespace comes before what is in it.
		return strings.Compare(a.Unstructured.GetNamespace(), b.Unstructured.GetNamespace())
	})
	for _, o := range append(others, given...) {
		if _, err := w.Cluster().Put(&o.Unstructured); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	created := map[string]map[string]any{}
	for _, u := range w.Objects() {
		if u.GetLabels()[rules.LabelRule] != "" {
			created[name(u)] = u.Object
		}
	}
	return created
}

func (e example) server(t *testing.T) *sim.Kinds {
	t.Helper()
	kinds, err := sim.NewKinds(e.kinds.Set)
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func name(u *unstructured.Unstructured) string {
	return u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
}

// differs returns a field that the first value has and the second has not, or has with
// another value, or "".
func differs(path string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		got, isMap := got.(map[string]any)
		for key, value := range want {
			if value == nil {
				continue // The same as an absent field.
			}
			if !isMap || got[key] == nil {
				return path + "." + key
			}
			if field := differs(path+"."+key, value, got[key]); field != "" {
				return field
			}
		}
	case []any:
		list, _ := got.([]any)
		if len(list) != len(want) {
			return path
		}
		for i := range want {
			if field := differs(fmt.Sprintf("%s[%d]", path, i), want[i], list[i]); field != "" {
				return field
			}
		}
	default:
		if !reflect.DeepEqual(want, got) && !generated(want).MatchString(plain(got)) {
			return path
		}
	}
	return ""
}

// generated returns what the data of a Secret may be if rendering shows this value, in which
// a placeholder stands for a generated one.
func generated(value any) *regexp.Regexp {
	text := plain(value)
	if !strings.Contains(text, rules.Generated) {
		return regexp.MustCompile("^$a") // It matches nothing.
	}
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(text), regexp.QuoteMeta(rules.Generated), "[A-Za-z0-9]{8,}") + "$")
}

// plain returns a value in the data of a Secret as text.
func plain(value any) string {
	text, _ := value.(string)
	decoded, _ := base64.StdEncoding.DecodeString(text)
	return string(decoded)
}

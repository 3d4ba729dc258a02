//go:build integration

package ruletest_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/ruletest"
	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/test/devcluster"
)

// controllers are the ones that the in-memory cluster implements, too. The test files do
// the work of all others.
const controllers = "garbage-collector-controller,namespace-controller"

// agreement is how long a real cluster may take to reach the state of the in-memory one.
// Its garbage collector takes half a minute to discover a new kind.
const agreement = time.Minute

// controlPlanes is the number of control planes that run files at the same time. A file
// has a control plane to itself, because it is compared with all objects of the cluster.
const controlPlanes = 2

// TestAgreesWithARealControlPlane runs the test files of all examples and stories twice,
// in memory and on a real control plane. After each step it compares the objects, every
// field that the controller has set, and the whole status of the primaries.
func TestAgreesWithARealControlPlane(t *testing.T) {
	idle := make(chan *controlPlane, controlPlanes)
	for range controlPlanes {
		idle <- startControlPlane(t)
	}
	for _, file := range append(files(t, examples+"*/tests.yaml"), files(t, stories+"*/tests.yaml")...) {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			control := <-idle
			defer func() { idle <- control }()
			rules := filepath.Join(filepath.Dir(file), "rules.yaml")
			s := settingOf(t, rules, contents(t, rules))
			parsed, err := ruletest.Parse(source.File{Name: file, Data: []byte(contents(t, file))})
			if err != nil {
				t.Fatal(err)
			}
			suite, err := parsed.Prepare(s)
			if err != nil {
				t.Fatal(err)
			}
			suite = suite.Portable()
			for _, name := range suite.Names() {
				t.Run(name, func(t *testing.T) { control.agrees(t, s, suite, name) })
			}
		})
	}
}

// controlPlane is a cluster that serves the kinds of all files.
type controlPlane struct {
	cluster *devcluster.Cluster
	client  dynamic.Interface
}

func startControlPlane(t *testing.T) *controlPlane {
	t.Helper()
	cluster := devcluster.Start(t, devcluster.Options{Controllers: controllers, Without: []string{devcluster.Kwok, devcluster.Scheduler}})
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	serveExamples(t, client)
	return &controlPlane{cluster, client}
}

// agrees runs one case in both places.
func (c *controlPlane) agrees(t *testing.T, s ruletest.Setting, suite *ruletest.Suite, name string) {
	t.Helper()
	only := func(c *ruletest.Case) bool { return c.Name == name }
	var pictures []string
	inMemory := ruletest.Run(t.Context(), []*ruletest.Suite{suite}, ruletest.Options{Only: only, Place: func(s ruletest.Setting) (ruletest.Place, error) {
		place, err := ruletest.InMemory(s)
		return &observed{Place: place, setting: s, pictures: &pictures}, err
	}})
	place := &realPlace{TB: t, setting: s, client: c.client, config: c.cluster.UserConfig(t, "reconcel"), want: pictures}
	found := ruletest.Run(t.Context(), []*ruletest.Suite{suite}, ruletest.Options{Only: only, Place: func(ruletest.Setting) (ruletest.Place, error) { return place, nil }})
	place.clear()
	if mine, theirs := failures(inMemory), failures(found); mine != theirs {
		t.Errorf("in memory this is found to be wrong: %s\non a real control plane this: %s", mine, theirs)
	}
}

func failures(results []ruletest.Result) string {
	var all strings.Builder
	for _, r := range results {
		for _, c := range r.Cases {
			for _, f := range c.Failures {
				fmt.Fprintf(&all, "\n%s\n%s", f, f.Diff)
			}
		}
	}
	return all.String()
}

// observed is a place that records its objects each time it settles. It hides the
// features that only an in-memory cluster has.
type observed struct {
	ruletest.Place
	setting  ruletest.Setting
	pictures *[]string
}

// Settle implements ruletest.Place.
func (o *observed) Settle(ctx context.Context) error {
	if err := o.Place.Settle(ctx); err != nil {
		return err
	}
	all, err := o.Objects(ctx)
	*o.pictures = append(*o.pictures, picture(o.setting, all))
	return err
}

// picture prints the compared parts of all objects. UIDs, generated names, times, and
// hashes that depend on UIDs differ in every cluster.
func picture(s ruletest.Setting, all []*unstructured.Unstructured) string {
	var known []string
	primaries := map[runtimeschema.GroupKind]bool{}
	for _, p := range s.Program.Primaries() {
		primaries[p.GVK.GroupKind()] = true
	}
	var objects []string
	for _, u := range all {
		known = append(known, string(u.GetUID()), "<uid of "+u.GetKind()+">")
		out := ruletest.Ruled(u)
		if c := s.Program.ChildOf(u.Object); c != nil {
			if name := u.GetName(); c.HasReplicas() {
				known = append(known, name, name[:strings.LastIndex(name, "-")]+"-…")
			}
			hideGenerated(u, out, c)
		}
		unstructured.RemoveNestedField(out, "metadata", "annotations", rules.AnnotationApplied)
		mergeShares(u, out)
		out["terminating"] = u.GetDeletionTimestamp() != nil
		if primaries[u.GroupVersionKind().GroupKind()] {
			if status, ok := u.DeepCopy().Object["status"].(map[string]any); ok {
				conditions, _ := status["conditions"].([]any)
				for _, c := range conditions {
					delete(c.(map[string]any), "lastTransitionTime")
				}
				out["status"] = status
			}
		}
		text, err := yaml.Marshal(out)
		if err != nil {
			text = []byte(err.Error())
		}
		objects = append(objects, string(text))
	}
	generatedValues.Range(func(value, placeholder any) bool {
		known = append(known, value.(string), placeholder.(string))
		return true
	})
	replace := strings.NewReplacer(known...)
	for i := range objects {
		objects[i] = instant.ReplaceAllString(replace.Replace(objects[i]), "<time>")
		objects[i] = doneHashes.ReplaceAllString(objects[i], `"$1":"<hash>"`)
	}
	slices.Sort(objects)
	return strings.Join(objects, "---\n")
}

// mergeShares replaces the annotations of the owners of a shared object by a list. Which of
// them created the object, and so owns the other fields too, is a matter of chance.
func mergeShares(u *unstructured.Unstructured, out map[string]any) {
	var owners []string
	for _, s := range rules.SharesOf(u.Object) {
		unstructured.RemoveNestedField(out, "metadata", "annotations", rules.ShareKey(s.Owner.UID))
		owners = append(owners, s.Value())
	}
	if len(owners) > 0 {
		slices.Sort(owners)
		out["owners"] = owners
	}
}

// instant matches a time in a message.
var instant = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z`)

// doneHashes matches what is remembered of a finished object: its UID, also when it is gone, and the hash of a rendering
// that may have a generated value.
var doneHashes = regexp.MustCompile(`"(uid|run)":"[^"]+"`)

// generatedValues are all that Secrets had, with their placeholders. Another Secret may still
// contain one after it was replaced.
var generatedValues sync.Map

// hideGenerated replaces the generated values in the data of a Secret by placeholders, and
// adds them to generatedValues.
func hideGenerated(u *unstructured.Unstructured, out map[string]any, c *rules.Child) {
	if u.GetKind() != "Secret" {
		return
	}
	data := plain(out["data"])
	out["data"] = data
	for _, key := range c.GeneratedKeys() {
		value, _ := plain(u.Object["data"])[key].(string)
		if !strings.Contains(value, "\n") && value != "" {
			generatedValues.Store(value, "<generated>")
			// Rules may put a hash on the Pods that read the value.
			generatedValues.Store(fmt.Sprintf("%x", sha256.Sum256([]byte(value))), "<hash of a generated value>")
		}
		if data[key] != nil {
			data[key] = "<generated>"
		}
	}
}

// plain returns the data of a Secret as text.
func plain(data any) map[string]any {
	out := map[string]any{}
	encoded, _ := data.(map[string]any)
	for key, value := range encoded {
		text, _ := value.(string)
		decoded, _ := base64.StdEncoding.DecodeString(text) // The API server has accepted it.
		out[key] = string(decoded)
	}
	return out
}

// serveExamples installs the CRDs of the examples and stories.
func serveExamples(t *testing.T, client dynamic.Interface) {
	t.Helper()
	files, err := crdFiles()
	if err != nil {
		t.Fatal(err)
	}
	crds := client.Resource(runtimeschema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, file := range files {
		objects, err := read(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, crd := range objects {
			if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
				live, err := crds.Get(ctx, crd.GetName(), metav1.GetOptions{})
				if err != nil {
					return false, err
				}
				return established(live) == nil, nil
			})
			if err != nil {
				t.Fatalf("CRD %s is not served: %v", crd.GetName(), err)
			}
		}
	}
}

func established(crd *unstructured.Unstructured) error {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == "Established" && c["status"] == "True" {
			return nil
		}
	}
	return errors.New("not established")
}

//go:build integration

package examples

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
	"reconcel/test/devcluster"
)

// state is the primaries with their status and the children of an example, by kind,
// namespace and name. It leaves out the parts that differ between runs.
type state map[string]map[string]any

func (w *world) now() state {
	w.Helper()
	made := w.made()
	var primaries []unstructured.Unstructured
	for _, p := range w.primaries {
		if live, err := w.live(p); err == nil && !contains(made, live) {
			primaries = append(primaries, *live)
		}
	}
	all := slices.Concat(primaries, made)
	names := w.placeholders(all)
	s := state{}
	for _, u := range all {
		c := w.canonical(u, names)
		key := names.Replace(describe(&u))
		for i := 2; s[key] != nil; i++ { // An extra object is visible, too.
			key = fmt.Sprintf("%s (%d)", names.Replace(describe(&u)), i)
		}
		s[key] = c
	}
	return s
}

func contains(list []unstructured.Unstructured, u *unstructured.Unstructured) bool {
	return slices.ContainsFunc(list, func(other unstructured.Unstructured) bool { return other.GetUID() == u.GetUID() })
}

// placeholders replaces the namespace, UIDs and generated names by descriptions.
// Generated names are numbered in order, so that equal lists stay equal.
func (w *world) placeholders(all []unstructured.Unstructured) *strings.Replacer {
	type pair struct{ old, new string }
	pairs := []pair{{w.Namespace, "NAMESPACE"}}
	for _, name := range w.global {
		pairs = append(pairs, pair{w.at(name), name})
	}
	for _, u := range all {
		pairs = append(pairs, pair{string(u.GetUID()), "UID"})
		for key, value := range generatedIn(w.childOf(u.GetLabels()), u) {
			pairs = append(pairs, pair{value, "GENERATED-" + key}, pair{fmt.Sprintf("%x", sha256.Sum256([]byte(value))), "HASH-" + key})
		}
		if c := w.childOf(u.GetLabels()); c.Replicas != nil {
			base := u.GetName()[:strings.LastIndex(u.GetName(), "-")]
			pairs = append(pairs, pair{u.GetName(), base + "-GENERATED"})
		}
	}
	// Longer names come first, because one name may be the prefix of another.
	slices.SortStableFunc(pairs, func(a, b pair) int { return len(b.old) - len(a.old) })
	var flat []string
	for _, p := range pairs {
		flat = append(flat, p.old, p.new)
	}
	return strings.NewReplacer(flat...)
}

var (
	timestamp  = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`)
	tokenMount = regexp.MustCompile(`\bkube-api-access-[a-z0-9]{5}\b`)
	// chosen are fields whose values other components choose.
	chosen = []string{"clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort", "nodeName", "volumeName"}
	// copied are labels that the API server copies from the Pod template of a Job without
	// labels.
	copied = []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"}
	// annotated are annotations with counts or hashes that differ between runs.
	annotated = []string{"reconcel.dev/applied", "deployment.kubernetes.io/revision", "pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"}
)

// canonical removes the parts of an object that differ between runs. It also removes the
// status of children, which other controllers write.
func (w *world) canonical(live unstructured.Unstructured, names *strings.Replacer) map[string]any {
	u := live.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "deletionGracePeriodSeconds", "selfLink"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	annotations := u.GetAnnotations()
	maps.DeleteFunc(annotations, func(name, _ string) bool { return slices.Contains(annotated, name) })
	u.SetAnnotations(withoutRuns(withoutUIDs(annotations)))
	for _, name := range copied {
		unstructured.RemoveNestedField(u.Object, "metadata", "labels", name)
	}
	if !w.isPrimary(u.GroupVersionKind()) {
		delete(u.Object, "status")
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	if len(list) > 0 && u.GroupVersionKind().Group == "apps" {
		slices.SortFunc(list, func(a, b any) int { // The controllers list them in the order of their changes.
			return strings.Compare(a.(map[string]any)["type"].(string), b.(map[string]any)["type"].(string))
		})
		u.Object["status"].(map[string]any)["conditions"] = list
	}
	if u.GetKind() == "Secret" {
		u.Object["data"] = decoded(u.Object["data"])
	}
	return mask{names, live.GetGeneration()}.of(u.Object).(map[string]any)
}

// withoutUIDs replaces the annotations of the owners of a shared object, whose keys are UIDs, by
// one with their names.
func withoutUIDs(annotations map[string]string) map[string]string {
	var owners []string
	for key, value := range annotations {
		if strings.HasPrefix(key, rules.SharePrefix) {
			owners = append(owners, value[:strings.LastIndex(value, "/")]) // The hash depends on the namespace.
			delete(annotations, key)
		}
	}
	if slices.Sort(owners); len(owners) > 0 {
		annotations[rules.SharePrefix+"owners"] = strings.Join(owners, ",")
	}
	return annotations
}

// withoutRuns replaces the annotations about done objects, which have times, UIDs and hashes, by the
// names of these objects.
func withoutRuns(annotations map[string]string) map[string]string {
	for key, value := range annotations {
		var done map[string]any
		if strings.HasPrefix(key, rules.DonePrefix) && json.Unmarshal([]byte(value), &done) == nil {
			annotations[key] = strings.Join(slices.Sorted(maps.Keys(done)), ",")
		}
	}
	return annotations
}

// mask replaces values that differ between runs.
type mask struct {
	names      *strings.Replacer
	generation int64 // of the object
}

func (m mask) of(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, v := range value {
			switch {
			case slices.Contains(chosen, key):
			case key == "observedGeneration" && v == m.generation:
				out[key] = "CURRENT"
			default:
				out[m.names.Replace(key)] = m.of(v)
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = m.of(v)
		}
		return out
	case string:
		if timestamp.MatchString(value) {
			return "TIME"
		}
		return tokenMount.ReplaceAllString(m.names.Replace(value), "kube-api-access")
	default:
		return value
	}
}

// is returns an error with the differences from a state.
func (w *world) is(want state) error {
	w.Helper()
	if got := w.now(); !reflect.DeepEqual(want, got) {
		return differenceError{want, got}
	}
	return nil
}

// differenceError compares two states only when it is printed. A test that waits for a
// state makes many of them.
type differenceError struct{ want, got state }

// Error implements error.
func (e differenceError) Error() string { return "(-want +got):\n" + cmp.Diff(e.want, e.got) }

// settled returns the state once it has not changed for a while.
func (w *world) settled() state {
	w.Helper()
	const still = 500 * time.Millisecond
	before, since := "", time.Now()
	w.eventually("things to settle", func() error {
		var versions []string
		for _, u := range w.everything() {
			versions = append(versions, describe(&u)+" "+u.GetResourceVersion())
		}
		if now := strings.Join(versions, "\n"); now != before {
			before, since = now, time.Now()
		}
		if time.Since(since) < still {
			return errors.New("something changed a moment ago")
		}
		return nil
	})
	return w.now()
}

// everything returns the objects of an example, primaries and children.
func (w *world) everything() []unstructured.Unstructured {
	w.Helper()
	all := w.made()
	for _, p := range w.primaries {
		if live, err := w.live(p); err == nil {
			all = append(all, *live)
		}
	}
	return all
}

// quiet checks that the controller writes nothing for a while.
func (w *world) quiet(d time.Duration) {
	w.Helper()
	if w.Cluster.Borrowed() {
		w.Log("a borrowed cluster has no audit log: whether it rests is not looked at")
		return
	}
	if w.withheld != (access{}) {
		return // The controller retries forbidden requests.
	}
	w.settled()
	since := time.Now()
	select { // There is no condition to wait for: nothing must happen.
	case <-time.After(d):
	case <-w.Context().Done():
	}
	w.FlushAudit()
	found, err := w.Cluster.Requests(func(r devcluster.Request) bool {
		return r.User == w.account.user && r.IsWrite() && r.Resource != "leases" && r.Resource != "events" && !r.Received.Before(since)
	})
	if err != nil {
		w.Fatal(err)
	}
	if len(found) > 0 {
		w.Errorf("%d writes in %s of rest: %v", len(found), d, devcluster.Tally(found))
	}
}

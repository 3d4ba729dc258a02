//go:build integration

package apifacts

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

var update = flag.Bool("update", false, "record the answers of the API server")

// TestAnswers asks the API server again, and compares its answers with the recorded ones.
// Another minor may name another field in a rejection, and may have other defaults: up to
// 1.36, it rejects the spec of a StatefulSet, and from 1.37 on the field. It must accept
// and reject the same objects, unless it lacks their kind or an
// earlier version accepts them.
func TestAnswers(t *testing.T) {
	f, recorded, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{World: e2e.New(t, devcluster.Shared(t)), facts: f}
	client, err := discovery.NewDiscoveryClientForConfig(s.Cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	version := s.Cluster.Version(t)
	now := utilversion.MustParse(version)
	other := now.Minor() != utilversion.MustParse(recorded.Version).Minor() && !*update
	if other {
		s.leaveOutMissingKinds(client)
		s.leaveOutLaterCases(now)
	}
	got := s.answers()
	got.Version = version
	if *update {
		text, err := yaml.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		text = append([]byte("# Recorded by TestAnswers.\n"), text...)
		if err := os.WriteFile("answers.yaml", text, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if other {
		if d := cmp.Diff(rejected(s.facts, recorded), rejected(s.facts, got)); d != "" {
			t.Errorf("Kubernetes %s rejects other objects than %s (-recorded +now):\n%s", got.Version, recorded.Version, d)
		}
		return
	}
	recorded.Version = got.Version // Another patch may agree.
	recorded.Messages, got.Messages = nil, nil
	if d := cmp.Diff(recorded, got); d != "" {
		t.Errorf("the API server answers something else (-recorded +now):\n%s", d)
	}
}

// rejected returns which objects were rejected.
func rejected(f Facts, a Answers) map[string][]bool {
	out := map[string][]bool{}
	for name := range f.Bases {
		out["base "+name] = []bool{a.Bases[name] != ""}
	}
	for _, c := range f.Cases {
		for _, answer := range a.Cases[c.Key()] {
			out[c.Key()] = append(out[c.Key()], answer != "")
		}
	}
	for _, z := range f.Zeroes {
		out["zero "+z.Field] = []bool{a.Zeroes[z.Field] != ""}
	}
	for _, c := range f.Applies {
		out["apply "+c.About] = []bool{a.Applies[c.About].Code != 0}
	}
	return out
}

// A server asks the API server.
type server struct {
	*e2e.World
	facts Facts
}

func (s *server) answers() Answers {
	s.Helper()
	a := Answers{Bases: map[string]string{}, Cases: map[string][]string{}, Defaults: map[string]map[string]string{}, Zeroes: map[string]string{},
		Applies: map[string]Rejection{}}
	s.Eventually("the ServiceAccount of Pods", func() error {
		_, err := s.Resource(e2e.GVK("v1", "ServiceAccount")).Get(context.Background(), "default", metav1.GetOptions{})
		return err
	})
	var err error
	stored := map[string]*unstructured.Unstructured{}
	for name := range s.facts.Bases {
		stored[name], err = s.create(name, nil)
		a.Bases[name] = answer(err)
	}
	for _, c := range s.facts.Cases {
		for _, edit := range c.Edits {
			if c.Check == "immutable-field" {
				err = s.change(c.Base, edit)
			} else {
				_, err = s.create(c.Base, edit)
			}
			a.Cases[c.Key()] = append(a.Cases[c.Key()], answer(err))
			if err != nil {
				a.Messages = append(a.Messages, constant(err))
			}
		}
	}
	for _, d := range s.facts.Defaults {
		fields := map[string]string{}
		if part, ok := At(stored[d.Base].Object, d.At).(map[string]any); ok {
			for key, v := range part {
				fields[key] = fmt.Sprintf("%T", v)
			}
		}
		a.Defaults[d.Definition] = fields
	}
	for _, z := range s.facts.Zeroes {
		_, err := s.create(z.Base, z.Edit)
		a.Zeroes[z.Field] = answer(err)
	}
	for _, c := range s.facts.Applies {
		a.Applies[c.About] = s.apply(c.Base, c.Edit)
	}
	return a
}

// leaveOutMissingKinds removes the facts about kinds that the server does not have, such as
// those of resource.k8s.io/v1 before 1.34.
func (s *server) leaveOutMissingKinds(client discovery.DiscoveryInterface) {
	s.Helper()
	missing := map[string]bool{}
	for name, object := range s.facts.Bases {
		u := unstructured.Unstructured{Object: object}
		list, err := client.ServerResourcesForGroupVersion(u.GetAPIVersion())
		if err != nil && !apierrors.IsNotFound(err) {
			s.Fatal(err)
		}
		if list == nil || !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == u.GetKind() }) {
			s.Logf("%s is left out: the server has no %s in %s", name, u.GetKind(), u.GetAPIVersion())
			missing[name] = true
		}
	}
	maps.DeleteFunc(s.facts.Bases, func(name string, _ map[string]any) bool { return missing[name] })
	s.facts.Cases = slices.DeleteFunc(s.facts.Cases, func(c Case) bool { return missing[c.Base] })
	s.facts.Defaults = slices.DeleteFunc(s.facts.Defaults, func(d Default) bool { return missing[d.Base] })
	s.facts.Zeroes = slices.DeleteFunc(s.facts.Zeroes, func(z Zero) bool { return missing[z.Base] })
	s.facts.Applies = slices.DeleteFunc(s.facts.Applies, func(c Apply) bool { return missing[c.Base] })
}

// leaveOutLaterCases removes the cases that only later versions reject.
func (s *server) leaveOutLaterCases(now *utilversion.Version) {
	s.Helper()
	s.facts.Cases = slices.DeleteFunc(s.facts.Cases, func(c Case) bool {
		if c.Since == "" || now.AtLeast(utilversion.MustParse(c.Since)) {
			return false
		}
		s.Logf("%s is left out: the API server rejects it since %s", c.Key(), c.Since)
		return true
	})
}

// base returns an edited base and the client for it.
func (s *server) base(name string, edit Edit) (*unstructured.Unstructured, dynamic.ResourceInterface) {
	s.Helper()
	u := &unstructured.Unstructured{Object: edit.Apply(s.facts.Bases[name])}
	namespace := s.Namespace
	if u.GetNamespace() != "" {
		namespace = u.GetNamespace()
	}
	return u, s.ResourceIn(u.GroupVersionKind(), namespace)
}

// create sends a dry run.
func (s *server) create(name string, edit Edit) (*unstructured.Unstructured, error) {
	s.Helper()
	u, client := s.base(name, edit)
	return client.Create(context.Background(), u, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

// apply sends a dry run of an apply.
func (s *server) apply(name string, edit Edit) Rejection {
	s.Helper()
	u, client := s.base(name, edit)
	options := metav1.ApplyOptions{FieldManager: "facts", Force: true, DryRun: []string{metav1.DryRunAll}}
	_, err := client.Apply(context.Background(), u.GetName(), u, options)
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return Rejection{}
	}
	return Rejection{Code: status.Status().Code, Reason: string(status.Status().Reason), Message: constant(err)}
}

var random = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|facts-[a-z0-9]{5}\b|\b(?:Time|time)\b[^,}]*UTC`)

// constant returns the message of an error without what differs from one run to another.
func constant(err error) string { return random.ReplaceAllString(err.Error(), "facts") }

// change creates a base under a new name, and sends the edit of it as a dry run.
func (s *server) change(name string, edit Edit) error {
	s.Helper()
	ctx := context.Background()
	u, client := s.base(name, nil)
	u.SetName("")
	u.SetGenerateName("facts-")
	live, err := client.Create(ctx, u, metav1.CreateOptions{})
	if err != nil {
		s.Fatalf("%s: %v", name, err)
	}
	s.Cleanup(func() {
		if err := client.Delete(ctx, live.GetName(), metav1.DeleteOptions{}); err != nil {
			s.Errorf("%s: %v", name, err)
		}
	})
	changed := &unstructured.Unstructured{Object: edit.Apply(live.Object)}
	if changed.GetKind() != "RuntimeClass" { // Its updates must have one.
		changed.SetResourceVersion("") // Controllers may write to it.
	}
	_, err = client.Update(ctx, changed, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// answer returns the causes of a rejection, without what differs from one run to another.
func answer(err error) string {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &status):
		return err.Error()
	}
	s := status.Status()
	var causes []string
	if s.Details != nil {
		for _, c := range s.Details.Causes {
			causes = append(causes, strings.TrimSpace(c.Field+": "+string(c.Type)))
		}
	}
	if len(causes) == 0 {
		return string(s.Reason) + ": " + s.Message
	}
	slices.Sort(causes)
	return strings.Join(slices.Compact(causes), "; ")
}

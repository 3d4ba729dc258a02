//go:build integration

package apifacts

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"reconcel/internal/devcluster"
	"reconcel/internal/e2e"
)

var update = flag.Bool("update", false, "record the answers of the API server")

// TestAnswers asks the API server again, and compares its answers with the recorded ones.
func TestAnswers(t *testing.T) {
	f, recorded, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{World: e2e.New(t, devcluster.Shared(t)), facts: f}
	got := s.answers()
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
	got.Version, recorded.Version = "", "" // A cluster of another version may agree.
	if d := cmp.Diff(recorded, got); d != "" {
		t.Errorf("the API server answers something else (-recorded +now):\n%s", d)
	}
}

// A server asks the API server.
type server struct {
	*e2e.World
	facts Facts
}

func (s *server) answers() Answers {
	s.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(s.Cluster.Config())
	if err != nil {
		s.Fatal(err)
	}
	version, err := d.ServerVersion()
	if err != nil {
		s.Fatal(err)
	}
	a := Answers{Version: version.GitVersion, Bases: map[string]string{}, Cases: map[string][]string{}, Defaults: map[string]map[string]string{}, Zeroes: map[string]string{}}
	s.Eventually("the ServiceAccount of Pods", func() error {
		_, err := s.Resource(e2e.GVK("v1", "ServiceAccount")).Get(context.Background(), "default", metav1.GetOptions{})
		return err
	})
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
	return a
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
	changed.SetResourceVersion("") // Controllers may write to it.
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

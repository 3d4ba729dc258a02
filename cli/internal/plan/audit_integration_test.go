//go:build integration

package plan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/dryrun"
	"reconcel/cli/internal/output"
	"reconcel/engine"
	"reconcel/engine/access"
	"reconcel/rules"
	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/soak"
)

// TestPlanForetellsAuditLog reloads each edit of the rules of 200 primaries on a control plane,
// and compares the plan with the audit log.
func TestPlanForetellsAuditLog(t *testing.T) {
	if !soak.Enabled() {
		t.Skip("takes half an hour: make soak-plan")
	}
	crds, err := filepath.Abs(examples + "/../crds")
	if err != nil {
		t.Fatal(err)
	}
	control := devcluster.Start(t, devcluster.Options{CRDs: crds, Users: []string{"reviewer:system:masters"}})
	if control.Borrowed() {
		t.Skip("a borrowed cluster has no audit log")
	}
	f := &liveFleet{World: e2e.New(t, control)}
	texts := fleetTexts(t)
	before := loadTexts(t, texts)
	f.populate()
	f.run(before.Program)
	f.settled()
	for _, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			f := &liveFleet{World: f.Within(t), machine: f.machine}
			after := loadTexts(t, e.apply(t, texts))
			want := f.planned(after)
			since := time.Now()
			if err := f.machine.Reload(t.Context(), after.Program); err != nil {
				t.Fatal(err)
			}
			f.settled()
			written := withoutAnnotations(f.written(since), want)
			want = slices.DeleteFunc(want, isStatus)
			if diff := cmp.Diff(written, want, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the audit log and the plan differ (-written +planned):\n%s", diff)
			}
			t.Logf("%d objects", len(written))
			if err := f.machine.Reload(t.Context(), before.Program); err != nil {
				t.Fatal(err)
			}
			if e.oneWay {
				f.Kubectl("delete", "deployments", "-A", "-l", rules.LabelRule+"="+e.of)
			}
			f.settled()
		})
	}
}

// A liveFleet is the fleet on a control plane, with an engine.
type liveFleet struct {
	*e2e.World
	machine *engine.Engine
}

// populate creates the primaries and their namespaces.
func (f *liveFleet) populate() {
	f.Helper()
	var all []string
	for i := range 7 {
		all = append(all, fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: team-%d}}", i))
	}
	file := filepath.Join(f.TempDir(), "fleet.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(append(all, fleetObjects()...), "\n---\n")), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Kubectl("apply", "--server-side", "-f", file)
}

// run starts an engine, which ends with the test.
func (f *liveFleet) run(program *rules.Program) {
	f.Helper()
	config := f.Cluster.UserConfig(f.T, e2e.User)
	config.QPS = -1
	machine, err := engine.New(access.Options{
		Config: config, Log: slog.New(slog.DiscardHandler), Namespace: f.Namespace, RemovalGrace: time.Second, MaxDeletions: new(intstr.FromString("100%")),
	}, program)
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- machine.Run(ctx) }()
	f.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			f.Errorf("engine: %v", err)
		}
	})
	f.machine = machine
	f.Eventually("the engine to be ready", machine.Ready)
}

// changes returns the writes of the engine since an instant.
func (f *liveFleet) changes(since time.Time) []devcluster.Request {
	f.Helper()
	return f.Requests(func(r devcluster.Request) bool {
		return r.User == e2e.User && r.IsWrite() && r.Code < 300 && r.Resource != "leases" && r.Resource != "events" && !r.Received.Before(since)
	})
}

// settled waits until all Pods run, and the engine has written nothing for some seconds.
func (f *liveFleet) settled() {
	f.Helper()
	const rest = 4 * time.Second
	since := time.Now()
	e2e.Poll(f.T, "the engine to rest", 3*time.Minute, time.Second, func() error {
		if time.Since(since) < rest {
			return errors.New("the reload was a moment ago")
		}
		const ending, notRunning = `{range .items[?(@.metadata.deletionTimestamp)]}{.metadata.name} {end}`, `{range .items[?(@.status.phase!="Running")]}{.metadata.name} {end}`
		if moving := f.Kubectl("get", "pods", "-A", "-o", "jsonpath="+ending+notRunning); moving != "" {
			since = time.Now()
			return fmt.Errorf("Pods end or do not run: %s", moving)
		}
		if n := len(f.changes(time.Now().Add(-rest))); n > 0 {
			return fmt.Errorf("%d writes in %s", n, rest)
		}
		return nil
	})
}

// written returns what the audit log has, without the status.
func (f *liveFleet) written(since time.Time) (all effects) {
	f.Helper()
	for _, c := range e2e.Done(f.changes(since)) {
		all = append(all, c.Action+" "+c.Resource+"/"+strings.TrimPrefix(c.Namespace+"/"+c.Name, "/"))
	}
	slices.Sort(all)
	return all
}

// isStatus reports whether an effect is a write of the status.
func isStatus(effect string) bool { return strings.HasPrefix(effect, "status ") }

// withoutAnnotations leaves out the writes of the annotation that reports the status, where the
// plan has the status.
func withoutAnnotations(written, planned effects) effects {
	return slices.DeleteFunc(written, func(effect string) bool {
		object, configured := strings.CutPrefix(effect, "configured namespaces/")
		return configured && !slices.Contains(planned, effect) && slices.Contains(planned, "status namespaces/"+object)
	})
}

// planned returns what plan foretells, without what is not written.
func (f *liveFleet) planned(loaded *rules.Loaded) (all effects) {
	f.Helper()
	config := f.Cluster.UserConfig(f.T, "reviewer")
	config.QPS = -1
	config.Wrap(dryrun.Guard)
	live, err := cluster.New(config)
	if err != nil {
		f.Fatal(err)
	}
	report, err := Compare(f.Context(), Options{Source: change.Source{Rules: loaded, Cluster: live, Progress: output.StartProgress(&strings.Builder{})}})
	if err != nil {
		f.Fatal(err)
	}
	for _, effect := range planned(report) {
		action, object, _ := strings.Cut(effect, " ")
		kind, name, _ := strings.Cut(object, "/")
		if action == "orphaned" || action == "rejected" || action == "failed" {
			continue
		}
		resource, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
		all = append(all, action+" "+resource.Resource+"/"+name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

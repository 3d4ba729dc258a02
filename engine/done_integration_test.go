//go:build integration

package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"reconcel/test/devcluster"
)

// jobChild is a Job that the API server deletes a second after it has finished.
func jobChild(id, onChange string) string {
	return fmt.Sprintf(`  - id: %[1]s
    onChange: %[2]s
    template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: "${self.metadata.name}-%[1]s", labels: {value: "${self.spec.value}"}}
      spec:
        ttlSecondsAfterFinished: 1
        template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}
`, id, onChange)
}

// TestFinishedJobsStayDone has Jobs with a short time to live. Neither their end, nor a label, nor another process, nor
// one that was away at the end, runs them again.
func TestFinishedJobsStayDone(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	src := widgetRules("", jobChild("a", "apply"), jobChild("k", "keep"), jobChild("r", "replace"),
		strings.Replace(configMapChild("gate", "${self.metadata.name}"), "template:", "after: [a, k, r]\n    template:", 1))
	in := w.run(src)
	since := time.Now()
	w.Create(widget("one", "value: x"))
	for _, job := range []string{"one-a", "one-k", "one-r"} {
		w.Eventually("Job "+job+" to exist", func() error {
			if w.Get(jobs, job) == nil && w.Get(configs, "one") == nil {
				return errors.New("it does not")
			}
			return nil
		})
	}
	w.Has(configs, "one", map[string]any{"data.value": "x"})
	w.Is(widgets, "one", "Ready", "True")
	for _, job := range []string{"one-a", "one-k", "one-r"} {
		w.gone(jobs, job)
	}
	w.settles()
	w.Patch(widgets, "one", `{"spec":{"value":"y"}}`)
	w.Has(configs, "one", map[string]any{"data.value": "y"})
	in.stop()
	in = w.run(src)
	w.Patch(widgets, "one", `{"spec":{"value":"z"}}`)
	w.Has(configs, "one", map[string]any{"data.value": "z"})
	w.Is(widgets, "one", "Ready", "True")
	w.settles()
	// One apply for each Job, and one patch that sets its time to live.
	if n := w.applies(since, "jobs"); n != 6 {
		t.Errorf("the Jobs were patched %d times", n)
	}
	w.Create(widget("two", "value: x"))
	w.Eventually("Job two-a to exist", func() error {
		if w.Get(jobs, "two-a") == nil {
			return errors.New("it does not")
		}
		return nil
	})
	in.stop() // It may or may not have seen the end.
	w.run(src)
	w.Has(configs, "two", map[string]any{"data.value": "x"})
	w.gone(jobs, "two-a")
	w.settles()
	if n := w.applies(since, "jobs"); n != 12 {
		t.Errorf("all Jobs were patched %d times", n)
	}
	w.Patch(widgets, "one", `{"metadata":{"annotations":{"reconcel.dev/run-again":"1"}}}`)
	w.Eventually("the Jobs to run again", func() error {
		if n := w.applies(since, "jobs"); n < 18 {
			return fmt.Errorf("%d patches", n)
		}
		return nil
	})
	w.gone(jobs, "one-a")
	w.settles()
	if n := w.applies(since, "jobs"); n != 18 {
		t.Errorf("after all, the Jobs were patched %d times", n)
	}
}

// TestFinishedEntryStaysDone deletes the Job of an entry of finalize while another entry is pending.
func TestFinishedEntryStaysDone(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	src := widgetRules("", configMapChild("config", "${self.metadata.name}"), finalizeJob("10m", "false"), `  - id: upload
    timeout: 10m
    after: [backup]
    readyWhen: annotation(child, "done").hasValue()
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-upload"}}
`)
	in := w.run(src)
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	since := time.Now()
	w.deleteWith(widgets, "one", "Background")
	w.Has(configs, "one-upload", map[string]any{"metadata.name": "one-upload"})
	w.deleteWith(jobs, "one-backup", "Background")
	w.gone(jobs, "one-backup")
	in.stop()
	w.run(src)
	w.settles()
	if n := w.applies(since, "jobs"); n != 1 {
		t.Errorf("the Job was created %d times", n)
	}
	w.Patch(configs, "one-upload", `{"metadata":{"annotations":{"done":"yes"}}}`)
	w.gone(widgets, "one")
}

// TestStatusThatReadsItself has a status that changes with each of its own writes.
func TestStatusThatReadsItself(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	in := w.run(widgetRules("", configMapChild("config", "${self.metadata.name}"), "  status: {version: \"${self.metadata.resourceVersion}\"}\n"))
	since := time.Now()
	w.Create(widget("one", "value: x"))
	w.told("Widget", "one", "Contested")
	w.Is(widgets, "one", "Ready", "False")
	w.Eventually("the log to name the field", func() error {
		if !strings.Contains(in.log.String(), "status.version reads self.metadata.resourceVersion") {
			return errors.New("it does not")
		}
		return nil
	})
	w.FlushAudit()
	found, err := w.Cluster.Requests(func(r devcluster.Request) bool {
		return r.User == "reconcel" && r.Verb == "patch" && r.Resource == "widgets" && r.Subresource == "status" && r.Namespace == w.Namespace
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, most := len(found), 100+30*int(time.Since(since)/(30*time.Second)+1); n > most {
		t.Errorf("the status was written %d times in %v", n, time.Since(since))
	}
}

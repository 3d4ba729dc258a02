//go:build integration

package examples

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// podsReady returns an error until all Pods and children of the StatefulSets exist.
func podsReady(w *world) error {
	for _, p := range w.primaries {
		live, err := w.live(p)
		if err != nil {
			return err
		}
		if ready, want := field(live, "status.readyReplicas"), field(live, "spec.replicas"); ready != want {
			return fmt.Errorf("%s has %v of %v Pods", describe(live), ready, want)
		}
	}
	return nil
}

func servicePerPodStory(w *world) {
	cache := w.primary("StatefulSet", "cache")
	service := w.exists("v1", "Service", "cache-1")
	headless := w.exists("v1", "Service", "cache")
	pod := w.exists("v1", "Pod", "cache-1")
	w.delete(pod)
	w.eventually("another Pod cache-1", func() error {
		if now := w.get("v1", "Pod", "cache-1"); now == nil || now.GetUID() == pod.GetUID() {
			return errors.New("it is not there")
		}
		return podsReady(w)
	})
	w.same(service)
	w.eventually("the Service to lead to the Pod", func() error {
		slices := w.found("discovery.k8s.io/v1", "EndpointSlice", "kubernetes.io/service-name=cache-1")
		if len(slices) != 1 || field(&slices[0], "endpoints.0.targetRef.name") != "cache-1" || field(&slices[0], "endpoints.1") != nil {
			return fmt.Errorf("it leads elsewhere: %v", slices)
		}
		return nil
	})

	const with, without = `{"metadata":{"annotations":{"platform.example.com/service-per-pod":"true"}}}`, `{"metadata":{"annotations":{"platform.example.com/service-per-pod":null}}}`
	none, three := counts(children{"Service", 0, nil}), counts(children{"Service", 3, nil})
	for _, change := range []func(func()){func(do func()) { do() }, w.whileDown} {
		change(func() { w.patch(cache, without) })
		w.eventually("the Services to go with the annotation", func() error { return none(w) })
		w.same(headless)
		change(func() { w.patch(cache, with) })
		w.eventually("the Services to come with the annotation", func() error { return three(w) })
	}
}

// jobGateStory checks that the gate is closed until the Job is done.
func jobGateStory(w *world) {
	const v1alpha1 = "platform.example.com/v1alpha1"
	release := w.primary("Release", "orders")
	image := func(want string) {
		w.Helper()
		w.shows("apps/v1", "Deployment", "orders", "spec.template.spec.containers.0.image", "ghcr.io/example/orders:"+want)
	}
	image("1.5.0")
	job := w.exists("batch/v1", "Job", "orders-migrate-1-5-0")
	w.patch(release, `{"spec":{"migrate":["/app/orders","migrate","--verbose"]}}`)
	w.patch(job, `{"spec":{"backoffLimit":5}}`)
	w.whileDown(func() {})
	w.agree()
	w.same(job)
	w.shows("batch/v1", "Job", "orders-migrate-1-5-0", "spec.backoffLimit", "5")

	hold := w.holdJobs()
	w.patch(release, `{"spec":{"version":"1.6.0"}}`)
	held := w.exists("batch/v1", "Job", "orders-migrate-1-6-0")
	w.shows(v1alpha1, "Release", "orders", "status.migration", "Running")
	image("1.5.0")
	// The Deployment's earlier content is no longer known, so that its repair waits, too.
	w.patch(w.exists("apps/v1", "Deployment", "orders"), `{"spec":{"replicas":1}}`)
	w.gone("batch/v1", "Job", "orders-migrate-1-5-0") // Another Job has replaced it.

	w.patch(held, strings.ReplaceAll(`{"status":{"conditions":[
		{"type":"FailureTarget","status":"True","reason":"BackoffLimitExceeded","lastTransitionTime":"NOW","lastProbeTime":"NOW"},
		{"type":"Failed","status":"True","reason":"BackoffLimitExceeded","lastTransitionTime":"NOW","lastProbeTime":"NOW"}]}}`,
		"NOW", time.Now().UTC().Format(time.RFC3339)), "status")
	w.reports(v1alpha1, "Release", "orders", "Stalled", "True", "ChildFailed")
	w.shows(v1alpha1, "Release", "orders", "status.migration", "Failed")
	image("1.5.0")
	hold()
	w.delete(held)
	w.agree()
	image("1.6.0")
	w.shows("apps/v1", "Deployment", "orders", "spec.replicas", "3")
}

// pipelineStory deletes Jobs that are done: no step runs again until a user asks for that.
func pipelineStory(w *world) {
	const v1alpha1 = "platform.example.com/v1alpha1"
	check, extract := w.exists("batch/v1", "Job", "nightly-check"), w.exists("batch/v1", "Job", "nightly-extract")
	w.delete(extract)
	w.agree()
	w.gone("batch/v1", "Job", "nightly-extract")
	w.same(check)
	w.whileDown(func() { w.delete(check) })
	w.agree()
	w.gone("batch/v1", "Job", "nightly-check")
	w.shows(v1alpha1, "Pipeline", "nightly", "status.progress", "2/2")
	w.patch(w.primary("Pipeline", "nightly"), `{"metadata":{"annotations":{"reconcel.dev/run-again":"1"}}}`)
	w.exists("batch/v1", "Job", "nightly-extract")
	w.exists("batch/v1", "Job", "nightly-check")
	w.shows(v1alpha1, "Pipeline", "nightly", "status.progress", "2/2")
	w.agree()
}

// previewStory lets a Preview expire while the process runs, and while it does not, and lets
// another one sleep.
func previewStory(w *world) {
	const v1alpha1 = "platform.example.com/v1alpha1"
	preview := w.primary("Preview", "branch")
	// expires gives the Preview some more seconds to live, and waits until they are over.
	expires := func(in time.Duration) {
		w.Helper()
		moment := time.Now().Add(in).Truncate(time.Second)
		w.patch(preview, fmt.Sprintf(`{"spec":{"ttl":%q}}`, moment.Sub(preview.GetCreationTimestamp().Time)))
		w.eventually("its time to be over", func() error {
			if rest := time.Until(moment); rest > 0 {
				return fmt.Errorf("%s are left", rest)
			}
			return nil
		})
	}
	lives := func() {
		w.Helper()
		w.patch(preview, `{"spec":{"ttl":"72h"}}`)
		w.exists("apps/v1", "Deployment", "branch")
	}
	expires(5 * time.Second)
	w.gone("apps/v1", "Deployment", "branch")
	lives()
	w.whileDown(func() { expires(time.Second) })
	w.gone("apps/v1", "Deployment", "branch")
	lives()

	minute := time.Now().UTC().Add(time.Minute)
	w.patch(preview, fmt.Sprintf(`{"spec":{"hours":{"sleep":"%d %d * * *","wake":"0 0 29 2 *"}}}`, minute.Minute(), minute.Hour()))
	w.shows(v1alpha1, "Preview", "branch", "status.phase", "Asleep")
	w.shows("apps/v1", "Deployment", "branch", "spec.replicas", "0")
	w.patch(preview, `{"spec":{"hours":null}}`)
	w.shows("apps/v1", "Deployment", "branch", "spec.replicas", "2")
	w.agree()
}

// holdJobs blocks the creation of Pods in the test's namespace, and so of the Pods of
// Jobs, until release is called.
func (w *world) holdJobs() (release func()) {
	w.Helper()
	var quota *unstructured.Unstructured
	for _, u := range w.parse(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: hold}, spec: {hard: {pods: "0"}}}`) {
		quota = w.create(u)
	}
	w.shows("v1", "ResourceQuota", "hold", "status.hard.pods", "0") // The quota is in force now.
	return func() { w.delete(quota) }
}

func configPropagationStory(w *world) {
	const v1alpha1 = "platform.example.com/v1alpha1"
	name := w.at("proxy-settings")
	original := w.exists("v1", "ConfigMap", w.at("platform")+"/proxy")
	in := func(namespace, want string) {
		w.Helper()
		w.shows("v1", "ConfigMap", w.at(namespace)+"/proxy", "data.HTTPS_PROXY", want)
	}
	w.patch(original, `{"data":{"HTTPS_PROXY":"http://other"},"binaryData":{"ca":"AAEC"}}`)
	in("orders", "http://other")
	in("payments", "http://other")
	w.shows("v1", "ConfigMap", w.at("orders")+"/proxy", "binaryData.ca", "AAEC")

	// There is one more namespace, and the original's own, which needs no copy.
	kiosk := w.namespaceOf("kiosk")
	w.shows("v1", "ConfigMap", kiosk.GetName()+"/proxy", "data.HTTPS_PROXY", "http://other")
	w.shows(v1alpha1, "ConfigPropagation", name, "status.copies", "3")
	w.patch(w.exists("v1", "Namespace", w.at("platform")), `{"metadata":{"labels":{"proxy":"yes"}}}`)
	w.patch(kiosk, `{"metadata":{"labels":{"proxy":null}}}`)
	w.gone("v1", "ConfigMap", kiosk.GetName()+"/proxy")
	w.agree()
	w.same(original)

	// A foreign object has that name.
	for _, u := range w.parse(`{apiVersion: v1, kind: ConfigMap, metadata: {name: proxy, namespace: ` + kiosk.GetName() + `}, data: {mine: "1"}}`) {
		theirs := w.create(u)
		w.patch(kiosk, `{"metadata":{"labels":{"proxy":"yes"}}}`)
		w.reports(v1alpha1, "ConfigPropagation", name, "Stalled", "True", "ErrResourceExists")
		if live, err := w.live(theirs); err != nil || live.GetResourceVersion() != theirs.GetResourceVersion() {
			w.Errorf("the ConfigMap of another owner was changed: %v", err)
		}
		w.patch(kiosk, `{"metadata":{"labels":{"proxy":null}}}`)
		w.agree()
		w.delete(theirs)
	}

	// A copy that cannot be deleted does not block the others.
	w.patch(kiosk, `{"metadata":{"labels":{"proxy":"yes"}}}`)
	copied := w.exists("v1", "ConfigMap", kiosk.GetName()+"/proxy")
	w.patch(copied, `{"metadata":{"finalizers":["example.com/held"]}}`)
	w.delete(kiosk)
	w.shows(v1alpha1, "ConfigPropagation", name, "status.copies", "2")
	w.patch(original, `{"data":{"HTTPS_PROXY":"http://third"}}`)
	in("orders", "http://third")
	w.patch(copied, `{"metadata":{"finalizers":null}}`)
	w.gone("v1", "ConfigMap", kiosk.GetName()+"/proxy")

	// The copies stay without the original.
	w.delete(original)
	w.reports(v1alpha1, "ConfigPropagation", name, "SourceFound", "False", "Missing")
	w.reports(v1alpha1, "ConfigPropagation", name, "Ready", "False", "Waiting")
	in("orders", "http://third")
	for _, u := range w.parse(`{apiVersion: v1, kind: ConfigMap, metadata: {name: proxy, namespace: ` + w.at("platform") + `}, data: {HTTPS_PROXY: "http://again"}}`) {
		w.create(u)
	}
	in("payments", "http://again")
	w.agree()
}

func (w *world) namespaceOf(name string) (created *unstructured.Unstructured) {
	w.Helper()
	for _, u := range w.parse(`{apiVersion: v1, kind: Namespace, metadata: {generateName: ` + name + `-, labels: {proxy: "yes"}}}`) {
		created = w.create(u)
	}
	return created
}

// backupStory deletes a Database in several ways.
func backupStory(w *world) {
	const v1alpha1 = "platform.example.com/v1alpha1"
	again := func() {
		w.Helper()
		w.primaries = nil
		w.createResources()
		w.agree()
	}
	ledger := w.exists(v1alpha1, "Database", "ledger")
	if got := ledger.GetFinalizers(); len(got) != 1 || got[0] != "reconcel.dev/database" {
		w.Errorf("its finalizers are %v", got)
	}
	server, service := w.exists("apps/v1", "StatefulSet", "ledger"), w.exists("v1", "Service", "ledger")
	for _, u := range []*unstructured.Unstructured{server, service} {
		if u.GetAnnotations()["reconcel.dev/owner"] == "" || len(u.GetOwnerReferences()) > 0 {
			w.Errorf("%s has owners %v, want only the annotation", describe(u), u.GetOwnerReferences())
		}
	}
	w.reports(v1alpha1, "Database", "ledger", "BackupPlanned", "True", "BackupPlanned")

	// While the backup runs, the server keeps running.
	hold := w.holdJobs()
	w.whileDown(func() { w.delete(ledger) })
	job := w.exists("batch/v1", "Job", "ledger-backup")
	w.reports(v1alpha1, "Database", "ledger", "Ready", "False", "Finalizing")
	w.whileDown(func() {})
	w.reports(v1alpha1, "Database", "ledger", "Ready", "False", "Finalizing")
	w.same(server)
	w.same(service)
	w.same(job)
	hold()
	w.eventually("nothing to be left", w.nothingLeft)

	// The wait has a time limit, and a foreground deletion does not shorten it.
	again()
	hold = w.holdJobs()
	w.runWith("timeout: 10m", "timeout: 3s")
	server = w.exists("apps/v1", "StatefulSet", "ledger")
	if out, err := w.Cluster.Kubectl("delete", "database", "ledger", "--namespace", w.Namespace, "--cascade=foreground", "--wait=false"); err != nil {
		w.Fatalf("%v\n%s", err, out)
	}
	w.exists("batch/v1", "Job", "ledger-backup")
	w.same(server)
	w.eventually("nothing to be left", w.nothingLeft)
	w.told("Database", "ledger", "FinalizeTimeout")
	hold()
	w.runWith("", "")

	// Without a backup, the deletion is immediate.
	again()
	w.patch(w.primary("Database", "ledger"), `{"spec":{"backup":null}}`)
	w.reports(v1alpha1, "Database", "ledger", "BackupPlanned", "False", "NotBackupPlanned")
	w.deletePrimaries()
	w.eventually("nothing to be left", func() error {
		if w.get("batch/v1", "Job", "ledger-backup") != nil {
			w.Fatal("there is a backup that no Database asks for")
		}
		return w.nothingLeft()
	})
	again()
}

func chainStory(w *world) {
	const v1alpha1 = "platform.example.com/v1alpha1"
	home := "tenant-" + w.at("acme")
	w.shows(v1alpha1, "Tenant", w.at("acme"), "status.url", "http://web."+home+".svc:80")
	w.shows(v1alpha1, "Tenant", w.at("acme"), "status.externalURL", "<nil>")
	w.shows("apps/v1", "Deployment", home+"/web", "spec.template.spec.containers.0.image", "nginxinc/nginx-unprivileged:1.28-alpine")
	if got := w.exists("v1", "Namespace", home).GetLabels()["pod-security.kubernetes.io/enforce"]; got != "restricted" {
		w.Errorf("its Pods are %q, want restricted", got)
	}
	w.patch(w.primary("Tenant", "acme"), `{"spec":{"host":"acme.example.com"}}`)
	w.shows(v1alpha1, "Tenant", w.at("acme"), "status.externalURL", "http://acme.example.com")

	web := w.exists(v1alpha1, "WebApp", home+"/web")
	w.delete(web)
	w.eventually("another WebApp", func() error {
		if now := w.get(v1alpha1, "WebApp", home+"/web"); now == nil || now.GetUID() == web.GetUID() {
			return errors.New("it is not there")
		}
		return w.complete()
	})
	w.agree()
}

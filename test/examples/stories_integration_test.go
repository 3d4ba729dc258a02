//go:build integration

package examples

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/test/faultproxy"
)

func fooStory(w *world) {
	w.shows("apps/v1", "Deployment", "renamed", "status.availableReplicas", "2")
	w.gone("apps/v1", "Deployment", "example-foo")

	foo := w.primary("Foo", "example-foo")
	w.patch(foo, `{"spec":{"deploymentName":""}}`)
	w.reports("samplecontroller.k8s.io/v1alpha1", "Foo", "example-foo", "Stalled", "True", "InvalidSpec")
	w.exists("apps/v1", "Deployment", "renamed")
	w.told("Foo", "example-foo", "InvalidSpec")
	w.patch(foo, `{"spec":{"deploymentName":"renamed"}}`)
	w.agree()

	// A foreign write removes the marks of the owner.
	renamed := w.exists("apps/v1", "Deployment", "renamed")
	reference := w.now()
	for _, patch := range []string{`{"metadata":{"labels":{"reconcel.dev/rule":null}}}`, `{"metadata":{"ownerReferences":null}}`} {
		w.patch(renamed, patch)
		w.eventually("it to be restored after "+patch, func() error { return w.is(reference) })
	}
	w.same(renamed)

	// The API server rejects some writes.
	w.process.end()
	proxy := faultproxy.Start(w.T, w.account.config)
	writes := func(r faultproxy.Request) bool { return r.Resource == "deployments" && r.IsWrite() }
	reply := func(times int, with faultproxy.Answer) *faultproxy.Injected {
		return proxy.Inject(writes, faultproxy.Fault{Effect: faultproxy.Reply, Answer: with, Times: times})
	}
	reply(1, faultproxy.Answer{Code: http.StatusTooManyRequests, RetryAfter: 1})
	reply(3, faultproxy.Answer{Code: http.StatusInternalServerError})
	forbidden := reply(0, faultproxy.Answer{Code: http.StatusForbidden})
	w.start(proxy.Kubeconfig(w.T)).await()
	w.patch(foo, `{"spec":{"replicas":3}}`)
	w.reports("samplecontroller.k8s.io/v1alpha1", "Foo", "example-foo", "Ready", "False", "Forbidden")
	forbidden.Lift()
	w.patch(foo, `{"spec":{"replicas":4}}`) // Its own retry would come only after half a minute.
	w.agree()
	w.shows("apps/v1", "Deployment", "renamed", "status.availableReplicas", "4")
}

func databasemanagerStory(w *world) {
	d := w.shows("apps/v1", "Deployment", "orders-db", "spec.template.spec.containers.0.image", "mariadb:10.7.1")
	if got := field(d, "spec.template.spec.containers.0.env.0.name"); got != "MARIADB_ROOT_PASSWORD" {
		w.Errorf("the password is given as %v", got)
	}
	w.patch(w.primary("DatabaseManager", "orders"), `{"spec":{"replicas":2}}`, "scale")
	w.shows("coolops.cn/v1alpha1", "DatabaseManager", "orders", "status.availableReplicas", "2")
}

// podsetStory checks which Pods count, and that no Pod is created twice.
func podsetStory(w *world) {
	const podset = "k8stest.justin0u0.com/v1alpha1"
	named := func(want int, not ...string) func() error {
		return func() error {
			names, _ := field(w.get(podset, "PodSet", "podset-sample"), "status.pod_names").([]any)
			var active []string
			for _, pod := range w.found("v1", "Pod", "podset_cr=podset-sample") {
				if phase := field(&pod, "status.phase"); phase != "Failed" && phase != "Succeeded" {
					active = append(active, pod.GetName())
				}
			}
			slices.Sort(active)
			for _, name := range not {
				if slices.Contains(active, name) {
					return fmt.Errorf("%s counts", name)
				}
			}
			if len(active) != want || fmt.Sprint(names) != fmt.Sprint(active) {
				return fmt.Errorf("active: %v, status: %v, want %d", active, names, want)
			}
			return nil
		}
	}
	pods := w.found("v1", "Pod", "podset_cr=podset-sample")
	for i, phase := range []string{"Failed", "Succeeded"} {
		w.patch(&pods[i], `{"status":{"phase":"`+phase+`"}}`, "status")
		w.eventually("another Pod in the place of the "+phase+" one", named(3, pods[i].GetName()))
		w.same(&pods[i]) // It stays, so that people can inspect it.
	}

	held := w.found("v1", "Pod", "podset_cr=podset-sample,"+ruleLabel)[0]
	for _, pod := range w.found("v1", "Pod", "podset_cr=podset-sample") {
		if phase := field(&pod, "status.phase"); phase == "Running" {
			held = pod
		}
	}
	w.patch(&held, `{"metadata":{"finalizers":["example.com/held"]}}`)
	w.delete(&held)
	w.eventually("another Pod in the place of the terminating one", named(3, held.GetName()))
	w.same(&held)
	w.patch(&held, `{"metadata":{"finalizers":null}}`)

	w.patch(w.primary("PodSet", "podset-sample"), `{"spec":{"replicas":4}}`, "scale")
	w.eventually("a fourth Pod", named(4))

	// Late watch events about Pods must not create any of them twice.
	w.process.end()
	proxy := faultproxy.Start(w.T, w.account.config)
	var created, deleted atomic.Int32
	proxy.OnWrite(func(write faultproxy.Write) bool {
		if write.Committed && write.Resource == "pods" {
			switch {
			case write.Code == 201:
				created.Add(1)
			case write.Method == "DELETE":
				deleted.Add(1)
			}
		}
		return true
	})
	w.start(proxy.Kubeconfig(w.T)).await()
	w.agree()
	lift := proxy.DelayWatch(func(r faultproxy.Request) bool { return r.Resource == "pods" }, 1500*time.Millisecond)
	moments := w.history("v1", "Pod", func() {
		for _, n := range []int{7, 2, 5} {
			w.patch(w.primary("PodSet", "podset-sample"), fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
			w.eventually(fmt.Sprintf("%d Pods", n), named(n))
		}
	})
	if least, most := extremes(moments, active); least < 2 || most > 7 {
		w.Errorf("there were %d to %d Pods, want 2 to 7", least, most)
	}
	lift()
	w.agree()
	if created.Load() != 6 || deleted.Load() != 5 {
		w.Errorf("4, 7, 2, 5 Pods: %d were created and %d deleted, want 6 and 5", created.Load(), deleted.Load())
	}
}

// podsCounted returns an error until the ReplicaSets have counted their Pods.
func podsCounted(w *world) error {
	for _, p := range w.primaries {
		live, err := w.live(p)
		if err != nil {
			return err
		}
		want := fmt.Sprint(field(live, "spec.replicas"))
		if got := fmt.Sprint(field(live, "status.replicas")); got != want {
			return fmt.Errorf("%s has %s of %s Pods", describe(live), got, want)
		}
		if got := live.GetLabels()["pod-count"]; got != want {
			return fmt.Errorf("%s has the label pod-count=%s, want %s", describe(live), got, want)
		}
	}
	return nil
}

func replicasetStory(w *world) {
	web := w.primary("ReplicaSet", "web")
	for _, by := range []string{`"17"`, `null`} {
		w.patch(web, `{"metadata":{"labels":{"pod-count":`+by+`}}}`)
		w.eventually("the label to be restored", func() error { return podsCounted(w) })
	}
	live, err := w.live(web)
	if err != nil {
		w.Fatal(err)
	}
	for _, entry := range live.GetManagedFields() {
		if strings.HasPrefix(entry.Manager, "reconcel") {
			if got, want := entry.FieldsV1.GetRawString(), `{"f:metadata":{"f:labels":{"f:pod-count":{}}}}`; entry.Manager != "reconcel/pod-count" || got != want {
				w.Errorf("%s has set %s, want only %s", entry.Manager, got, want)
			}
		}
	}
	w.runWith("  patch:", "  patch: {metadata: {annotations: {example.com/counted: \"yes\"}}}\n  let:\n   unused:")
	w.eventually("the label to go with the rule's word of it", func() error {
		live, err := w.live(web)
		if _, there := live.GetLabels()["pod-count"]; err != nil || there || live.GetAnnotations()["example.com/counted"] != "yes" {
			return fmt.Errorf("labels %v, annotations %v, %w", live.GetLabels(), live.GetAnnotations(), err)
		}
		return nil
	})
	w.whileDown(func() {})

	pod := w.found("v1", "Pod", "app=web")[0]
	w.delete(&pod)
	w.eventually("the label to follow", func() error { return podsCounted(w) })

	// A Deployment's ReplicaSets have the label, too, and the Deployment keeps working.
	for _, u := range w.parse(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: api}, spec: {replicas: 2, selector: {matchLabels: {app: api}},
		template: {metadata: {labels: {app: api}}, spec: {containers: [{name: api, image: nginx}]}}}}`) {
		u = w.create(u)
		w.eventually("a ReplicaSet of the Deployment to be counted", func() error {
			sets := w.found("apps/v1", "ReplicaSet", "app=api,pod-count=2")
			if len(sets) != 1 {
				return fmt.Errorf("there are %d with pod-count=2", len(sets))
			}
			return nil
		})
		w.quiet(time.Second)
		w.delete(u)
		w.eventually("the Deployment's Pods to be gone", func() error {
			if pods := w.found("v1", "Pod", "app=api"); len(pods) > 0 {
				return fmt.Errorf("%d are there", len(pods))
			}
			return nil
		})
	}
}

func sampleStory(w *world) {
	const v1 = "stable.example.com/v1"
	w.patch(w.primary("Sample", "hello"), `{"spec":{"replicas":5}}`, "scale")
	w.shows("apps/v1", "Deployment", "hello", "status.availableReplicas", "5")
	w.shows(v1, "Sample", "hello", "status.availableReplicas", "5")
	w.shows(v1, "Sample", "hello", "status.labelSelector", "sample=hello")

	for _, patch := range []string{`{"spec":{"message":null}}`, `{"spec":{"message":" x"}}`, `{"spec":{"replicas":21}}`} {
		w.refuses(w.primary("Sample", "hello"), patch)
	}

	// The Deployment's owner has version v1, whichever version the primary was written
	// in.
	d := w.exists("apps/v1", "Deployment", "goodbye")
	if got := field(d, "metadata.ownerReferences.0.apiVersion"); got != v1 {
		w.Errorf("the owner is of %v, want %s", got, v1)
	}
	for _, version := range []string{v1, "stable.example.com/v1beta1"} {
		w.shows(version, "Sample", "goodbye", "status.availableReplicas", "1")
	}
}

// podQuota returns a check for a quota of Pods.
func podQuota(want string) func(*world) error {
	return func(w *world) error {
		if got := field(w.get("v1", "ResourceQuota", w.at("team-a")+"/default"), "spec.hard.pods"); got != want {
			return fmt.Errorf("the quota is %v, want %s", got, want)
		}
		return nil
	}
}

// namespaceStory checks that the removal of the label removes all children.
func namespaceStory(w *world) {
	team := w.primary("Namespace", "team-a")
	const with, without = `{"metadata":{"labels":{"platform.example.com/decorate":"true"}}}`, `{"metadata":{"labels":{"platform.example.com/decorate":null}}}`
	none := counts(children{"NetworkPolicy", 0, nil}, children{"ResourceQuota", 0, nil}, children{"ServiceAccount", 0, nil})
	own := w.exists("v1", "ServiceAccount", team.GetName()+"/default")
	for _, change := range []func(func()){func(do func()) { do() }, w.whileDown} {
		change(func() { w.patch(team, without) })
		w.eventually("everything to go with the label", func() error { return none(w) })
		w.same(own)
		w.same(team)
		change(func() { w.patch(team, with) })
		w.eventually("everything to come with the label", w.complete)
	}
}

func webappStory(w *world) {
	const v1alpha1 = "platform.example.com/v1alpha1"
	w.shows(v1alpha1, "WebApp", "internal", "status.url", "http://internal."+w.Namespace+".svc:8080")
	w.shows(v1alpha1, "WebApp", "shop", "status.url", "<nil>")

	shop := w.primary("WebApp", "shop")
	w.patch(shop, `{"spec":{"service":{"port":80},"ingress":{"host":"shop.example.com"}}}`)
	w.shows(v1alpha1, "WebApp", "shop", "status.externalURL", "http://shop.example.com")
	w.shows(v1alpha1, "WebApp", "shop", "status.url", "http://shop."+w.Namespace+".svc:80")

	w.refuses(shop, `{"spec":{"service":null}}`) // The Ingress requires it.

	// No autoscaler has scaled it yet: an image change must not either.
	replicas := func(want string) {
		w.Helper()
		w.shows("apps/v1", "Deployment", "shop", "spec.replicas", want)
	}
	replicas("2")
	deployment := w.exists("apps/v1", "Deployment", "shop")
	w.patch(deployment, `{"spec":{"replicas":4}}`, "scale")
	w.shows(v1alpha1, "WebApp", "shop", "status.availableReplicas", "4")
	for _, change := range []string{`{"spec":{"image":"example.com/shop:2"}}`, `{"spec":{"replicas":1,"healthPath":"/healthz"}}`} {
		w.patch(shop, change)
		w.agree()
		replicas("4")
	}
	live := w.exists("apps/v1", "Deployment", "shop").DeepCopy()
	containers, _, _ := unstructured.NestedSlice(live.Object, "spec", "template", "spec", "containers")
	containers[0].(map[string]any)["image"] = "example.com/by-hand"
	_ = unstructured.SetNestedSlice(live.Object, containers, "spec", "template", "spec", "containers")
	w.put(live)
	w.shows("apps/v1", "Deployment", "shop", "spec.template.spec.containers.0.image", "example.com/shop:2")
	replicas("4")
	w.agree()
}

// workerpoolStory checks that only Pods with a changed worker are replaced, a few at a
// time.
func workerpoolStory(w *world) {
	const v1alpha1 = "platform.example.com/v1alpha1"
	pool := w.primary("WorkerPool", "mail")
	w.reports(v1alpha1, "WorkerPool", "mail", "Available", "True", "Available")
	workers := func(queues ...string) {
		w.Helper()
		w.patch(pool, `{"spec":{"workers":[`+strings.Join(queues, ",")+`]}}`)
		w.eventually("the workers to be there", counted(w, len(queues)))
		w.agree()
	}
	w.refuses(pool, `{"spec":{"workers":[{"name":"a","queue":"one"},{"name":"a","queue":"two"}]}}`)
	const a, b, c = `{"name":"a","queue":"one"}`, `{"name":"b","queue":"two"}`, `{"name":"c","queue":"three"}`
	workers(a, b)
	first, second := w.exists("v1", "Pod", "mail-a"), w.exists("v1", "Pod", "mail-b")
	workers(c, b, a)
	w.same(first)
	w.same(second)
	workers(a, `{"name":"b","queue":"four"}`, c)
	w.same(first)
	if now := w.exists("v1", "Pod", "mail-b"); now.GetUID() == second.GetUID() || field(now, "spec.containers.0.env.0.value") != "four" {
		w.Errorf("the Pod of the other queue is the same: %v", field(now, "spec.containers.0.env"))
	}

	// With three Pods replaced one at a time, two are always available.
	moments := w.history("v1", "Pod", func() {
		w.patch(pool, `{"spec":{"image":"busybox:1.35"}}`)
		w.eventually("all Pods to have the image", func() error {
			for _, pod := range w.found("v1", "Pod", ruleLabel) {
				if got := field(&pod, "spec.containers.0.image"); got != "busybox:1.35" {
					return fmt.Errorf("%s has %v", pod.GetName(), got)
				}
			}
			return counted(w, 3)()
		})
	})
	if least, _ := extremes(moments, working); least < 2 {
		w.Errorf("there was a moment with %d of 3 Pods, want 2 at least", least)
	}
	w.shows(v1alpha1, "WorkerPool", "mail", "status.readyWorkers", "3")
	w.agree()
}

// catsetStory watches that Pods are created when the one before them is ready, and deleted when the
// one after them is gone.
func catsetStory(w *world) {
	set := w.primary("CatSet", "felix")
	number := func(u *unstructured.Unstructured) (n int) {
		if _, err := fmt.Sscanf(u.GetName(), "felix-%d", &n); err != nil {
			w.Fatal(err)
		}
		return n
	}
	moments := w.history("v1", "Pod", func() {
		for _, replicas := range []int{5, 0, 3} {
			w.patch(set, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas), "scale")
			w.eventually("the Pods to be there", counted(w, replicas))
			w.agree()
		}
	})
	for _, m := range moments {
		ready, going := map[int]bool{}, map[int]bool{}
		for _, u := range m {
			going[number(u)] = u.GetDeletionTimestamp() != nil
			ready[number(u)] = working(moment{u.GetUID(): u}) > 0
		}
		for n := range going {
			if before, exists := going[n-1]; n > 0 && (!exists || before) {
				w.Errorf("there is a Pod %d, and none %d that stays: %v", n, n-1, going)
			}
			if n > 0 && ready[n] && !ready[n-1] {
				w.Errorf("Pod %d ran before Pod %d: %v", n, n-1, ready)
			}
		}
	}

	// The order holds for another process, too.
	first, last := w.exists("v1", "Pod", "felix-1"), w.exists("v1", "Pod", "felix-2")
	w.patch(last, `{"metadata":{"finalizers":["example.com/held"]}}`)
	w.whileDown(func() { w.patch(set, `{"spec":{"replicas":1}}`, "scale") })
	w.reports("platform.example.com/v1alpha1", "CatSet", "felix", "Ready", "False", "Waiting")
	w.whileDown(func() {})
	w.reports("platform.example.com/v1alpha1", "CatSet", "felix", "Ready", "False", "Waiting")
	w.same(first)
	w.patch(last, `{"metadata":{"finalizers":null}}`)
	w.eventually("one Pod to be left", counted(w, 1))
	w.agree()
}

func counted(w *world, pods int) func() error {
	return func() error { return w.counted([]children{{"Pod", pods, nil}}) }
}

//go:build integration

package ruletest_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"reconcel/cli/internal/ruletest"
	"reconcel/engine"
	"reconcel/engine/access"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/sim"
)

// pollInterval is long, because listing all objects keeps the API server from its work.
const pollInterval = 100 * time.Millisecond

// realPlace is a real cluster. It settles when it matches the recorded state of the
// in-memory cluster. The controller runs only while the place settles, because in memory
// nothing happens between the actions of a step either.
type realPlace struct {
	testing.TB
	setting ruletest.Setting
	client  dynamic.Interface
	config  *rest.Config // of the controller
	want    []string
}

// run runs the controller until stop is called.
func (r *realPlace) run(ctx context.Context) (stop func() error, err error) {
	r.config.QPS = -1
	e, err := engine.New(access.Options{Config: r.config, Log: slog.New(slog.DiscardHandler), Namespace: "kube-system"}, r.setting.Program)
	if err != nil {
		return nil, err
	}
	e.Learn(r.setting.Kinds.Set(), r.setting.Program)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}, nil
}

// resource returns the client for an object's kind and namespace.
func (r *realPlace) resource(u *unstructured.Unstructured) dynamic.ResourceInterface {
	k := r.setting.Kinds.Kind(u.GroupVersionKind())
	resource := r.client.Resource(k.GVK.GroupVersion().WithResource(k.Resource))
	if k.Namespaced {
		return resource.Namespace(u.GetNamespace())
	}
	return resource
}

// Put implements ruletest.Place.
func (r *realPlace) Put(ctx context.Context, u *unstructured.Unstructured) error {
	if err := r.namespace(ctx, u.GetNamespace()); err != nil {
		return err
	}
	body := u.DeepCopy()
	body.SetUID("")
	made, err := r.resource(u).Create(ctx, body, metav1.CreateOptions{FieldManager: "someone"})
	if apierrors.IsAlreadyExists(err) && u.GetKind() == "Namespace" {
		made, err = r.resource(u).Apply(ctx, u.GetName(), body, metav1.ApplyOptions{FieldManager: "someone", Force: true})
	}
	if err != nil {
		return err
	}
	if u.GetKind() == "Namespace" {
		if err := r.account(ctx, u.GetName()); err != nil {
			return err
		}
	}
	if status, ok := u.Object["status"]; ok {
		return r.putStatus(ctx, made, status)
	}
	return nil
}

func (r *realPlace) namespace(ctx context.Context, name string) error {
	if name == "" || sim.IsInitial(name) {
		return r.account(ctx, "default")
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	_, err := r.resource(namespace).Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return r.account(ctx, name)
}

// account creates the ServiceAccount that Pods require.
func (r *realPlace) account(ctx context.Context, namespace string) error {
	account := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "default", "namespace": namespace}}}
	_, err := r.resource(account).Create(ctx, account, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (r *realPlace) putStatus(ctx context.Context, u *unstructured.Unstructured, status any) error {
	body, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = r.resource(u).Patch(ctx, u.GetName(), types.MergePatchType, body, metav1.PatchOptions{}, "status")
	return err
}

// Client implements ruletest.Place.
func (r *realPlace) Client() dynamic.Interface { return r.client }

// MarkReady implements ruletest.Place. The status equals the one that the in-memory
// cluster gives the same object.
func (r *realPlace) MarkReady(ctx context.Context, kind *schema.Kind, namespace, name string) error {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind.GVK)
	u.SetNamespace(namespace)
	u, err := r.resource(u).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	scratch, err := sim.New(sim.Options{Kinds: r.setting.Kinds})
	if err != nil {
		return err
	}
	copied := u.DeepCopy()
	copied.SetResourceVersion("")
	copied.SetFinalizers(nil)
	if _, err := scratch.Put(copied); err != nil {
		return err
	}
	if err := scratch.MarkReady(kind.GVK, namespace, name); err != nil {
		return err
	}
	status, _ := scratch.Find(kind.GVK.GroupKind(), namespace, name).Object["status"].(map[string]any)
	if _, observed := status["observedGeneration"]; observed {
		status["observedGeneration"] = u.GetGeneration()
	}
	return r.putStatus(ctx, u, status)
}

// Settle implements ruletest.Place.
func (r *realPlace) Settle(ctx context.Context) error {
	stop, err := r.run(ctx)
	if err != nil {
		return err
	}
	return errors.Join(r.settled(ctx), stop())
}

// settled waits until the cluster matches the recorded state of the in-memory one.
func (r *realPlace) settled(ctx context.Context) error {
	want := r.want[0]
	r.want = r.want[1:]
	var have string
	var failed error
	_ = wait.PollUntilContextTimeout(ctx, pollInterval, agreement, true, func(context.Context) (bool, error) {
		var all []*unstructured.Unstructured
		all, failed = r.Objects(ctx)
		have = picture(r.setting, all)
		return failed == nil && have == want, nil
	})
	if failed != nil {
		return failed
	}
	if diff := gocmp.Diff(strings.Split(want, "\n"), strings.Split(have, "\n")); diff != "" {
		return fmt.Errorf("after %s it is not as in memory (- in memory, + here):\n%s", agreement, diff)
	}
	return nil
}

// Objects implements ruletest.Place.
func (r *realPlace) Objects(ctx context.Context) (all []*unstructured.Unstructured, err error) {
	for _, k := range r.kinds() {
		list, err := r.client.Resource(k.GVK.GroupVersion().WithResource(k.Resource)).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			if u := &list.Items[i]; !isClusters(u) {
				all = append(all, u)
			}
		}
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int {
		x, y := a.GroupVersionKind(), b.GroupVersionKind()
		return cmp.Or(strings.Compare(x.Group, y.Group), strings.Compare(x.Kind, y.Kind),
			strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return all, nil
}

// kinds are the ones that the rules use, and those that test files create.
func (r *realPlace) kinds() (all []*schema.Kind) {
	used := r.setting.Program.UsedKinds()
	for _, kind := range []string{"Namespace", "ConfigMap", "Secret", "Pod", "Service"} {
		used[runtimeschema.GroupVersionKind{Version: "v1", Kind: kind}] = true
	}
	delete(used, rules.BundleKind) // The primary of a bundle is no object.
	for gvk := range used {
		all = append(all, r.setting.Kinds.Kind(gvk))
	}
	return all
}

// isClusters reports whether the object belongs to the cluster itself.
func isClusters(u *unstructured.Unstructured) bool {
	return strings.HasPrefix(u.GetNamespace(), "kube-") && u.GetLabels()[rules.LabelBundle] == "" ||
		u.GetKind() == "Namespace" && sim.IsInitial(u.GetName()) ||
		u.GetKind() == "ServiceAccount" && u.GetName() == "default" ||
		u.GetKind() == "Service" && u.GetName() == "kubernetes"
}

// Events implements ruletest.Place. The comparison skips Events.
func (r *realPlace) Events(context.Context) ([]sim.Event, error) { return nil, nil }

// clear deletes all objects.
func (r *realPlace) clear() {
	r.Helper()
	ctx := context.Background()
	var left []string
	err := wait.PollUntilContextTimeout(ctx, pollInterval, agreement, true, func(context.Context) (bool, error) {
		all, err := r.Objects(ctx)
		left = nil
		for _, u := range all {
			left = append(left, u.GetKind()+"/"+u.GetName())
			if len(u.GetFinalizers()) > 0 {
				_, _ = r.resource(u).Patch(ctx, u.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			}
			_ = r.resource(u).Delete(ctx, u.GetName(), metav1.DeleteOptions{})
		}
		return len(all) == 0 && err == nil, nil
	})
	if err != nil {
		r.Errorf("after %s there still is %v", agreement, left)
	}
}

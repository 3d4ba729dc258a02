package world_test

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/engine/access"
	"reconcel/rules"
)

// A ledger is the client of a controller that notes requests for single objects, before they are sent.
type ledger struct {
	dynamic.Interface
	note func(ledgerEntry)
}

// A ledgerEntry is a request.
type ledgerEntry struct {
	by              string // the impersonated ServiceAccount, or reconcel
	verb            string // that of RBAC
	how             types.PatchType
	resource        runtimeschema.GroupVersionResource
	namespace, name string
	subresource     string
	manager         string
}

func (l ledger) Resource(gvr runtimeschema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return ledgerOf{l.Interface.Resource(gvr), gvr, l.note}
}

type ledgerOf struct {
	dynamic.NamespaceableResourceInterface
	resource runtimeschema.GroupVersionResource
	note     func(ledgerEntry)
}

func (l ledgerOf) Namespace(namespace string) dynamic.ResourceInterface {
	return ledgerIn{l.NamespaceableResourceInterface.Namespace(namespace), l, namespace}
}

type ledgerIn struct {
	dynamic.ResourceInterface
	of        ledgerOf
	namespace string
}

func (l ledgerIn) enter(ctx context.Context, e ledgerEntry, subresources []string) {
	e.by, e.resource, e.namespace, e.subresource = "reconcel", l.of.resource, l.namespace, strings.Join(subresources, "/")
	if account, ok := ctx.Value(access.AccountKey{}).(rules.Account); ok {
		e.by = account.String()
	}
	if e.namespace != "kube-system" { // The installation's own objects.
		l.of.note(e)
	}
}

func (l ledgerIn) Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error) {
	l.enter(ctx, ledgerEntry{verb: "get", name: name}, subresources)
	return l.ResourceInterface.Get(ctx, name, options, subresources...)
}

func (l ledgerIn) Patch(ctx context.Context, name string, how types.PatchType, body []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	l.enter(ctx, ledgerEntry{verb: "patch", how: how, name: name, manager: options.FieldManager}, subresources)
	if _, err := l.ResourceInterface.Get(ctx, name, metav1.GetOptions{}); err != nil && how == types.ApplyPatchType {
		l.enter(ctx, ledgerEntry{verb: "create", how: how, name: name, manager: options.FieldManager}, subresources)
	}
	return l.ResourceInterface.Patch(ctx, name, how, body, options, subresources...)
}

func (l ledgerIn) Delete(ctx context.Context, name string, options metav1.DeleteOptions, subresources ...string) error {
	l.enter(ctx, ledgerEntry{verb: "delete", name: name}, subresources)
	return l.ResourceInterface.Delete(ctx, name, options, subresources...)
}

// emptiable are Things with maps that must not be null.
var emptiable = strings.Replace(briefs, "spec: {type: object, properties: {value: {type: string}}}",
	"spec: {type: object, properties: {value: {type: string}, mode: {type: string}, data: {type: object, additionalProperties: {type: string}}}}", 1) +
	"              data: {type: object, additionalProperties: {type: string}}\n"

// TestWritesAsTheAccount shows who writes for a rule with a ServiceAccount: the account writes all that the rule
// renders, also where an apply alone is not enough, and reconcel the status and its marks on the resource.
func TestWritesAsTheAccount(t *testing.T) {
	var wrote []string
	const rule = `- name: one
  for: {apiVersion: example.com/v1, kind: Thing}
  serviceAccountName: deployer
  teardown: ordered
  patch: {spec: {data: '${self.spec.?mode.orValue("full") == "full" ? {"k": "v"} : {}}'}}
  status: {data: '${self.spec.?mode.orValue("full") == "full" ? {"k": "v"} : {}}'}
  children:
  - id: c
    when: self.spec.?mode.orValue("") != "none"
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {v: '${self.spec.?mode.orValue("")}'}}
`
	w := newBriefWorld(t, emptiable, "- name: other\n  for: {apiVersion: v1, kind: Pod}\n  patch: {metadata: {labels: {a: b}}}\n")
	w.Wrap(func(c dynamic.Interface) dynamic.Interface {
		return ledger{c, func(e ledgerEntry) {
			if e.verb != "get" && e.verb != "create" {
				how := map[types.PatchType]string{types.ApplyPatchType: "apply", types.JSONPatchType: "edit", types.MergePatchType: "merge", "": e.verb}[e.how]
				wrote = append(wrote, strings.TrimSpace(fmt.Sprintf("%s: %s %s %s", e.by, how, path.Join(e.resource.Resource, e.name, e.subresource), e.manager)))
			}
		}}
	})
	become := func(mode string) error {
		_, err := w.things.Patch(t.Context(), "one", types.MergePatchType, []byte(`{"spec":{"mode":"`+mode+`"}}`), metav1.PatchOptions{})
		return err
	}
	expect := func(when string, do func() error, want ...string) {
		t.Helper()
		wrote = nil
		if err := do(); err != nil {
			t.Fatal(err)
		}
		settle(t, w.World)
		slices.Sort(wrote)
		slices.Sort(want)
		if got := slices.Compact(wrote); !slices.Equal(got, want) {
			t.Errorf("%s: writes\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	expect("the start", func() error { return w.RestartWith(t.Context(), briefRules(t, rule)) },
		"default/deployer: apply configmaps/c reconcel",
		"default/deployer: apply things/one reconcel/one",
		"reconcel: apply things/one/status reconcel",
		"reconcel: merge things/one reconcel")
	expect("maps are emptied", func() error { return become("empty") },
		"default/deployer: apply configmaps/c reconcel",
		"default/deployer: apply things/one reconcel/one",
		"default/deployer: edit things/one reconcel/one",
		"reconcel: apply things/one/status reconcel",
		"reconcel: edit things/one/status reconcel")
	expect("a child is dropped", func() error { return become("none") },
		"default/deployer: delete configmaps/c",
		"reconcel: apply things/one/status reconcel")
	expect("the child comes back", func() error { return become("full") },
		"default/deployer: apply configmaps/c reconcel",
		"default/deployer: apply things/one reconcel/one",
		"reconcel: apply things/one/status reconcel")
	expect("the resource is deleted", func() error { return w.things.Delete(t.Context(), "one", deleteOptions) },
		"default/deployer: delete configmaps/c",
		"reconcel: merge things/one reconcel")
}

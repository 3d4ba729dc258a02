//go:build integration

package cli_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"reconcel/test/e2e"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// refitPatience is how long the validation against a new schema may take.
const refitPatience = 30 * time.Second

// TestNewSchema removes a field that rules read from the schema, and restores it.
func TestNewSchema(t *testing.T) {
	t.Parallel()
	k := benchKind("Refitted")
	rule := strings.Replace(k.rule(), "self.spec.?value.orValue('none')", "self.spec.value", 1)
	b := newBench(t, noRules+benchKind("Never").rule(), "--listen=127.0.0.1:0")
	b.establish(k)
	b.write(noRules + rule)
	b.process.Logs("rules reloaded", refitPatience)
	b.example(k, "one")
	b.child("one")
	b.metric("reconcel_rules_valid_for_cluster 1")

	b.edit(k, "other: {type: string}")
	took := b.process.Logs("rules invalid for the cluster", refitPatience)
	t.Logf("found %s after the schema had changed", took.Round(100*time.Millisecond))
	b.process.Logs("undefined field 'value'", time.Second)
	b.metric("reconcel_rules_valid_for_cluster 0")
	b.metric("reconcel_rules_last_reload_successful 1")
	b.event("RulesInvalidForCluster")

	b.edit(k, "value: {type: string}")
	took = b.process.Logs("rules valid for the cluster again", refitPatience)
	t.Logf("mended %s after the schema had changed", took.Round(100*time.Millisecond))
	b.metric("reconcel_rules_valid_for_cluster 1")
	b.example(k, "two")
	b.child("two")
	if n := strings.Count(b.process.Log(), "undefined field 'value'"); n != 1 {
		t.Errorf("what does not fit was said %d times", n)
	}
}

// TestRulesBecomeValidSoon has rules that are invalid for the schema of a kind, which then
// changes.
func TestRulesBecomeValidSoon(t *testing.T) {
	t.Parallel()
	k := benchKind("Widened")
	rule := strings.Replace(k.rule(), "self.spec.?value.orValue('none')", "self.spec.value", 1)
	b := newBench(t, noRules+benchKind("Never").rule(), "--listen=off")
	b.establish(k)
	b.edit(k, "other: {type: string}")
	e2e.Rest(t, 2*time.Second) // Until the OpenAPI document contains the field.
	b.write(noRules + rule)
	b.process.Logs("undefined field 'value'", refitPatience)
	b.edit(k, "value: {type: string}")
	took := b.process.Logs("rules reloaded", refitPatience)
	t.Logf("followed %s after the schema had changed", took.Round(100*time.Millisecond))
	b.example(k, "one")
	b.child("one")
}

// TestNumbersFollowTheSchema has fields that become decimal numbers. Neither the rules nor the resource change.
func TestNumbersFollowTheSchema(t *testing.T) {
	t.Parallel()
	k := benchKind("Numbered")
	rule := strings.Replace(k.rule(), "self.spec.?value.orValue('none')", "string(self.spec.value / self.spec.by)", 1)
	b := newBench(t, noRules+rule, "--listen=off")
	spec := func(kind string) string { return fmt.Sprintf("value: {type: %[1]s}, by: {type: %[1]s}", kind) }
	quotient := func(want string) time.Time {
		t.Helper()
		return b.soon("a quotient of "+want, func() error {
			u, err := b.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(b.namespace).Get(b.Context(), "one", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got, _, _ := unstructured.NestedString(u.Object, "data", "value"); got != want {
				return fmt.Errorf("it is %s", got)
			}
			return nil
		})
	}
	b.establish(k) // After the rules are active.
	b.edit(k, spec("number"))
	started := time.Now()
	b.create(k.resource(), b.namespace, fmt.Sprintf("{apiVersion: %s/v1, kind: %s, metadata: {name: one}, spec: {value: 3, by: 2}}", k.resource().Group, k))
	t.Logf("decimal numbers %s after the kind had come", quotient("1.5").Sub(started).Round(100*time.Millisecond))
	b.edit(k, spec("integer"))
	quotient("1")
	b.edit(k, spec("number"))
	quotient("1.5")
}

// edit replaces the spec schema of a kind.
func (b *bench) edit(k benchKind, spec string) {
	b.Helper()
	name := k.plural() + "." + k.resource().Group
	b.soon("edit "+name, func() error {
		live, err := b.client.Resource(benchCRDs).Get(b.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(k.crd(spec)), &u.Object); err != nil {
			return err
		}
		u.SetResourceVersion(live.GetResourceVersion())
		_, err = b.client.Resource(benchCRDs).Update(b.Context(), u, metav1.UpdateOptions{})
		return err
	})
}

var listening = regexp.MustCompile(`listen=(\S+)`)

// metric waits until the process exposes a metric with this value.
func (b *bench) metric(line string) {
	b.Helper()
	b.soon("metric "+line, func() error {
		at := listening.FindStringSubmatch(b.process.Log())
		if at == nil {
			return errors.New("it is not said where they are")
		}
		response, err := http.Get("http://" + at[1] + "/metrics")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), "\n"+line+"\n") {
			return errors.New("it is not there")
		}
		return nil
	})
}

func (b *bench) event(reason string) {
	b.Helper()
	events := b.client.Resource(schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}).Namespace(b.namespace)
	b.soon("Event "+reason, func() error {
		list, err := events.List(b.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if got, _, _ := unstructured.NestedString(list.Items[i].Object, "reason"); got == reason {
				return nil
			}
		}
		return fmt.Errorf("not among %d", len(list.Items))
	})
}

//go:build integration

package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/test/e2e"
	"reconcel/test/oracle"
	"reconcel/test/soak"
)

// poison is a spec that makes an expression fail, or that would take all time and memory.
type poison struct {
	Name string
	Expr string // the value, if spec.poison has the name
	Says string // in the condition

	seen *oracle.Selection
	box  string
}

func (p *poison) String() string { return p.Name }

// The text is as long as a spec may be.
var poisons = []*poison{
	{Name: "type", Expr: `string(self.spec.text + 1)`, Says: "'+' does not take (string, integer)"},
	{Name: "uint", Expr: `dyn(18446744073709551615u)`, Says: "number this large"},
	{Name: "bytes", Expr: `dyn(b'x')`, Says: "type bytes"},
	{Name: "nan", Expr: `dyn(0.0 / double(self.spec.zero))`, Says: "NaN"},
	{Name: "cost", Expr: `string(size(lists.range(500).map(a, lists.range(500).map(b, lists.range(500).map(c, a + b + c)))))`, Says: "budget"},
	{Name: "replace", Expr: `self.spec.text.replace('', self.spec.text)`, Says: "256 KiB"},
	{Name: "join", Expr: `lists.range(500).map(i, self.spec.text).join(',')`, Says: "256 KiB"},
	{Name: "format", Expr: `'%s%s%s%s%s%s%s%s'.format([self.spec.text, self.spec.text, self.spec.text, self.spec.text, self.spec.text, self.spec.text, self.spec.text, self.spec.text])`, Says: "256 KiB"},
	{Name: "range", Expr: `string(size(lists.range(2147483647 + self.spec.zero)))`, Says: "lists.range"},
	{Name: "many", Says: "more than 500 objects"},
	{Name: "name", Says: "the name may contain"},
}

// poisonRules give every Box a ConfigMap, and those with spec.all a child for each
// poison.
func poisonRules(name string) string {
	var b strings.Builder
	b.WriteString(`apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: RULE
  for: {apiVersion: faults.reconcel.dev/v1, kind: Box, namespaces: ["RULE-*"]}
  let: {poison: "self.spec.?poison.orValue('')", all: "self.spec.?all.orValue(false)"}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-config"}, data: {value: "${self.spec.value}"}}
  - id: many
    when: all
    forEach: [{name: i, in: "lists.range(poison == 'many' ? 500 : 1)"}, {name: k, in: "lists.range(poison == 'many' ? 20 : 1)"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-${string(i)}-${string(k)}"}}
  - id: named
    when: all
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-${poison == 'name' ? 'B_' : 'named'}"}}
`)
	for _, p := range poisons {
		if p.Expr != "" {
			fmt.Fprintf(&b, `  - id: of_%s
    when: all
    template: {apiVersion: faults.reconcel.dev/v1, kind: Bin, metadata: {name: "${self.metadata.name}-%[1]s"}, spec: {value: "${poison == '%[1]s' ? %[2]s : dyn('fine')}"}}
`, p.Name, p.Expr)
		}
	}
	return strings.ReplaceAll(b.String(), "RULE", name)
}

// poisoning is a namespace with a Box for each poison among many others.
type poisoning struct {
	*e2e.World
	seen    *oracle.Selection
	healthy int
}

const longestPoison = 5 * time.Second

// poisoned makes some of many primaries poisonous at the same time. They report it soon
// and keep their children, the others go on, and the process stays small.
func (s *stage) poisoned(t *testing.T) {
	const name = "poison"
	w := &poisoning{World: s.world.Within(t), healthy: 60}
	if soak.Enabled() {
		w.healthy = 1000
	}
	w.World = w.Beside(w.CreateNamespace(name + "-"))
	history := oracle.Observe(t, w.Client, observedResources...)
	w.seen = history.Select(oracle.NewNames(nil), func(k oracle.Key) bool { return k.Namespace == w.Namespace })
	control := s.newController(t, name, poisonRules(name), again)
	for _, p := range poisons {
		p.box = "p" + p.Name
		p.seen = history.Select(oracle.NewNames(nil), func(k oracle.Key) bool {
			return k.Namespace == w.Namespace && strings.HasPrefix(k.Name, p.box+"-")
		})
		w.Create(fmt.Sprintf("{apiVersion: faults.reconcel.dev/v1, kind: Box, metadata: {name: %s}, spec: {value: one, all: true, zero: 0, text: %s}}", p.box, strings.Repeat("x", 100_000)))
	}
	for i := range w.healthy {
		w.Create(fmt.Sprintf("{apiVersion: faults.reconcel.dev/v1, kind: Box, metadata: {name: h%d}, spec: {value: one}}", i))
	}
	for _, p := range poisons {
		w.Is(faultKinds["Box"], p.box, "Ready", "True")
	}
	memory := peak(t, control)
	// A busy machine slows everything down, so the others are slow only if they are slow
	// three times.
	var calm, among, most time.Duration
	for range 3 {
		calm = w.spread("calm")
		among = w.spreadAmongPoison()
		most = 3*calm/2 + time.Second
		t.Logf("%d others: the slowest change took %s before and %s among poison", w.healthy, calm, among)
		if among <= most {
			break
		}
	}
	if among > most {
		t.Errorf("the others took %s, and %s without poison", among, calm)
	}
	rise := peak(t, control) - memory
	t.Logf("the memory rose by %d MiB", rise>>10)
	if rise > 100<<10 {
		t.Errorf("the memory rose by %d KiB", rise)
	}
	if control.process.Ended() || control.process.Logged("panic") {
		t.Error("the process ended or panicked")
	}
}

// spreadAmongPoison changes all others while some primaries are poisonous. These report it,
// keep their children, and recover.
func (w *poisoning) spreadAmongPoison() time.Duration {
	w.Helper()
	children := map[string]map[oracle.Key]string{}
	for _, p := range poisons {
		children[p.Name] = p.seen.Versions()
	}
	untouched := func(p *poison) {
		if found := oracle.Untouched(children[p.Name], p.seen.Versions()); len(found) > 0 {
			w.Errorf("%s: %v", p, found)
		}
	}
	for _, p := range poisons {
		w.Patch(faultKinds["Box"], p.box, fmt.Sprintf(`{"spec":{"poison":%q}}`, p.Name))
	}
	began := time.Now()
	took := w.spread("poison")
	sideBySide(w.T, poisons, func(ctx context.Context, p *poison) error { return w.reports(ctx, p, began) })
	for _, p := range poisons {
		untouched(p)
	}
	for _, p := range poisons {
		w.Patch(faultKinds["Box"], p.box, `{"spec":{"poison":null}}`)
		w.Is(faultKinds["Box"], p.box, "Ready", "True")
		untouched(p)
	}
	return took
}

// spread changes all others, and returns how long it takes until all children follow.
func (w *poisoning) spread(value string) time.Duration {
	w.Helper()
	began := time.Now()
	for i := range w.healthy {
		w.Patch(faultKinds["Box"], fmt.Sprintf("h%d", i), fmt.Sprintf(`{"spec":{"value":%q}}`, value))
	}
	w.Eventually("the children of the others to be "+value, func() error {
		for i := range w.healthy {
			u := w.seen.Live(oracle.Key{Kind: "ConfigMap", Namespace: w.Namespace, Name: fmt.Sprintf("h%d-config", i)})
			if u == nil {
				return errors.New("one does not exist")
			}
			if got, _, _ := unstructured.NestedString(u.Object, "data", "value"); got != value {
				return fmt.Errorf("one is %s", got)
			}
		}
		return nil
	})
	return time.Since(began).Round(time.Millisecond)
}

// reports waits until a poisonous primary is stalled. It must be so in time.
func (w *poisoning) reports(ctx context.Context, p *poison, since time.Time) error {
	return await(ctx, "the condition", func() error {
		u := w.seen.Live(oracle.Key{Kind: "Box", Namespace: w.Namespace, Name: p.box})
		if err := e2e.Condition(u, "Stalled", "True"); err != nil {
			return err
		}
		text, err := json.Marshal(u.Object["status"])
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), "RuleError") || !strings.Contains(string(text), p.Says) {
			return fmt.Errorf("it says %s", text)
		}
		stalled := stalledSince(u)
		if took := stalled.Sub(since); took > longestPoison {
			w.Errorf("%s: the primary was stalled after %s", p, took)
		}
		return nil
	})
}

// stalledSince returns when the primary became stalled, to the second.
func stalledSince(u *unstructured.Unstructured) time.Time {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	i := slices.IndexFunc(conditions, func(c any) bool { return c.(map[string]any)["type"] == "Stalled" })
	at, _ := time.Parse(time.RFC3339, conditions[i].(map[string]any)["lastTransitionTime"].(string)) // The API server has checked it.
	return at
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak returns the highest memory use of the process so far, in KiB.
func peak(t *testing.T, c *controller) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.process.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	found := highWater.FindSubmatch(text)
	if found == nil {
		t.Fatalf("no VmHWM in %s", text)
	}
	kibibytes, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kibibytes
}

package ecosystem

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"reconcel/rules/syntax"
)

// states are resources as reconcel reports them, and the health that Argo CD and Flux
// must see. "" is an error, with which Flux goes on waiting.
var states = []struct {
	name, status, argo, flux string
}{
	{"no status", ``, "Progressing", ""},
	{"a status of its own alone", `{replicas: 1}`, "Progressing", ""},
	{"not reported yet", `{conditions: []}`, "Progressing", "InProgress"},
	{"ready", `{conditions: [{type: Ready, status: "True", observedGeneration: 3, message: ok}]}`, "Healthy", "Current"},
	{"ready before the last change", `{conditions: [{type: Ready, status: "True", observedGeneration: 2}]}`, "Progressing", "InProgress"},
	{"on its way", `{conditions: [{type: Ready, status: "False", observedGeneration: 3}, {type: Reconciling, status: "True", observedGeneration: 3}]}`, "Progressing", "InProgress"},
	{"stalled", `{conditions: [{type: Ready, status: "False", observedGeneration: 3}, {type: Stalled, status: "True", observedGeneration: 3, message: no quota}]}`, "Degraded", "Failed"},
	{"stalled, in another order", `{conditions: [{type: Stalled, status: "True", observedGeneration: 3}, {type: Ready, status: "False", observedGeneration: 3}]}`, "Degraded", "Failed"},
	{"stalled before the last change", `{conditions: [{type: Ready, status: "False", observedGeneration: 2}, {type: Stalled, status: "True", observedGeneration: 2}]}`, "Progressing", "InProgress"},
	{"paused", `{conditions: [{type: Ready, status: Unknown, observedGeneration: 3, reason: Paused}]}`, "Suspended", "InProgress"},
	{"ready with a kept object", `{conditions: [{type: Ready, status: "True", observedGeneration: 3}, {type: Kept, status: "True", observedGeneration: 3}]}`, "Healthy", "Current"},
}

// TestHealthInArgo runs the script of the page as Argo CD does: with these libraries, and
// the object as obj.
func TestHealthInArgo(t *testing.T) {
	script := argoScript(t)
	for _, state := range states {
		t.Run(state.name, func(t *testing.T) {
			if got := argoHealth(t, script, resource(t, state.status)); got != state.argo {
				t.Errorf("got %s, want %s", got, state.argo)
			}
		})
	}
}

// argoScript returns the script of the page.
func argoScript(t *testing.T) string {
	t.Helper()
	var config struct{ Data map[string]string }
	snippet(t, "argocd-cm", &config)
	const key = "resource.customizations.health.samplecontroller.k8s.io_Foo"
	if config.Data[key] == "" {
		t.Fatalf("no %s", key)
	}
	return config.Data[key]
}

// argoHealth returns what a script says about an object.
func argoHealth(t *testing.T, script string, object map[string]any) string {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{
		lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString,
	} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	l.SetContext(t.Context())
	l.SetGlobal("obj", luaValue(l, object))
	if err := l.DoString(script); err != nil {
		t.Fatal(err)
	}
	health, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns %s", l.Get(-1))
	}
	return health.RawGetString("status").String()
}

// luaValue converts JSON, as Argo CD does.
func luaValue(l *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, v := range value {
			table.RawSetString(key, luaValue(l, v))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, v := range value {
			table.Append(luaValue(l, v))
		}
		return table
	case string:
		return lua.LString(value)
	case int64:
		return lua.LNumber(value)
	case bool:
		return lua.LBool(value)
	}
	return lua.LNil
}

// TestHealthInFlux evaluates the expressions of the page with Flux's own evaluator.
func TestHealthInFlux(t *testing.T) {
	var applied struct {
		Spec struct{ HealthCheckExprs []kustomize.CustomHealthCheck }
	}
	snippet(t, "Kustomization", &applied)
	if len(applied.Spec.HealthCheckExprs) != 1 {
		t.Fatalf("got %+v", applied)
	}
	check := applied.Spec.HealthCheckExprs[0]
	foo := resource(t, "")
	if check.APIVersion != foo["apiVersion"] || check.Kind != foo["kind"] {
		t.Errorf("for %s %s", check.APIVersion, check.Kind)
	}
	evaluator, err := cel.NewStatusEvaluator(&check.HealthCheckExpressions)
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range states {
		t.Run(state.name, func(t *testing.T) {
			result, err := evaluator.Evaluate(t.Context(), &unstructured.Unstructured{Object: resource(t, state.status)})
			got := ""
			if err == nil {
				got = string(result.Status)
			}
			if got != state.flux {
				t.Errorf("got %q (%v), want %q", got, err, state.flux)
			}
		})
	}
}

// TestHealthOfRules holds that the page checks Rules as it does resources.
func TestHealthOfRules(t *testing.T) {
	var resources, rules struct {
		Spec struct{ HealthCheckExprs []kustomize.CustomHealthCheck }
	}
	snippet(t, "Kustomization", &resources)
	snippet(t, "kind: Rules", &rules)
	if len(rules.Spec.HealthCheckExprs) != 1 {
		t.Fatalf("got %+v", rules)
	}
	got, want := rules.Spec.HealthCheckExprs[0], resources.Spec.HealthCheckExprs[0]
	if got.HealthCheckExpressions != want.HealthCheckExpressions || got.APIVersion != syntax.APIVersion || got.Kind != syntax.Kind {
		t.Errorf("got %+v, want the expressions of %+v", got, want)
	}
}

// resource returns a Foo of generation 3 with a status.
func resource(t *testing.T, status string) map[string]any {
	t.Helper()
	text := "{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, metadata: {name: a, generation: 3}}"
	if status != "" {
		text = strings.TrimSuffix(text, "}") + ", status: " + status + "}"
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u.Object
}

// snippet decodes the block of YAML on the page about GitOps that contains a word.
func snippet(t *testing.T, word string, into any) {
	t.Helper()
	blocks := strings.Split(string(readFile(t, "../../docs/how-to/gitops.md")), "```")
	for i := 1; i < len(blocks); i += 2 {
		if text, isYAML := strings.CutPrefix(blocks[i], "yaml\n"); isYAML && strings.Contains(text, word) {
			if err := yaml.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("the page has no block of YAML with %s", word)
}

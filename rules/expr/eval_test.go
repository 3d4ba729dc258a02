package expr

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"reconcel/rules/source"
)

type variables map[string]any

func (v variables) ResolveName(name string) (any, bool) { x, ok := v[name]; return x, ok }

func (v variables) Parent() interpreter.Activation { return nil }

type object = map[string]any

type list = []any

// world is the data of the expressions below: a primary and a Deployment without status,
// a Service that does not exist, and Pods, one of them without an address.
func world() variables {
	return variables{
		"self": object{
			"metadata": object{"name": "web", "labels": object{"app.kubernetes.io/name": "shop"}},
			"spec": object{
				"replicas": int64(3), "image": "nginx", "key": "ready", "empty": list{}, "nothing": nil,
				"workers": list{object{"name": "a", "size": int64(1)}, object{"name": "b"}},
			},
		},
		"deployment": object{
			"metadata": object{"name": "web", "annotations": object{"a/b": "x"}},
			"spec":     object{"replicas": int64(3)},
			"status":   object{"replicas": int64(2), "conditions": list{object{"type": "Available", "status": "True"}, object{"type": "Progressing"}}},
		},
		"service": NewUnknown("service"),
		"pods": list{
			object{"metadata": object{"name": "p0"}, "status": object{"podIP": "10.0.0.1", "phase": "Running"}},
			object{"metadata": object{"name": "p1"}, "status": object{"phase": "Pending"}},
		},
	}
}

func shapes() map[string]*Shape {
	return map[string]*Shape{
		"self": Self("self"), "deployment": Live("deployment"), "service": Live("service"), "pods": Live("pods"),
	}
}

// compile compiles an expression that reads the variables of the world and the lets in
// known.
func compile(t testing.TB, src string, known map[string]*Shape) *Program {
	t.Helper()
	p, err := tryCompile(src, known)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func tryCompile(src string, known map[string]*Shape) (*Program, error) {
	scope, err := NewScope(slices.Collect(maps.Keys(known))...)
	if err != nil {
		return nil, err
	}
	c, issues := scope.Check(&source.Expr{Text: src, Pos: source.Pos{File: "rules.yaml", Line: 1, Column: 1},
		Beside: []source.TextFile{{Path: "motd.txt", Text: "hello"}}}, Any)
	if issues != nil {
		return nil, fmt.Errorf("%s: %+v", src, issues)
	}
	p, wrong := c.Program(known)
	if wrong != nil {
		return nil, wrong
	}
	if !p.Loops() {
		metered, wrong := c.plan(c.analyze(known), &meter{math.MaxUint64})
		if wrong != nil {
			return nil, wrong
		}
		metered.path = nil // It evaluates fields as CEL does.
		meteredTwins.Store(p, metered)
	}
	return p, nil
}

// show prints a result in the notation of the tables below.
func show(v ref.Val, err *Error) string {
	if err != nil {
		return "error " + err.Pos.String() + " " + err.Message
	}
	if u, ok := v.(*types.Unknown); ok {
		return "waits " + strings.Join(Trails(u), " ")
	}
	if o, ok := v.(*types.Optional); ok && !o.HasValue() {
		return "none"
	}
	out, err2 := (&Appender{}).Append(nil, v)
	if err2 != nil {
		return "json " + err2.Error()
	}
	return string(out)
}

// worked are variables of a rule, whose work is added up.
type worked struct {
	variables
	work  int
	spent uint64
}

func (w *worked) Work(n int) bool { w.work += n; return w.work <= MaxWork }

func (w *worked) Name() bool { return true }

func (w *worked) Excluded(*types.Unknown) bool { return false }

func (w *worked) Spend(cost uint64) uint64 { w.spent += cost; return w.spent }

// eval evaluates a program. One without loops gives the same if its cost is counted.
func eval(t testing.TB, p *Program, vars variables) string {
	t.Helper()
	evaluate := func(p *Program) string {
		frame, err := interpreter.NewExecutionFrame(&worked{variables: vars})
		if err != nil {
			t.Fatal(err)
		}
		defer frame.Close()
		return show(p.Eval(frame))
	}
	got := evaluate(p)
	if metered, ok := meteredTwins.Load(p); ok {
		if counted := evaluate(metered.(*Program)); counted != got {
			t.Errorf("%s\n gives %s\ncounted %s", p.Text(), got, counted)
		}
	}
	return got
}

// meteredTwins are programs without loops, planned as if they were in one.
var meteredTwins sync.Map

func TestValuesThatAreThere(t *testing.T) {
	for src, want := range map[string]string{
		`self.spec.replicas`:                                      `3`,
		`self.spec.replicas * 2 + 1`:                              `7`,
		`self.spec["image"]`:                                      `"nginx"`,
		"self.metadata.labels.`app.kubernetes.io/name`":           `"shop"`,
		"self.metadata.labels.?`app.kubernetes.io/nope`":          `none`,
		"deployment.metadata.annotations.`a/b`":                   `"x"`,
		`has(self.spec.image)`:                                    `true`,
		`has(self.spec.nope)`:                                     `false`,
		`self.spec.?nope`:                                         `none`,
		`self.spec.?nope.orValue("d")`:                            `"d"`,
		`self.spec.?nope.?deeper.orValue("d")`:                    `"d"`,
		`self.?spec.?replicas.orValue(1)`:                         `3`,
		`"a-" + self.spec.image`:                                  `"a-nginx"`,
		`self.spec.workers.map(w, w.name)`:                        `["a","b"]`,
		`self.spec.workers.filter(w, has(w.size))[0].name`:        `"a"`,
		`self.spec.workers.exists(w, w.name == "b")`:              `true`,
		`self.spec.workers.transformList(i, w, string(i)+w.name)`: `["0a","1b"]`,
		`{"a": self.spec.replicas, "b": self.spec.image}`:         `{"a":3,"b":"nginx"}`,
		`{?"a": self.spec.?nope, "b": 1}`:                         `{"b":1}`,
		`[?self.spec.?nope, 1]`:                                   `[1]`,
		`self.spec.nothing`:                                       `null`,
		`self.spec.nothing.?x`:                                    `none`,
		`self.spec.?nothing`:                                      `none`,
		`self.spec.?nothing.?x.orValue("d")`:                      `"d"`,
		`self.spec[?"nothing"].orValue([])`:                       `[]`,
		`self.spec.?nothing.hasValue()`:                           `false`,
		`has(self.spec.nothing)`:                                  `false`,
		`self.spec.nothing == null && "nothing" in self.spec`:     `true`,
		`json.unmarshal("{\"a\":null}").?a.orValue(1)`:            `1`,
		`[1, null].map(x, [x])[1][?0]`:                            `none`,
		`self.spec.empty`:                                         `[]`,
		`self.spec`:                                               `{"empty":[],"image":"nginx","key":"ready","nothing":null,"replicas":3,"workers":[{"name":"a","size":1},{"name":"b"}]}`,
		`cel.bind(r, self.spec.replicas, r + r)`:                  `6`,
		`self.spec.?replicas.optMap(r, r + 1).orValue(0)`:         `4`,
		`quantity("1Gi").isGreaterThan(quantity("1Mi"))`:          `true`,
		`lists.range(3)`:                                          `[0,1,2]`,
		`math.greatest(1, self.spec.replicas)`:                    `3`,
		`deployment.status.replicas == 2`:                         `true`,
		`deployment.status.replicas == 2.0`:                       `true`,
		`timestamp("2024-01-02T03:04:05Z") + duration("1h")`:      `"2024-01-02T04:04:05Z"`,
		`duration("90s")`:                                         `"90s"`,
	} {
		if got := eval(t, compile(t, src, shapes()), world()); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

func TestWaitingForMissingValues(t *testing.T) {
	for src, want := range map[string]string{
		// A field of a live object.
		`deployment.status.availableReplicas`:                 `waits deployment.status.availableReplicas`,
		`deployment.status.deeper.still`:                      `waits deployment.status.deeper.still`,
		`deployment.status.availableReplicas + 1`:             `waits deployment.status.availableReplicas`,
		`"ip-" + deployment.status.ip`:                        `waits deployment.status.ip`,
		`string(deployment.status.availableReplicas)`:         `waits deployment.status.availableReplicas`,
		"deployment.metadata.labels.`app.kubernetes.io/name`": `waits deployment.metadata.labels["app.kubernetes.io/name"]`,
		`deployment.metadata.annotations["c/d"]`:              `waits deployment.metadata.annotations["c/d"]`,
		`deployment.status[self.spec.key]`:                    `waits deployment.status["ready"]`,
		`deployment.status[deployment.metadata.name]`:         `waits deployment.status[]`, // The key might be the value of a Secret.
		`deployment.status["re" + "ady"]`:                     `waits deployment.status[]`,
		`deployment.status.conditions[7].status`:              `waits deployment.status.conditions[7].status`,
		`deployment.status.conditions[1].status`:              `waits deployment.status.conditions[1].status`,
		`{"a": deployment.status.availableReplicas, "b": 1}`:  `waits deployment.status.availableReplicas`,
		`[1, deployment.status.a, deployment.status.b]`:       `waits deployment.status.a deployment.status.b`,
		`deployment.status.a == deployment.status.b`:          `waits deployment.status.a deployment.status.b`,
		`deployment.status.a > 1 ? 1 : 2`:                     `waits deployment.status.a`,
		`true ? deployment.status.a : 2`:                      `waits deployment.status.a`,
		`(true ? deployment : service).status.a`:              `waits deployment.status.a service.status.a`,
		`deployment.status.a in [1, 2]`:                       `waits deployment.status.a`,
		`size(deployment.status.list)`:                        `waits deployment.status.list`,
		`!(deployment.status.a > 1)`:                          `waits deployment.status.a`,
		// An object that does not exist.
		`service`:                              `waits service`,
		`service.metadata.name`:                `waits service.metadata.name`,
		`service.spec.ports[0].nodePort`:       `waits service.spec.ports[0].nodePort`,
		`service == null`:                      `waits service`,
		`"http://" + service.spec.clusterIP`:   `waits service.spec.clusterIP`,
		`{"svc": service}`:                     `waits service`,
		`service.spec[deployment.status.nope]`: `waits service.spec[]`,
		// The primary's status before its first write.
		`self.status`:                  `waits self.status`,
		`self.status.phase`:            `waits self.status.phase`,
		`self.status.phase == "Ready"`: `waits self.status.phase`,
		// Elements of lists.
		`pods.map(p, p.status.podIP)`:                                    `waits pods["p1"].status.podIP`,
		`pods.filter(p, p.status.podIP != "")`:                           `waits pods["p1"].status.podIP`,
		`pods.all(p, p.status.podIP != "")`:                              `waits pods["p1"].status.podIP`,
		`pods[1].status.podIP`:                                           `waits pods[1].status.podIP`,
		`pods.filter(p, p.metadata.name == "p7")[0].metadata.uid`:        `waits pods[].metadata.uid`,
		`pods.filter(p, p.status.podIP != "")[?0]`:                       `waits pods["p1"].status.podIP`,
		`pods[5].metadata.name`:                                          `waits pods[5].metadata.name`,
		`pods.map(p, p.status).map(s, s.podIP)`:                          `waits pods[].status.podIP`,
		`pods.filter(p, p.metadata.name == "p1")[0].status.podIP`:        `waits pods[].status.podIP`,
		`pods.transformList(i, p, p.status.podIP)`:                       `waits pods["p1"].status.podIP`,
		`pods.sortBy(p, p.metadata.name)[1].status.podIP`:                `waits pods[].status.podIP`,
		`deployment.status.conditions.map(c, c.status)`:                  `waits deployment.status.conditions[].status`,
		`deployment.status.conditions.filter(c, c.reason == "x").size()`: `waits deployment.status.conditions[].reason`,
		`deployment.status.nope.map(c, c.status)`:                        `waits deployment.status.nope`,
		`{"list": pods}.list[1].status.podIP`:                            `waits pods[1].status.podIP`,
		`cel.bind(s, deployment.status, s.a)`:                            `waits deployment.status.a`,
		`cel.bind(s, service.status, s.a)`:                               `waits service.status.a`,
		`deployment.?status.optMap(s, s.a)`:                              `waits deployment.status.a`,
		`deployment.?nope.orValue(deployment.status).a`:                  `waits deployment.nope.a deployment.status.a`,
		`deployment.?status.value().a`:                                   `waits deployment.status.a`,
	} {
		if got := eval(t, compile(t, src, shapes()), world()); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

func TestDecidedWithoutUnknownValues(t *testing.T) {
	for src, want := range map[string]string{
		`deployment.status.?availableReplicas`:            `none`,
		`deployment.status.?availableReplicas.orValue(0)`: `0`,
		`deployment.?nope.?deeper.?still.orValue(7)`:      `7`,
		`service.?status`: `none`,
		`service.?status.?loadBalancer.orValue({})`:                  `{}`,
		`service.spec.?clusterIP.orValue("-")`:                       `"-"`,
		`service.?spec.clusterIP.orValue("-")`:                       `"-"`,
		`service[?"spec"].orValue(1)`:                                `1`,
		`has(service.status)`:                                        `false`,
		`has(service.status.loadBalancer.ingress)`:                   `false`,
		`has(deployment.status.availableReplicas)`:                   `false`,
		`has(deployment.status.nope.nope)`:                           `false`,
		`has(deployment.status.replicas)`:                            `true`,
		`has(self.status)`:                                           `false`,
		`has(self.status.phase)`:                                     `false`,
		`self.?status.?phase.orValue("New")`:                         `"New"`,
		`self.status.?phase.orValue("New")`:                          `"New"`,
		`false && deployment.status.a > 1`:                           `false`,
		`deployment.status.a > 1 && false`:                           `false`,
		`true || deployment.status.a > 1`:                            `true`,
		`deployment.status.a > 1 || true`:                            `true`,
		`has(service.status) && service.status.a == 1`:               `false`,
		`has(service.status) ? service.status.a : 5`:                 `5`,
		`false ? deployment.status.a : 2`:                            `2`,
		`pods.exists(p, p.status.podIP == "10.0.0.1")`:               `true`,
		`pods.all(p, p.status.podIP == "x")`:                         `false`,
		`pods.filter(p, has(p.status.podIP)).map(p, p.status.podIP)`: `["10.0.0.1"]`,
		`pods.map(p, p.status.?podIP.orValue("?"))`:                  `["10.0.0.1","?"]`,
		`pods.map(p, p.metadata.name)`:                               `["p0","p1"]`,
		`size(pods)`:                                                 `2`,
		`deployment.status.conditions.exists(c, c.type == "Available" && c.status == "True")`: `true`,
		`[?deployment.status.?a, 1]`:                     `[1]`,
		`{?"a": service.?spec, "b": 1}`:                  `{"b":1}`,
		`deployment.?status.?a.hasValue()`:               `false`,
		`cel.bind(s, service, s.?spec.hasValue())`:       `false`,
		`(true ? service : deployment).?spec.hasValue()`: `false`,
		`service.?status.optMap(s, s.a).orValue(1)`:      `1`,
	} {
		if got := eval(t, compile(t, src, shapes()), world()); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for src, want := range map[string]string{
		`self.spec.replcas`:                              `error rules.yaml:1:10 no such key: replcas`,
		`self.spec.nope.deeper`:                          `error rules.yaml:1:10 no such key: nope`,
		`self.spec["nope"]`:                              `error rules.yaml:1:10 no such key: nope`,
		`"x" + self.spec.nope`:                           `error rules.yaml:1:16 no such key: nope`,
		`has(self.spec.nope.deeper)`:                     `error rules.yaml:1:14 no such key: nope`,
		`self.spec.workers.map(w, w.size)`:               `error rules.yaml:1:27 no such key: size`,
		`self.spec.workers[9]`:                           `error rules.yaml:1:18 index out of bounds`,
		`self.spec[self.spec.image]`:                     `error rules.yaml:1:10 no such key`,
		`1 / (self.spec.replicas - 3)`:                   `error rules.yaml:1:3 division by zero`,
		`int(self.spec.image)`:                           `error rules.yaml:1:4 int() failed: it does not take this value`,
		`timestamp(self.spec.image)`:                     `error rules.yaml:1:10 timestamp() failed: it does not take this value`,
		`self.spec.image + 1`:                            `error rules.yaml:1:17 '+' does not take (string, integer) (to join texts, write string(...) around the integer)`,
		`quantity(self.spec.image)`:                      `error rules.yaml:1:9 quantity() failed: it does not take this value`,
		`deployment.metadata.name.first`:                 `error rules.yaml:1:25 no such key: first`,
		`deployment.status.replicas.x`:                   `error rules.yaml:1:27 no such key: x`,
		`deployment.status.conditions["x"].y`:            `error rules.yaml:1:29 the value cannot be indexed like this`,
		`self.spec.nope + deployment.status.a`:           `error rules.yaml:1:10 no such key: nope`,
		`[self.spec.nope, deployment.status.a]`:          `error rules.yaml:1:11 no such key: nope`,
		`lists.range(self.spec.replicas * 1000)`:         `error rules.yaml:1:12 lists.range() would make more than 500 elements; the maxObjects of a child allows up to 5000`,
		`self.spec.image.matches(self.spec.image + "(")`: `error rules.yaml:1:24 matches() failed: it does not take this value`,
	} {
		if got := eval(t, compile(t, src, shapes()), world()); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

func TestAliases(t *testing.T) {
	lets := []struct{ name, src string }{
		{"d", `deployment`},
		{"status", `deployment.status`},
		{"me", `self`},
		{"missing", `deployment.status.a`},
		{"both", `{"s": service, "p": pods}`},
		{"two", `{"d": deployment, "p": pods}`},
		{"chosen", `self.spec.replicas > 1 ? deployment : service`},
		{"maybe", `service.?status`},
		{"first", `pods[0]`},
	}
	known, vars := shapes(), world()
	for _, l := range lets {
		p := compile(t, l.src, known)
		known[l.name] = p.Shape()
		frame, _ := interpreter.NewExecutionFrame(vars)
		v, err := p.Eval(frame)
		if err != nil {
			t.Fatal(err)
		}
		vars[l.name] = v
	}
	for src, want := range map[string]string{
		`d.status.a`:                     `waits deployment.status.a`,
		`d.status.?a.orValue(1)`:         `1`,
		`has(d.status.a)`:                `false`,
		`status.a`:                       `waits deployment.status.a`,
		`status.replicas`:                `2`,
		`me.spec.nope`:                   `error rules.yaml:1:8 no such key: nope`,
		`me.status.phase`:                `waits self.status.phase`,
		`me.?status.?phase.orValue("n")`: `"n"`,
		`missing`:                        `waits deployment.status.a`,
		`missing.b`:                      `waits deployment.status.a.b`,
		`missing.?b.orValue(1)`:          `1`,
		`has(missing.b)`:                 `false`,
		`both`:                           `waits service`,
		`both.p`:                         `waits service`, // A literal that contains an unknown is unknown.
		`both.?p.orValue(1)`:             `waits service`, // Even without a p.
		`has(both.p)`:                    `waits service`,
		`two.p[1].status.podIP`:          `waits pods[1].status.podIP`,
		`two.nope`:                       `error rules.yaml:1:4 no such key: nope`,
		`chosen.status.replicas`:         `2`,
		`chosen.status.a`:                `waits deployment.status.a service.status.a`,
		`maybe.orValue({}).size()`:       `0`,
		`first.status.podIP`:             `"10.0.0.1"`,
		`first.status.nope`:              `waits pods[0].status.nope`,
	} {
		if got := eval(t, compile(t, src, known), vars); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

package expr

import (
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// itemsWorld is the world with a list of live objects, a list that is still empty, and an
// element of the first list.
func itemsWorld(t *testing.T) (map[string]*Shape, variables) {
	t.Helper()
	known, vars := shapes(), world()
	known["pods"], known["none"] = Items("pods"), Items("none")
	vars["none"] = list{}
	for _, it := range []struct{ name, in string }{{"pod", `pods`}, {"worker", `self.spec.workers`}, {"address", `pods.map(p, p.status.?podIP)`}} {
		p := compile(t, it.in, known)
		frame, _ := interpreter.NewExecutionFrame(vars)
		v, err := p.Eval(frame)
		if err != nil {
			t.Fatal(err)
		}
		known[it.name] = p.Shape().Any()
		vars[it.name] = v.(traits.Lister).Get(types.Int(1))
		frame.Close()
	}
	known["index"], vars["index"] = nil, int64(1)
	return known, vars
}

func TestListsOfLiveObjects(t *testing.T) {
	known, vars := itemsWorld(t)
	for src, want := range map[string]string{
		// The list is known.
		`size(pods)`:                   `2`,
		`pods.size() == 2`:             `true`,
		`none`:                         `[]`,
		`size(none)`:                   `0`,
		`none.map(p, p.status.podIP)`:  `[]`,
		`none.all(p, p.status.ready)`:  `true`,
		`none.exists(p, p.status.a)`:   `false`,
		`pods.map(p, p.metadata.name)`: `["p0","p1"]`,
		`pods[0].status.podIP`:         `"10.0.0.1"`,
		`json.marshal(none)`:           `"[]"`,
		`pods + none == pods`:          `true`,
		`none == []`:                   `true`,
		`pods.filter(p, p.status.phase == "Running").map(p, p.metadata.name)`: `["p0"]`,
		`pods.transformList(i, p, string(i) + p.metadata.name)`:               `["0p0","1p1"]`,
		// Fields of its elements may be unknown.
		`pods.map(p, p.status.podIP)`:                                `waits pods["p1"].status.podIP`,
		`pods.all(p, p.status.podIP != "")`:                          `waits pods["p1"].status.podIP`,
		`pods[1].status.podIP`:                                       `waits pods[1].status.podIP`,
		`pods[0].status.x`:                                           `waits pods[0].status.x`,
		`pods[0].spec.nodeName`:                                      `waits pods[0].spec.nodeName`,
		`pods[index].status.podIP`:                                   `waits pods[].status.podIP`,
		`pods.sortBy(p, p.metadata.name)[1].status.podIP`:            `waits pods[].status.podIP`,
		`pods.filter(p, p.metadata.name == "p1")[0].status.podIP`:    `waits pods[].status.podIP`,
		`pods.map(p, p.status).map(s, s.podIP)`:                      `waits pods[].status.podIP`,
		`(true ? pods : none).map(p, p.status.podIP)`:                `waits none[].status.podIP pods[].status.podIP`,
		`pods.first().value().status.x`:                              `waits pods[].status.x`,
		`{"p": pods}.p[1].status.podIP`:                              `waits pods[1].status.podIP`,
		`cel.bind(ps, pods, ps[1].status.podIP)`:                     `waits pods[1].status.podIP`,
		`pods.map(p, p.status.?podIP.orValue("?"))`:                  `["10.0.0.1","?"]`,
		`pods.map(p, has(p.status.podIP))`:                           `[true,false]`,
		`pods[1].status.?podIP`:                                      `none`,
		`has(pods[1].status.podIP)`:                                  `false`,
		`pods.exists(p, p.status.podIP == "10.0.0.1")`:               `true`,
		`pods.filter(p, has(p.status.podIP)).map(p, p.status.podIP)`: `["10.0.0.1"]`,
		// Elements may be unknown, too.
		`none[0]`:                           `waits none[0]`,
		`none[0].metadata.name`:             `waits none[0].metadata.name`,
		`pods[5].metadata.name`:             `waits pods[5].metadata.name`,
		`none[?0]`:                          `none`,
		`none[?0].?metadata.orValue("x")`:   `"x"`,
		`pods[?1].?status.?podIP`:           `none`,
		`none.first()`:                      `none`,
		`none.first().?status.orValue("x")`: `"x"`,
		`has(none[0].metadata)`:             `false`,
		// Using a list as an object is a mistake, not a reason to wait.
		`pods.status`:      `error rules.yaml:1:5 the value has no fields, and so no status`,
		`pods.?status`:     `error rules.yaml:1:5 the value cannot be indexed like this`,
		`has(pods.status)`: `error rules.yaml:1:4 the value has no fields, and so no status`,
		`none.status`:      `error rules.yaml:1:5 the value has no fields, and so no status`,
		// Variables of iterators.
		`pod.metadata.name`:           `"p1"`,
		`pod.status.podIP`:            `waits pods["p1"].status.podIP`,
		`pod.?status.?podIP`:          `none`,
		`has(pod.status.podIP)`:       `false`,
		`pod.metadata.name + "-x"`:    `"p1-x"`,
		`worker.name`:                 `"b"`,
		`worker.size`:                 `error rules.yaml:1:7 no such key: size`,
		`worker.?size.orValue(0)`:     `0`,
		`address.orValue("none")`:     `"none"`,
		`worker.name + string(index)`: `"b1"`,
	} {
		if got := eval(t, compile(t, src, known), vars); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

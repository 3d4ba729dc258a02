package expr

import (
	"strings"
	"testing"
)

func TestFunctions(t *testing.T) {
	long := strings.Repeat("a", 62)
	for src, want := range map[string]string{
		`json.marshal({"b": [1, null, 2.5], "a": "x"})`: `"{\"a\":\"x\",\"b\":[1,null,2.5]}"`,
		`json.marshal(self.spec.workers)`:               `"[{\"name\":\"a\",\"size\":1},{\"name\":\"b\"}]"`,
		`json.unmarshal('{"a": [1, 2.5, "x", null]}')`:  `{"a":[1,2.5,"x",null]}`,
		`json.unmarshal('{"a": {"b": 3}}').a.b + 1`:     `4`,
		`json.unmarshal("{")`:                           `error rules.yaml:1:15 json.unmarshal(): the text is not JSON`,
		`json.marshal(b"x")`:                            `error rules.yaml:1:13 json.marshal(): a value of type bytes cannot be stored in an object`,
		`yaml.marshal({"b": ["x"], "a": {"c": true}})`:  `"a:\n  c: true\nb:\n- x\n"`,
		`hash.sha256("x").size()`:                       `64`,
		`hash.sha256("")`:                               `"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`,
		`hash.md5("")`:                                  `"d41d8cd98f00b204e9800998ecf8427e"`,
		`hash.fnv64a("")`:                               `"cbf29ce484222325"`,
		`merge({"a": 1, "b": 2}, {"b": 3, "c": 4})`:     `{"a":1,"b":3,"c":4}`,
		`merge({"a": {"x": 1}}, {"a": {"y": 2}})`:       `{"a":{"y":2}}`,
		`merge(self.spec.workers[0], {"size": 9})`:      `{"name":"a","size":9}`,
		`merge(self.spec, {})`:                          eval(t, compile(t, `self.spec`, shapes()), world()),
		`mergeBy([{"n": "a", "x": {"p": 1}}, {"n": "b"}], [{"n": "c"}, {"n": "a", "x": {"q": 2}}], "n")`: `[{"n":"a","x":{"p":1,"q":2}},{"n":"b"},{"n":"c"}]`,
		`mergeBy([{"n": 1}], [{"n": 1, "x": 2}], "n")`:                                                   `[{"n":1,"x":2}]`,
		`mergeBy([], [{"n": "a"}], "n")`:                                                                 `[{"n":"a"}]`,
		`mergeBy([{"n": "a"}, {"n": "a"}], [], "n")`:                                                     `error rules.yaml:1:8 mergeBy(): two elements of the first list have the same n`,
		`mergeBy([], [{"x": 1}], "n")`:                                                                   `error rules.yaml:1:8 mergeBy(): an element has no n`,
		`mergeBy([1], [], "n")`:                                                                          `error rules.yaml:1:8 mergeBy(): the elements must be maps`,
		`mergeBy([{"n": 1.5}], [], "n")`:                                                                 `error rules.yaml:1:8 mergeBy(): n must be text, a whole number or a boolean`,
		`deepMerge({"a": {"x": 1, "z": {"q": 1}}, "b": 1}, {"a": {"y": 2, "z": 3}})`:                     `{"a":{"x":1,"y":2,"z":3},"b":1}`,
		`randomString("seed", 8) == randomString("seed", 8)`:                                             `true`,
		`randomString("seed", 8) == randomString("seee", 8)`:                                             `false`,
		`randomString("seed", 100).matches("^[bcdfghjklmnpqrstvwxz2456789]{100}$")`:                      `true`,
		`randomString("seed", 0)`:                                                                        `""`,
		`randomString("seed", 300)`:                                                                      `error rules.yaml:1:13 randomString(): the length must be between 0 and 253`,
		`shortName("a")`:                                                                                 `"a"`,
		`shortName("a", "b")`:                                                                            `"a-b"`,
		`shortName("a", "b", "c", "d", "e", "f")`:                                                        `"a-b-c-d-e-f"`,
		`shortName(["x", "y"])`:                                                                          `"x-y"`,
		`shortName("` + long + `", "x").size()`:                                                          `63`,
		`shortName("` + long + `", "x") == shortName("` + long + `-x")`:                                  `false`,
		`shortName("` + long + `", "x").startsWith("aaa")`:                                               `true`,
		`shortName("` + long + `x")`:                                                                     `"` + long + `x"`,
		`shortName("a", self.spec.replicas)`:                                                             `error rules.yaml:1:10 shortName() does not take values of these types`,
		// Kubernetes' and CEL's libraries are available.
		`url("https://a.b/c").getHost()`:                   `"a.b"`,
		`"a1b2".find("[0-9]+")`:                            `"1"`,
		`ip("10.0.0.1").family()`:                          `4`,
		`cidr("10.0.0.0/8").containsIP("10.1.1.1")`:        `true`,
		`semver("1.2.3").isLessThan(semver("1.10.0"))`:     `true`,
		`!format.dns1123Label().validate("ok").hasValue()`: `true`,
		`[3, 1, 2].sort()`:                                 `[1,2,3]`,
		`[1, 2, 3].sum()`:                                  `6`,
		`sets.contains([1, 2], [1])`:                       `true`,
		`base64.encode(b"x")`:                              `"eA=="`,
		`"%s has %d".format(["a", 2])`:                     `"a has 2"`,
		`["a", "b"].join(", ")`:                            `"a, b"`,
		`["a", "b"].join()`:                                `"ab"`,
		`"a-a".replace("a", "b")`:                          `"b-b"`,
		`"a-a".replace("a", "b", 1)`:                       `"b-a"`,
		`self.spec.image.replace(self.spec.image, "b")`:    `"b"`,
		`service.spec.x.replace("a", "b")`:                 `waits service.spec.x`,
		`self.spec.nope.replace("a", "b")`:                 `error rules.yaml:1:10 no such key: nope`,
		`[1].map(i, "x").join("-")`:                        `"x"`,
		`{"a": 1}.transformMap(k, v, v + 1)`:               `{"a":2}`,
		`timestamp("2024-01-02T03:04:05Z").getHours()`:     `3`,
	} {
		if got := eval(t, compile(t, src, shapes()), world()); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

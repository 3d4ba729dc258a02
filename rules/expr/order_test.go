package expr

import "testing"

func TestLoopsOverMapsAreOrdered(t *testing.T) {
	vars := world()
	vars["self"] = object{"spec": object{"k": "m", "m": object{"d": int64(1), "b": int64(2), "a": int64(3), "c": int64(4)}, "l": list{object{"z": int64(1), "y": int64(2), "x": int64(3)}}}}
	for src, want := range map[string]string{
		`self.spec.m.map(k, k)`:                                       `["a","b","c","d"]`,
		`self.spec.m.filter(k, k != "b")`:                             `["a","c","d"]`,
		`self.spec.m.transformList(k, v, k + string(v))`:              `["a3","b2","c4","d1"]`,
		`self.spec["m"].map(k, k)`:                                    `["a","b","c","d"]`,
		`self.spec[self.spec.k].map(k, k)`:                            `["a","b","c","d"]`,
		`self.spec["" + "m"].map(k, k)`:                               `["a","b","c","d"]`,
		`self.spec.l[1 - 1].map(k, k)`:                                `["x","y","z"]`,
		`self.spec.l.map(m, m.map(k, k))`:                             `[["x","y","z"]]`,
		`self.spec.?m.orValue({}).map(k, k)`:                          `["a","b","c","d"]`,
		`self.spec.?nope.orValue({"b": 1, "a": 2}).map(k, k)`:         `["a","b"]`,
		`(true ? self.spec.m : {}).map(k, k)`:                         `["a","b","c","d"]`,
		`{"c": 1, "b": 2, "a": 3, "d": 4}.map(k, k)`:                  `["a","b","c","d"]`,
		`{"c": 1, self.spec.k: 2, "a": 3, "d": 4}.map(k, k)`:          `["a","c","d","m"]`,
		`{3: 1, 1: 2, 2: 3, 0: 4}.map(k, k)`:                          `[0,1,2,3]`,
		`self.spec.m.transformMap(k, v, v + 1).map(k, k)`:             `["a","b","c","d"]`,
		`self.spec.m.transformMapEntry(k, v, {k + "x": v}).map(k, k)`: `["ax","bx","cx","dx"]`,
		`merge(self.spec.m, {"e": 1}).map(k, k)`:                      `["a","b","c","d","e"]`,
		`cel.bind(m, self.spec.m, m.map(k, k))`:                       `["a","b","c","d"]`,
		`json.unmarshal('{"b":1,"a":2}').map(k, k)`:                   `["a","b"]`,
		`self.spec.m.exists(k, k == "c")`:                             `true`,
		`self.spec.m.exists_one(k, v, v == 1)`:                        `true`,
	} {
		p := compile(t, src, shapes())
		for range 20 {
			if got := eval(t, p, vars); got != want {
				t.Errorf("%s\n got %s\nwant %s", src, got, want)
				break
			}
		}
	}
}

package sim_test

import "slices"

// stories are sent to the in-memory cluster and to a real control plane, and must get the
// same answers. Their order is that of the recorded answers.
var stories = slices.Concat(writingStories, builtinStories, customStories, deletingStories, defaultStories,
	newerStories, ruleStories)

var writingStories = []story{
	{"a ConfigMap is applied by two", `
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: "1"}}, data: {k: v, l: w}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: "1"}}, data: {k: v, l: w}}
# apply bob
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v, m: n}}
# apply bob
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: other, l: other}}
# force bob
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: other}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: "1"}}, data: {l: w}}
# merge carol ConfigMap/a
{"data": {"l": "carol", "z": "1"}}
# get ConfigMap/a
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {l: w}}
# force alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
# get ConfigMap/a
`},
	{"an apply that only creates", `
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, resourceVersion: "1"}, data: {k: v}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, resourceVersion: "1"}, data: {k: v}}
# force bob
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, resourceVersion: "1"}, data: {k: w}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, uid: "uid(ConfigMap/b)"}, data: {k: x}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, uid: "8e9d6eb6-0000-0000-0000-000000000000"}, data: {k: y}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: missing, uid: "8e9d6eb6-0000-0000-0000-000000000000"}, data: {k: y}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, uid: "uid(ConfigMap/b)", resourceVersion: "version(ConfigMap/b)"}, data: {k: z}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, uid: "uid(ConfigMap/b)", resourceVersion: "5"}, data: {k: zz}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, resourceVersion: "5"}, data: {k: zz}}
`},
	{"create, update, patch", `
# create alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {k: v}}
# create alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {k: v}}
# create alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: c2, resourceVersion: "7"}, data: {k: v}}
# update bob
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, resourceVersion: "version(ConfigMap/c)"}, data: {k: w, l: x}}
# update bob
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, resourceVersion: "5"}, data: {k: w}}
# update bob
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {k: w}}
# update bob
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, uid: "8e9d6eb6-0000-0000-0000-000000000000"}, data: {k: w}}
# merge bob ConfigMap/c
{"data": {"k": "w"}}
# merge bob ConfigMap/c
{"metadata": {"resourceVersion": "5"}, "data": {"k": "x"}}
# merge bob ConfigMap/c
{"metadata": {"uid": "8e9d6eb6-0000-0000-0000-000000000000"}, "data": {"k": "x"}}
# json bob ConfigMap/c
[{"op": "add", "path": "/data/new", "value": "1"}, {"op": "remove", "path": "/data/k"}]
# json bob ConfigMap/c
[{"op": "remove", "path": "/data/absent"}]
# merge bob ConfigMap/c
{"data": {"number": 5}}
# merge bob ConfigMap/c
{"metadata": {"managedFields": []}}
# apply carol
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {new: "1"}}
# merge dave ConfigMap/c
{"unknown": {"x": "y"}, "data": {"d": "1"}}
`},
	{"managedFields are edited", `
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: m}, spec: {size: small, tags: [x], list: [p]}}
# apply bob
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: m}, spec: {size: small, tags: [y]}}
# json carol Widget/m
[{"op": "remove", "path": "/metadata/managedFields/1"}]
# apply bob
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: m}, spec: {size: large}}
# json carol Widget/m
[{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
# merge carol Widget/m
{"spec": {"ratio": 2}}
# apply bob
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: m}, spec: {size: large}}
# json carol Widget/m
[{"op": "replace", "path": "/metadata/managedFields/0/manager", "value": "dave"}]
# apply bob
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: m, managedFields: []}, spec: {size: large}}
# apply
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: m}, spec: {size: large}}
`},
	{"names are generated and lists selected", `
# create alice
{apiVersion: v1, kind: ConfigMap, metadata: {}, data: {}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: g, generateName: h-}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: g, creationTimestamp: "2020-01-01T00:00:00Z", generation: 7, deletionTimestamp: "2020-01-01T00:00:00Z"}}
# merge bob ConfigMap/g
{"metadata": {"creationTimestamp": null, "deletionTimestamp": "2020-01-01T00:00:00Z", "selfLink": "x", "name": "other"}}
# merge bob ConfigMap/g
{"metadata": {"namespace": "other"}}
# merge bob ConfigMap/g
{"kind": "Secret"}
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: g, generation: 7, creationTimestamp: "2020-01-01T00:00:00Z"}, spec: {size: small}}
# merge bob Widget/g
{"metadata": {"generation": 9, "annotations": {"a": null}}}
# merge bob Widget/g
{"apiVersion": "sim.reconcel.dev/v2"}
`},
	{"bodies that are wrong", `
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: e}, data: {k: 1}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: e}, unknown: {k: 1}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: e, unknown: x}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: UPPER}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: e, labels: {"-": x}}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: e, finalizers: ["not qualified"]}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: e, namespace: does-not-exist}}
# create alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: e}, data: {k: 1}}
# apply alice
{apiVersion: apps/v1, kind: Deployment, metadata: {name: e}, spec: {replicas: many}}
# apply alice
apiVersion: v1
kind: Service
metadata: {name: e}
spec: {ports: [{port: 80, name: a}, {port: 80, name: b}]}
`},
}

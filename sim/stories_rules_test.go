package sim_test

import "slices"

// verbatim reports whether the errors of a story have the same messages, too.
func verbatim(st story) bool {
	return slices.ContainsFunc(ruleStories, func(other story) bool { return other.name == st.name })
}

// ruleStories are about what a CRD says besides the types of fields: rules, unique elements of lists and the paths of
// the scale subresource. The last one is about the CRD itself.
var ruleStories = []story{
	{"rules of a CRD", `
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, spec: {min: 1, max: 2}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: b}, spec: {min: 3, max: 2}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: b}, spec: {min: 3, max: 101}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: b}, spec: {max: -1}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a-name-that-is-long}, spec: {min: 3, max: 2}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: b}, spec: {min: 3, max: 2, mode: other}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: b}, spec: {min: 3, max: 2, code: "8"}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: b}, spec: {min: 3}}
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: b}, spec: {max: 2, ports: [{name: x, width: 10}, {name: w}]}}
# merge bob Valve/a
{"spec": {"min": 3}}
# merge bob Valve/a
{"spec": {"min": null}}
# apply carol
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, spec: {mode: auto, min: 7}}
# get Valve/a
`},
	{"rules about changes", `
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, spec: {max: 2, size: small, owner: somebody}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, spec: {max: 2, owner: nobody, ports: [{name: x, width: 3}, {name: w, width: 5}]}}
# merge bob Valve/a
{"spec": {"size": "large"}}
# merge bob Valve/a
{"spec": {"size": null}}
# merge bob Valve/a
{"spec": {"owner": "somebody"}}
# merge bob Valve/a
{"spec": {"owner": null}}
# merge bob Valve/a
{"spec": {"owner": "another"}}
# apply bob
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, spec: {ports: [{name: w, width: 6}, {name: z, width: 1}]}}
# force bob
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, spec: {ports: [{name: w, width: 6}, {name: z, width: 1}]}}
# json bob Valve/a
[{"op": "replace", "path": "/spec/ports/0/width", "value": 2}]
# json bob Valve/a
[{"op": "replace", "path": "/spec/ports/0", "value": {"name": "v", "width": 2}}]
`},
	{"what was invalid before may stay", `
# create alice
{apiVersion: sim.reconcel.dev/v1alpha1, kind: Valve, metadata: {name: a}, spec: {max: 200, mode: other, code: "8", tags: [x, x], ports: [{name: x, width: 20}]}}
# json bob Valve/a
[{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
# merge bob Valve/a
{"status": {"tags": ["x", "x"]}}
# update bob
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a, resourceVersion: "version(Valve/a)"}, spec: {max: 200, mode: other, code: "8", tags: [x, x], ports: [{name: x, width: 20}]}}
# merge bob Valve/a
{"metadata": {"labels": {"a": "c"}}}
# merge bob Valve/a
{"spec": {"tags": ["x", "x", "y"]}}
# merge bob Valve/a
{"spec": {"max": 50, "tags": ["x", "x", "y"]}}
# merge bob Valve/a
{"spec": {"ports": [{"name": "x", "width": 20}, {"name": "w", "width": 3}]}}
# merge bob Valve/a
{"spec": {"ports": [{"name": "x", "width": 21}, {"name": "w", "width": 3}]}}
# merge bob Valve/a
{"spec": {"code": "9"}}
# merge bob Valve/a
{"spec": {"mode": "another"}}
# merge bob Valve/a
{"spec": {"mode": "auto", "code": null}}
# merge/status bob Valve/a
{"status": {"open": 3}}
# merge bob Valve/a
{"metadata": {"annotations": {"a": "b"}}}
# merge bob Valve/a
{"spec": {"tags": ["x"]}}
# merge bob Valve/a
{"spec": {"tags": ["x", "x"]}}
`},
	{"rules of a status", `
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, spec: {max: 20}, status: {open: 50}}
# merge/status bob Valve/a
{"status": {"open": 50}}
# merge/status bob Valve/a
{"status": {"open": 3}}
# merge/status bob Valve/a
{"status": {"open": 9}}
# merge/status bob Valve/a
{"spec": {"max": 500}, "status": {"open": 8}}
# merge bob Valve/a
{"spec": {"max": 7}}
# merge bob Valve/a
{"spec": {"max": 9}, "status": {"open": 1}}
# apply/status carol
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, status: {open: 1001}}
# merge/status bob Valve/a
{"status": {"tags": ["a", "b", "a"]}}
# merge/status bob Valve/a
{"status": null}
`},
	{"elements that are there twice", `
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, spec: {max: 2, tags: [x, w, x, x]}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, spec: {max: 2, ports: [{name: x}, {name: w}, {name: x, width: 2}]}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, spec: {max: 2, pairs: [{a: x, b: 1}, {a: x, b: 2}, {a: x, b: 1}]}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, spec: {max: 2, groups: {g: [x, x]}}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, spec: {min: 3, max: 2, tags: [x, x]}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, spec: {max: 2, tags: [x, w], pairs: [{a: x, b: 1}, {a: x, b: 2}]}}
# merge bob Valve/a
{"spec": {"tags": ["x", "x"]}}
# json bob Valve/a
[{"op": "add", "path": "/spec/pairs/-", "value": {"a": "x", "b": 2}}]
# apply carol
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, spec: {tags: [z, z]}}
`},
	{"objects in an object", `
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: a}, spec: {max: 2, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {a: b}}, data: {a: b}}}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: b}, spec: {max: 2, object: {data: {a: b}}}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: b}, spec: {max: 2, object: {apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: "?"}}}}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Valve, metadata: {name: b}, spec: {max: 2, object: {apiVersion: a/b/c, kind: X, metadata: {name: "?"}}}}
`},
	{"replicas at other paths", `
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Fleet, metadata: {name: f}}
# get/scale Fleet/f
# merge/scale hpa Fleet/f
{"metadata": {"labels": {"a": "b"}}}
# merge/scale hpa Fleet/f
{"spec": {"replicas": 3}}
# merge/status bob Fleet/f
{"status": {"size": {"have": 2}, "chosen": "a=b"}}
# get/scale Fleet/f
# get Fleet/f
# merge/scale hpa Fleet/f
{"spec": {"replicas": -1}}
# merge/scale hpa Fleet/f
{"spec": {"replicas": null}}
# merge bob Fleet/f
{"spec": {"size": {"wanted": -1}}}
# merge/status bob Fleet/f
{"status": {"size": {"have": -1}}}
# apply carol
{apiVersion: sim.reconcel.dev/v1, kind: Fleet, metadata: {name: f}, spec: {size: {wanted: 4}}}
# force carol
{apiVersion: sim.reconcel.dev/v1, kind: Fleet, metadata: {name: f}, spec: {size: {wanted: 4}}}
# get/scale Fleet/f
`},
	{"the Scale of built-in kinds", `
# create alice
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {selector: {matchLabels: {a: b, c: d}, matchExpressions: [{key: e, operator: In, values: [g, f]}]}, template: {metadata: {labels: {a: b, c: d, e: f}}, spec: {containers: [{name: main, image: x}]}}}}
# get/scale Deployment/d
# merge/scale hpa Deployment/d
{"spec": {"replicas": -1}}
# create alice
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}}
# get/scale ReplicaSet/r
# create alice
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s}, spec: {replicas: 0, serviceName: s, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}}
# merge/scale hpa StatefulSet/s
{"spec": {"replicas": 2}}
`},
	{"CRDs that are invalid", `
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim, scope: namespaced, names: {kind: Top}, versions: []}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: to_p, plural: Tops, shortNames: [T], categories: [a, B], listKind: to_p}, versions: [{name: '1', served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, names: {plural: tops}, versions: [{name: v1, served: true, storage: true}, {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Cluster, names: {kind: Top, plural: tops}, preserveUnknownFields: true, versions: [{name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: top.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: string}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, nullable: true, properties: {spec: {}}}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, additionalProperties: {type: string}}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {metadata: {type: object, properties: {labels: {type: object}}}}}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {f: {type: array}}}}}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {f: {type: string, pattern: '['}}}}}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {f: {type: integer, default: one}}}}}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {f: {type: object, properties: {a: {type: string}}, default: {b: c}}}}}}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {f: {oneOf: [{type: string}, {type: integer}]}}}}}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {f: {type: string, anyOf: [{default: a}]}}}}}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, subresources: {scale: {specReplicasPath: .status.a, statusReplicasPath: b}}, schema: {openAPIV3Schema: {type: object}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, subresources: {scale: {specReplicasPath: '', statusReplicasPath: .status.b, labelSelectorPath: .metadata.a}}, schema: {openAPIV3Schema: {type: object}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, additionalPrinterColumns: [{name: a, type: text, jsonPath: spec}, {name: '', type: '', jsonPath: ''}], schema: {openAPIV3Schema: {type: object}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, additionalPrinterColumns: [{name: a, type: string, jsonPath: spec}], schema: {openAPIV3Schema: {type: object}}}, {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {}}}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {f: {type: integer, x-kubernetes-validations: [{rule: self > 'a'}, {rule: 'self > 0', messageExpression: self + 1}]}}}}}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {f: {type: array, items: {type: array, items: {type: string, x-kubernetes-validations: [{rule: 'self.matches("a")'}]}}}}}}}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {f: {type: array, maxItems: 10, items: {type: string, maxLength: 5, x-kubernetes-validations: [{rule: self == oldSelf}, {rule: self == 'a', optionalOldSelf: true}]}}}}}}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {f: {type: array, maxItems: 100, items: {type: array, maxItems: 4000, items: {type: string, maxLength: 100, x-kubernetes-validations: [{rule: 'self.contains("abcdefghijklm")'}, {rule: 'self.contains("abcdefghijklmn")'}]}}}}}}}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.reconcel.dev}, spec: {group: sim.reconcel.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {f: {type: object, properties: {a: {type: integer}}, x-kubernetes-validations: [{rule: self.a > 0, reason: Other}, {rule: ' ', fieldPath: .x}, {rule: self.a > 0, message: ' ', messageExpression: ' '}, {rule: "self.a\n> 0"}, {rule: self.a > 0, message: "a\nb", fieldPath: .a}]}}}}}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.k8s.io}, spec: {group: sim.k8s.io, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}
# create alice
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tops.sim.NAMESPACE.dev}, spec: {group: sim.NAMESPACE.dev, scope: Namespaced, names: {kind: Top, plural: tops}, versions: [{name: v1, served: false, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}}, required: [b]}}}}}]}}
# merge bob CustomResourceDefinition/tops.sim.NAMESPACE.dev
{"spec": {"group": "b.dev", "names": {"plural": "peaks"}}}
# merge bob CustomResourceDefinition/tops.sim.NAMESPACE.dev
{"spec": {"versions": []}}
# delete CustomResourceDefinition/tops.sim.NAMESPACE.dev
`},
}

package sim_test

var deletingStories = []story{
	{"finalizers", `
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: f, finalizers: [x.dev/a, x.dev/b]}, spec: {size: small}}
# delete Widget/f
# get Widget/f
# delete Widget/f
# get Widget/f
# merge bob Widget/f
{"metadata": {"finalizers": ["x.dev/a", "x.dev/c"]}}
# merge bob Widget/f
{"metadata": {"finalizers": ["x.dev/a"]}}
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: f, resourceVersion: "1"}, spec: {size: small}}
# merge bob Widget/f
{"spec": {"replicas": 4}}
# merge bob Widget/f
{"metadata": {"finalizers": []}}
# get Widget/f
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: f, finalizers: [x.dev/a]}}
# delete ConfigMap/f
# get ConfigMap/f
# merge bob ConfigMap/f
{"metadata": {"finalizers": null}}
# get ConfigMap/f
`},
	{"two controllers", `
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: o1}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: o2}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: child, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o1, uid: "uid(ConfigMap/o1)", controller: true, blockOwnerDeletion: true}]}}
# force bob
{apiVersion: v1, kind: ConfigMap, metadata: {name: child, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o2, uid: "uid(ConfigMap/o2)", controller: true}]}}
# apply bob
{apiVersion: v1, kind: ConfigMap, metadata: {name: child, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o2, uid: "uid(ConfigMap/o2)"}]}}
# delete ConfigMap/o1
# settle
# get ConfigMap/child
# delete ConfigMap/o2
# settle
# get ConfigMap/child
`},
	// The collector deletes an object whose owner does not exist. Its deletion shows that
	// the collector has also seen the earlier objects: it deletes an object that it first
	// sees after its owner's end.
	{"orphans", `
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: o}, spec: {size: small}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, ownerReferences: [{apiVersion: sim.reconcel.dev/v1, kind: Widget, name: o, uid: "uid(Widget/o)", controller: true, blockOwnerDeletion: true}]}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: seen, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: nobody, uid: none}]}}
# settle
# orphan Widget/o
# settle
# get Widget/o
# get ConfigMap/kept
`},
	// The collected object shows that the collector has seen the earlier objects, as
	// above.
	{"foreground deletion", `
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: r}, spec: {size: small}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: r-blocks, finalizers: [x.dev/a], ownerReferences: [{apiVersion: sim.reconcel.dev/v1, kind: Widget, name: r, uid: "uid(Widget/r)", controller: true, blockOwnerDeletion: true}]}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: r-blocks-not, ownerReferences: [{apiVersion: sim.reconcel.dev/v1, kind: Widget, name: r, uid: "uid(Widget/r)"}]}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: r-grandchild, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: r-blocks, uid: "uid(ConfigMap/r-blocks)", blockOwnerDeletion: true}]}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: seen, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: nobody, uid: none}]}}
# settle
# foreground Widget/r
# settle
# get Widget/r
# get ConfigMap/r-blocks
# get ConfigMap/r-grandchild
# merge bob ConfigMap/r-blocks
{"metadata": {"finalizers": null}}
# settle
# get Widget/r
`},
	{"an owner that never was", `
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: lost, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: nobody, uid: "8e9d6eb6-0000-0000-0000-000000000000", controller: true}]}}
# settle
# get ConfigMap/lost
`},
	// An old client's delete orphans what the Job owns, so the dependent stays.
	{"a Job is deleted by an old client", `
# apply alice
apiVersion: batch/v1
kind: Job
metadata: {name: old}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: old, uid: "uid(Job/old)"}]}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: seen, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: nobody, uid: none}]}}
# settle
# default Job/old
# settle
# get Job/old
# get ConfigMap/kept
`},
	{"a namespace", `
# apply alice
{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE-n, labels: {a: b}}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: NAMESPACE-n, finalizers: [x.dev/a]}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: free, namespace: NAMESPACE-n}}
# delete Namespace/NAMESPACE-n
# settle
# get ConfigMap/free
# get ConfigMap/held
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: late, namespace: NAMESPACE-n}}
# merge bob ConfigMap/held
{"metadata": {"finalizers": null}}
# settle
# get Namespace/NAMESPACE-n
`},
}

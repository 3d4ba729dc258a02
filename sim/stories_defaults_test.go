package sim_test

var defaultStories = []story{
	{"what is not said has a default", `
# create alice
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}
# apply alice
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: v}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {initContainers: [{name: first, image: x, ports: [{containerPort: 80}]}], containers: [{name: main, image: x}]}}}
# apply alice
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: v}
spec: {serviceName: v, updateStrategy: {type: RollingUpdate, rollingUpdate: {}}, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}
# apply alice
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: v2}
spec: {serviceName: v, updateStrategy: {type: OnDelete}, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}
# apply alice
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: v}
spec: {updateStrategy: {type: OnDelete}, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}
# apply alice
{apiVersion: batch/v1, kind: Job, metadata: {name: v}, spec: {parallelism: 2, template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}}
# apply alice
{apiVersion: batch/v1, kind: Job, metadata: {name: v2}, spec: {completions: 2, completionMode: Indexed, backoffLimitPerIndex: 1, podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: "True"}]}]}, template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}}
# apply alice
{apiVersion: batch/v1, kind: CronJob, metadata: {name: v}, spec: {schedule: "@daily", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}}}}
# apply alice
{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: v}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: v}}}
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: v}, spec: {ports: [{port: 53, protocol: UDP, targetPort: ""}]}}
# apply alice
{apiVersion: v1, kind: Secret, metadata: {name: v}, data: {a: YQ==}}
# apply alice
{apiVersion: v1, kind: Secret, metadata: {name: v}, type: Opaque, data: {a: YQ==}}
# apply alice
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
`},
	{"what is no longer said has its default again", `
# apply alice
apiVersion: apps/v1
kind: Deployment
metadata: {name: v}
spec: {replicas: 3, revisionHistoryLimit: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}
# apply alice
apiVersion: apps/v1
kind: Deployment
metadata: {name: v}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}
# apply alice
apiVersion: apps/v1
kind: Deployment
metadata: {name: v}
spec: {strategy: {type: Recreate}, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}
# apply alice
apiVersion: apps/v1
kind: Deployment
metadata: {name: v}
spec: {strategy: {type: Recreate, rollingUpdate: null}, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}
# apply alice
apiVersion: apps/v1
kind: Deployment
metadata: {name: v}
spec: {strategy: {type: RollingUpdate}, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}
# merge bob Deployment/v
{"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}}
# get Deployment/v
# apply alice
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: v}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}
# apply alice
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: v}
spec: {updateStrategy: {type: OnDelete}, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}
# apply alice
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: v}
spec: {serviceName: v, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}
# apply alice
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: v}
spec: {serviceName: v, updateStrategy: {type: OnDelete}, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}
`},
	{"nulls and unknown fields of a custom resource", `
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Gizmo, metadata: {name: a}, spec: {plain: null, preset: null, nullable: null, nullablePreset: null}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Gizmo, metadata: {name: b}, spec: {map: {p: null, q: r}, presetMap: {p: null}, presetList: [null, b], nested: {p: {}}}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Gizmo, metadata: {name: c}, spec: {nested: {p: null}}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Gizmo, metadata: {name: d}, spec: {any: {p: 1, q: {r: 1}, list: [{r: 1}], none: null}}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Gizmo, metadata: {name: e}, spec: {free: {p: {q: [1]}, none: null, known: {name: a, other: 1}, items: [{name: a, other: 1}]}}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Gizmo, metadata: {name: f}, spec: {other: {p: 1}}}
# apply bob
{apiVersion: sim.reconcel.dev/v1, kind: Gizmo, metadata: {name: a}, spec: {plain: null, map: {p: null}}}
# merge carol Gizmo/b
{"spec": {"presetMap": {"p": "b"}, "presetList": [null], "other": 1}}
# merge carol Gizmo/b
{"spec": {"plain": {"other": 1}}}
`},
}

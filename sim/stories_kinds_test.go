package sim_test

var builtinStories = []story{
	{"a Deployment", `
# apply alice
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, labels: {app: d}}
spec:
  replicas: 2
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      volumes: [{name: scratch, emptyDir: {}}]
      containers:
      - name: main
        image: nginx
        args: [a, b]
        ports: [{containerPort: 80}, {containerPort: 81, name: x, protocol: UDP}]
        env: [{name: A, value: b}, {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
        resources: {limits: {cpu: 1000m, memory: 1Gi}}
        volumeMounts: [{name: scratch, mountPath: /tmp}]
# apply alice
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, labels: {app: d}}
spec:
  replicas: 2
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      volumes: [{name: scratch, emptyDir: {}}]
      containers:
      - name: main
        image: nginx
        args: [a, b]
        ports: [{containerPort: 80}, {containerPort: 81, name: x, protocol: UDP}]
        env: [{name: A, value: b}, {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
        resources: {limits: {cpu: 1000m, memory: 1Gi}}
        volumeMounts: [{name: scratch, mountPath: /tmp}]
# apply/status bob
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
status: {replicas: 2, observedGeneration: 1, conditions: [{type: Available, status: "True"}]}
# apply/scale hpa
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
# merge/scale hpa Deployment/d
{"spec": {"replicas": 5}}
# get Deployment/d
# merge carol Deployment/d
{"metadata": {"annotations": {"a": "b"}}}
# merge carol Deployment/d
{"status": {"replicas": 9}}
# merge/status carol Deployment/d
{"spec": {"replicas": 9}, "status": {"readyReplicas": 1}}
# json carol Deployment/d
[{"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "side", "image": "car"}}]
# force alice
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      containers:
      - name: main
        image: nginx:2
# get Deployment/d
`},
	{"a Service", `
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {selector: {a: b}, ports: [{port: 80}]}}
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {selector: {a: b}, ports: [{port: 80}]}}
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {selector: {a: c}, ports: [{port: 80, name: web, targetPort: http}, {port: 81, name: other, targetPort: 8081}]}}
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: headless}, spec: {clusterIP: None, ports: [{port: 80}]}}
`},
	{"a Secret", `
# apply alice
{apiVersion: v1, kind: Secret, metadata: {name: t}, stringData: {a: hello}, data: {b: d29ybGQ=}}
# apply alice
{apiVersion: v1, kind: Secret, metadata: {name: t}, stringData: {a: hello}, data: {b: d29ybGQ=}}
# apply bob
{apiVersion: v1, kind: Secret, metadata: {name: t}, stringData: {b: other}}
# merge carol Secret/t
{"stringData": {"c": "x"}}
# apply alice
{apiVersion: v1, kind: Secret, metadata: {name: t}, data: {b: d29ybGQ=}}
`},
	{"a Job and a Pod", `
# create alice
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}
# apply alice
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {backoffLimit: 1, template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox, command: [echo, hi]}]}}}
# apply alice
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {a: b}}
spec: {automountServiceAccountToken: false, containers: [{name: main, image: busybox, ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}], resources: {requests: {cpu: "0.5"}}}]}
# apply alice
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {a: c}}
spec: {automountServiceAccountToken: false, containers: [{name: main, image: busybox, ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}], resources: {requests: {cpu: "0.5"}}}]}
# apply alice
{apiVersion: v1, kind: ServiceAccount, metadata: {name: sa}}
# apply alice
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "a:b"}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
# apply alice
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: np}
spec: {podSelector: {}, policyTypes: [Ingress]}
# apply alice
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: np}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
# apply alice
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: pdb}
spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}
`},
	{"ports of the same name", `
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: named}, spec: {ports: [{name: http, port: 80}]}}
# apply bob
{apiVersion: v1, kind: Service, metadata: {name: named}, spec: {ports: [{name: http, port: 81}]}}
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: plain}, spec: {ports: [{port: 80}]}}
# apply bob
{apiVersion: v1, kind: Service, metadata: {name: plain}, spec: {ports: [{port: 81}]}}
# apply alice
apiVersion: apps/v1
kind: Deployment
metadata: {name: i}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x, ports: [{name: http, containerPort: 80}]}]}}}
# apply bob
apiVersion: apps/v1
kind: Deployment
metadata: {name: i}
spec: {template: {spec: {containers: [{name: main, ports: [{name: http, containerPort: 81}]}]}}}
`},
	{"what cannot be changed", `
# create alice
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}
# apply alice
apiVersion: apps/v1
kind: Deployment
metadata: {name: i}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b, c: d}}, spec: {containers: [{name: main, image: x}]}}}
# apply alice
apiVersion: apps/v1
kind: Deployment
metadata: {name: i}
spec: {selector: {matchLabels: {c: d}}, template: {metadata: {labels: {a: b, c: d}}, spec: {containers: [{name: main, image: x}]}}}
# apply alice
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: i}
spec: {serviceName: a, replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}
# apply alice
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: i}
spec: {serviceName: a, replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: y}]}}}
# apply alice
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: i}
spec: {serviceName: b, replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: y}]}}}
# apply alice
apiVersion: batch/v1
kind: Job
metadata: {name: i}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}
# apply alice
apiVersion: batch/v1
kind: Job
metadata: {name: i}
spec: {backoffLimit: 3, template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}
# apply alice
apiVersion: batch/v1
kind: Job
metadata: {name: i}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: y}]}}}
# apply alice
apiVersion: v1
kind: Pod
metadata: {name: i}
spec: {automountServiceAccountToken: false, containers: [{name: main, image: x}]}
# apply alice
apiVersion: v1
kind: Pod
metadata: {name: i}
spec: {automountServiceAccountToken: false, containers: [{name: main, image: y}]}
# apply alice
apiVersion: v1
kind: Pod
metadata: {name: i}
spec: {automountServiceAccountToken: false, containers: [{name: main, image: y, args: [z]}]}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: i}, immutable: true, data: {a: b}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: i, labels: {a: b}}, immutable: true, data: {a: b}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: i}, immutable: true, data: {a: c}}
# apply alice
{apiVersion: v1, kind: ConfigMap, metadata: {name: i}, data: {a: b}}
# apply alice
{apiVersion: v1, kind: Secret, metadata: {name: i}, type: Opaque, data: {a: YQ==}}
# apply alice
{apiVersion: v1, kind: Secret, metadata: {name: i}, type: example.com/x, data: {a: YQ==}}
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: i}, spec: {ports: [{port: 80}]}}
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: i}, spec: {clusterIP: None, ports: [{port: 80}]}}
# apply alice
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: i}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
# apply alice
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: i}, spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}}
# apply alice
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: i}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}}
# apply alice
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: i}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: b}}
`},
	{"more kinds", `
# apply alice
{apiVersion: batch/v1, kind: CronJob, metadata: {name: k}, spec: {schedule: "@daily", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}}}}
# apply alice
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: k}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: k}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}}
# apply alice
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: k}, spec: {rules: [{host: a.b, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: k, port: {number: 80}}}}]}}]}}
# apply alice
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: k}, spec: {holderIdentity: a, leaseDurationSeconds: 15}}
# apply alice
{apiVersion: v1, kind: ResourceQuota, metadata: {name: k}, spec: {hard: {pods: "10", limits.cpu: 2000m}}}
# apply alice
{apiVersion: v1, kind: ResourceQuota, metadata: {name: k}, spec: {hard: {pods: "11", limits.cpu: "2"}}}
# apply alice
{apiVersion: v1, kind: LimitRange, metadata: {name: k}, spec: {limits: [{type: Container, max: {cpu: "1"}}]}}
# apply alice
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: NAMESPACE-k}, rules: []}
# delete ClusterRole/NAMESPACE-k
# apply alice
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: k}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x, livenessProbe: {httpGet: {path: /, port: 80}}}]}}}
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: k}, spec: {type: ExternalName, externalName: example.com}}
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: k2}, spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}}
# merge bob Ingress/k
{"spec": {"ingressClassName": "x"}}
# merge/status bob ResourceQuota/k
{"status": {"hard": {"pods": "11"}}, "metadata": {"labels": {"through": "status"}}}
`},
}

var customStories = []story{
	{"a custom resource", `
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w}, spec: {size: small, parts: [{name: a}, {name: b, count: 2}], tags: [x, y], list: [p, q], free: {any: {thing: [1]}}, options: {deep: {}}, ratio: 1.5, port: 80}}
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w}, spec: {size: small, parts: [{name: a}, {name: b, count: 2}], tags: [x, y], list: [p, q], free: {any: {thing: [1]}}, options: {deep: {}}, ratio: 1.5, port: 80}}
# apply bob
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w}, spec: {parts: [{name: c}], tags: [z], size: small}}
# apply bob
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w}, spec: {parts: [{name: b, count: 5}], list: [r]}}
# merge carol Widget/w
{"spec": {"replicas": 3, "unknown": 1, "note": null, "size": "large"}}
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w}, spec: {size: small}}
# force alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w, annotations: {a: b}}, spec: {size: small}}
# merge carol Widget/w
{"metadata": {"labels": {"a": "b"}}}
# apply/status alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w}, status: {phase: New, conditions: [{type: Ready, status: "True", reason: R}]}}
# apply/status bob
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w}, status: {conditions: [{type: Other, status: "False"}]}}
# apply/status alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w, labels: {no: effect}}, spec: {size: large}, status: {conditions: [{type: Ready, status: Unknown}]}}
# apply/status alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w, uid: "8e9d6eb6-0000-0000-0000-000000000000"}, status: {conditions: [{type: Ready, status: "False"}]}}
# apply/status alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w, resourceVersion: "5"}, status: {conditions: [{type: Ready, status: "False"}]}}
# apply/status alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w}, status: {unknown: 1}}
# merge/status carol Widget/w
{"status": {"unknown": 1, "phase": "Old"}}
# merge/status carol Widget/w
{"status": {"phase": "Wrong"}}
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w}, spec: {size: small}, status: {phase: New}}
# apply/status alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: missing}, status: {phase: New}}
# merge/scale hpa Widget/w
{"spec": {"replicas": 7}}
# get Widget/w
# update dave
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w}, spec: {size: small}}
# update dave
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w, resourceVersion: "version(Widget/w)"}, spec: {size: large, parts: [{name: z}]}}
# get Widget/w
`},
	{"a custom resource that is refused", `
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: v}, spec: {}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: v}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: v}, spec: {size: medium, replicas: 11, code: ABC}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: v}, spec: {size: small, code: abcdefg, parts: [{name: a}, {name: b}, {name: c}, {name: d}]}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: v}, spec: {size: small, parts: [{name: a, count: "1"}]}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: v}, spec: {size: small, note: null, replicas: null, code: null}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: v2}, spec: {size: small, port: {}}}
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: v3}, spec: {size: medium}}
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: v3}, spec: {sice: small}}
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: v3}, spec: {size: small, replicas: x}}
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: v3}, spec: {size: small, parts: [{name: a}, {name: a}]}}
`},
	{"a custom resource without a status subresource", `
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Gadget, metadata: {name: NAMESPACE-g}, spec: {a: {b: 1}}, status: {ok: true}}
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Gadget, metadata: {name: NAMESPACE-g}, spec: {a: {b: 2}}, status: {ok: true}}
# apply bob
{apiVersion: sim.reconcel.dev/v1, kind: Gadget, metadata: {name: NAMESPACE-g}, status: {ok: false}}
# apply/status bob
{apiVersion: sim.reconcel.dev/v1, kind: Gadget, metadata: {name: NAMESPACE-g}, status: {ok: false}}
# delete Gadget/NAMESPACE-g
`},
}

package stories

// A Merge is a Pod template that is merged over another one. Both are YAML.
type Merge struct{ Name, Base, Patch string }

// Merges are merges on which mergeApply() and the API server must agree.
var Merges = []Merge{
	{
		"containers by name, new ones last", `
metadata: {labels: {app: x}}
spec:
  containers:
  - {name: a, image: "a:1", env: [{name: ONE, value: "1"}, {name: TWO, value: "2"}]}
  - {name: b, image: "b:1"}
`, `
metadata: {labels: {team: t}, annotations: {note: text}}
spec:
  containers:
  - {name: c, image: "c:1"}
  - {name: a, image: "a:2", env: [{name: TWO, value: "3"}, {name: FOUR, value: "4"}], resources: {limits: {memory: 1Gi}}}
`,
	}, {
		"ports by number and protocol", `
metadata: {labels: {app: x}}
spec: {containers: [{name: a, image: a, ports: [{containerPort: 80, name: web}, {containerPort: 53, protocol: UDP}]}]}
`, `
spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: TCP, name: http}, {containerPort: 53, protocol: TCP}]}]}
`,
	}, {
		"volumes and mounts", `
metadata: {labels: {app: x}}
spec:
  containers: [{name: a, image: a, volumeMounts: [{name: v, mountPath: /v}, {name: w, mountPath: /w}]}]
  volumes: [{name: v, emptyDir: {}}, {name: w, emptyDir: {}}]
`, `
spec:
  containers: [{name: a, volumeMounts: [{name: v, mountPath: /v, readOnly: true}, {name: x, mountPath: /x}]}]
  volumes: [{name: x, emptyDir: {medium: Memory}}, {name: w, emptyDir: {sizeLimit: 1Gi}}]
`,
	}, {
		"order", `
metadata: {labels: {app: x}}
spec:
  containers: [{name: a, image: a}]
  volumes: [{name: v1}, {name: v2}, {name: v3}, {name: v4}, {name: v5}]
`, `
spec:
  containers: [{name: a}]
  volumes: [{name: w1}, {name: v4}, {name: w2}, {name: v2}, {name: w3}]
`,
	}, {
		"lists without identity are replaced", `
metadata: {labels: {app: x}}
spec:
  containers: [{name: a, image: a, command: [a, b], args: [c]}]
  tolerations: [{key: a, operator: Exists}]
`, `
spec:
  containers: [{name: a, command: [d]}]
  tolerations: [{key: b, operator: Exists}]
`,
	}, {
		"scheduling, hosts and pull secrets", `
metadata: {labels: {app: x}}
spec:
  containers: [{name: a, image: a}]
  nodeSelector: {a: "1"}
  imagePullSecrets: [{name: one}]
  hostAliases: [{ip: 10.0.0.1, hostnames: [a]}]
  topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}]
`, `
spec:
  nodeSelector: {b: "2"}
  imagePullSecrets: [{name: two}, {name: one}]
  hostAliases: [{ip: 10.0.0.2, hostnames: [b]}, {ip: 10.0.0.1, hostnames: [c]}]
  topologySpreadConstraints:
  - {topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 2}
  - {topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, maxSkew: 1}
`,
	}, {
		"references and selectors", `
metadata: {labels: {app: x}}
spec:
  containers:
  - name: a
    image: a
    env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}]
    securityContext: {capabilities: {add: [A], drop: [B]}, runAsUser: 1}
  affinity:
    nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}
`, `
metadata: {labels: {app: x}}
spec:
  containers:
  - name: a
    env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: l}}}]
    securityContext: {capabilities: {add: [C]}}
  affinity:
    nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: b, operator: Exists}]}]}}
    podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {a: b}}}]}
`,
	}, {
		"init containers and devices", `
metadata: {labels: {app: x}}
spec:
  initContainers: [{name: i, image: i, restartPolicy: Always, env: [{name: A, value: a}]}]
  containers: [{name: a, image: a}]
`, `
spec:
  initContainers: [{name: j, image: j}, {name: i, env: [{name: B, value: b}]}]
  containers: [{name: a, livenessProbe: {tcpSocket: {port: 80}}}]
  terminationGracePeriodSeconds: 5
`,
	},
}

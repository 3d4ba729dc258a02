package sim_test

// newerStories are about updates that Kubernetes validates, and what it sets in new objects.
var newerStories = []story{
	{"a status with a default", `
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Gauge, metadata: {name: g}, spec: {port: 80}, status: {observedGeneration: 5}}
# get Gauge/g
# apply alice
{apiVersion: sim.reconcel.dev/v1, kind: Gauge, metadata: {name: h}, spec: {port: 80}}
# merge bob Gauge/h
{"spec": {"port": "http"}, "status": null}
# merge/status bob Gauge/h
{"status": {"observedGeneration": 2}}
# merge/status bob Gauge/h
{"status": null}
# get Gauge/h
`},
	{"integers or strings", `
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Gauge, metadata: {name: a}, spec: {port: 80, ports: [80, http], named: {a: 80, b: http}, even: 2, none: null}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Gauge, metadata: {name: b}, spec: {port: true}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Gauge, metadata: {name: b}, spec: {port: {a: b}}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Gauge, metadata: {name: b}, spec: {ports: [80, [81]]}}
# create alice
{apiVersion: sim.reconcel.dev/v1, kind: Gauge, metadata: {name: b}, spec: {named: {a: true}}}
`},
	{"claims", `
# create alice
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: p}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}}
# merge bob PersistentVolumeClaim/p
{"spec": {"resources": {"requests": {"storage": "3Gi"}}}}
# merge bob PersistentVolumeClaim/p
{"spec": {"storageClassName": "fast", "volumeName": "v"}}
# merge bob PersistentVolumeClaim/p
{"spec": {"volumeName": "w"}}
# merge/status bob PersistentVolumeClaim/p
{"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
# merge bob PersistentVolumeClaim/p
{"spec": {"resources": {"requests": {"storage": "1536Mi"}}}}
# merge bob PersistentVolumeClaim/p
{"spec": {"resources": {"requests": {"storage": "512Mi"}}}}
# merge bob PersistentVolumeClaim/p
{"spec": {"resources": {"limits": {"storage": "4Gi"}}}}
`},
	{"Jobs", `
# create alice
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {suspend: true, completionMode: Indexed, completions: 3, parallelism: 3, backoffLimitPerIndex: 1, template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}
# merge bob Job/j
{"spec": {"backoffLimitPerIndex": 2}}
# merge bob Job/j
{"spec": {"completions": 4}}
# merge bob Job/j
{"spec": {"completions": 4, "parallelism": 4}}
# merge bob Job/j
{"spec": {"template": {"spec": {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "a", "operator": "Exists"}]}}}}
# merge bob Job/j
{"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}}
# merge bob Job/j
{"spec": {"suspend": false}}
# merge bob Job/j
{"spec": {"template": {"spec": {"nodeSelector": {"disk": "hdd"}}}}}
`},
	{"names", `
# create alice
{apiVersion: batch/v1, kind: CronJob, metadata: {name: a-cron-job-whose-name-is-longer-than-that-of-its-jobs}, spec: {schedule: "@daily", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}}}}
# create alice
{apiVersion: batch/v1, kind: Job, metadata: {name: a-job-with-a-name-that-is-longer-than-the-value-of-a-label-can-be}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}}
# create alice
{apiVersion: batch/v1, kind: Job, metadata: {name: a.b}, spec: {completionMode: Indexed, completions: 2, template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}}
# create alice
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a.b}, spec: {serviceName: x, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}}
# create alice
{apiVersion: v1, kind: Service, metadata: {name: 1web}, spec: {ports: [{port: 80}]}}
# create alice
{apiVersion: v1, kind: Service, metadata: {name: web.a}, spec: {ports: [{port: 80}]}}
`},
	{"Pods with gates", `
# create alice
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}
# create alice
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {automountServiceAccountToken: false, activeDeadlineSeconds: 60, schedulingGates: [{name: x.dev/a}, {name: x.dev/b}], nodeSelector: {disk: ssd}, containers: [{name: main, image: x}]}
# merge bob Pod/p
{"spec": {"nodeSelector": {"zone": "a"}}}
# merge bob Pod/p
{"spec": {"nodeSelector": {"disk": null}}}
# merge bob Pod/p
{"spec": {"schedulingGates": [{"name": "x.dev/c"}]}}
# merge bob Pod/p
{"spec": {"activeDeadlineSeconds": 61}}
# merge bob Pod/p
{"spec": {"terminationGracePeriodSeconds": 5}}
# merge bob Pod/p
{"spec": {"schedulingGates": null}}
# merge bob Pod/p
{"spec": {"nodeSelector": {"rack": "a"}}}
`},
	{"the type of a Service", `
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, loadBalancerClass: x.dev/a, ports: [{port: 80}]}}
# merge/status bob Service/s
{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP"}]}}}
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, loadBalancerClass: x.dev/b, ports: [{port: 80}]}}
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: ClusterIP, ports: [{port: 80}]}}
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: ExternalName, externalName: example.com}}
# apply alice
{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: ClusterIP, ports: [{port: 80}]}}
`},
	{"more that cannot be changed", `
# apply alice
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: NAMESPACE}, provisioner: x.dev/a}
# merge bob StorageClass/NAMESPACE
{"provisioner": "x.dev/b"}
# delete StorageClass/NAMESPACE
# apply alice
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: NAMESPACE}, value: 1}
# merge bob PriorityClass/NAMESPACE
{"value": 2}
# delete PriorityClass/NAMESPACE
# apply alice
{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: NAMESPACE}, spec: {controller: x.dev/a}}
# merge bob IngressClass/NAMESPACE
{"spec": {"controller": "x.dev/b"}}
# delete IngressClass/NAMESPACE
# apply alice
{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: NAMESPACE}, handler: a}
# merge bob RuntimeClass/NAMESPACE
{"handler": "b"}
# delete RuntimeClass/NAMESPACE
# apply alice
{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: "1"}, scopes: [Terminating, NotBestEffort]}}
# merge bob ResourceQuota/q
{"spec": {"scopes": ["NotBestEffort"]}}
# merge bob ResourceQuota/q
{"spec": {"scopes": ["NotBestEffort", "Terminating"]}}
# apply alice
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: e}, addressType: IPv4, endpoints: []}
# merge bob EndpointSlice/e
{"addressType": "IPv6"}
`},
}

package check

import (
	"strings"
	"testing"

	"reconcel/rules/source"
)

// mutation is a mistake in an example.
type mutation struct {
	example  string
	from, to string // the first occurrence is replaced
	want     string // part of the finding
}

var mutations = []mutation{
	// Typos in fields that a rule reads.
	{"foo", "self.spec.deploymentName}", "self.spec.deplymentName}", "did you mean 'deploymentName'?"},
	{"foo", "${self.spec.replicas}", "${self.spec.replica}", "did you mean 'replicas'?"},
	{"foo", "deployment.status.?availableReplicas", "deployment.status.?availableReplica", "did you mean 'availableReplicas'?"},
	{"foo", "self.spec.?deploymentName", "self.spec.?deploymntName", "did you mean 'deploymentName'?"},
	{"sample", "self.spec.message", "self.spec.mesage", "did you mean 'message'?"},
	{"webapp", "has(self.spec.service)", "has(self.spec.servce)", "did you mean 'service'?"},
	{"webapp", "service.spec.ports[0].port}", "service.spec.ports[0].prt}", "did you mean 'port'?"},
	{"webapp", "ingress.spec.tls", "ingress.spec.tsl", "did you mean 'tls'?"},
	{"workerpool", "${worker.queue}", "${worker.que}", "did you mean 'queue'?"},
	{"workerpool", `isTrue(p, "Ready")`, "p.?status.?condition.hasValue()", "did you mean 'conditions'?"},
	{"workerpool", `isTrue(p, "Ready")`, `p.?status.?conditions.orValue([]).exists(c, c.typ == "Ready")`, "did you mean 'type'?"},
	{"workerpool", `isTrue(p, "Ready")`, `isTrue(p.spec, "Ready")`, "undefined field 'status'"},
	{"workerpool", `isTrue(p, "Ready")`, `isTrue(p, 1)`, "isTrue() takes an object and the type of a condition"},
	{"workerpool", `isTrue(p, "Ready")`, `condition(p, "Ready")`, "must be true or false"},
	{"workerpool", "self.spec.workers.map(w, w.name)", "self.spec.workers.map(w, w.nme)", "did you mean 'name'?"},
	{"databasemanager", "${server.image}", "${server.imge}", "did you mean 'image'?"},
	{"databasemanager", "orValue(servers.mysql)", "orValue(servers.mysqll)", "did you mean 'mysql'?"},
	{"job-gate", "child.status.?succeeded", "child.status.?succeed", "did you mean 'succeeded'?"},
	{"job-gate", `":" + self.spec.version`, `":" + self.spec.verson`, "did you mean 'version'?"},
	{"job-gate", "self.spec.migrate}", "self.spec.migrat}", "did you mean 'migrate'?"},
	{"pipeline", `isTrue(j, "Complete")`, "j.status.suceeded > 0", "did you mean 'succeeded'?"},
	{"pipeline", "previous(jobs)", "previous(jobs).metadata", "has no fields"},
	{"preview", "elapsed(created, self.spec.ttl)", "elapsed(created, self.spec.tll)", "did you mean 'ttl'?"},
	{"preview", "elapsed(created, self.spec.ttl)", "elapsed(self.spec.replicas, self.spec.ttl)", "elapsed() does not take (integer, string)"},
	{"service-per-pod", "c.?ports.orValue", "c.?port.orValue", "did you mean 'ports'?"},
	{"service-per-pod", "string(p.containerPort)", "string(p.port)", "undefined field 'port'"},
	{"config-propagation", "n.?status.?phase", "n.?status.?phas", "did you mean 'phase'?"},
	{"config-propagation", "${target.metadata.name}", "${target.metdata.name}", "did you mean 'metadata'?"},
	{"chain", "${webapp.status.url}", "${webapp.status.ur}", "did you mean 'url'?"},
	{"replicaset-pod-count", "${self.spec.selector}", "${self.spec.selectr}", "did you mean 'selector'?"},
	{"podset", "${existing(pods).map(p, p.metadata.name)}", "${existing(pods).map(p, p.metadata.nam)}", "did you mean 'name'?"},
	{"backup-on-delete", "self.spec.backup.url}", "self.spec.backup.uri}", "did you mean 'url'?"},
	{"namespace-decorator", "annotation(self", "self.metadata.?anotations.optMap(self", "did you mean 'annotations'?"},
	{"namespace-decorator", "annotation(self", "annotation(self.metadata", "undefined field 'metadata'"},

	// Typos in fields that a rule writes.
	{"foo", "        replicas: ${", "        replcas: ${", "did you mean 'replicas'?"},
	{"foo", "image: nginx:latest", "imgae: nginx:latest", "did you mean 'image'?"},
	{"foo", "matchLabels:", "matchLabel:", "did you mean 'matchLabels'?"},
	{"backup-on-delete", "secretKeyRef:", "secretKeyref:", "did you mean 'secretKeyRef'?"},
	{"backup-on-delete", "emptyDir: {}", "emptyDri: {}", "did you mean 'emptyDir'?"},
	{"databasemanager", "valueFrom:", "valuFrom:", "did you mean 'valueFrom'?"},
	{"service-per-pod", `"protocol": p`, `"protcol": p`, "did you mean 'protocol'?"},
	{"webapp", `"secretName": s`, `"secretname": s`, "did you mean 'secretName'?"},
	{"webapp", "pathType: Prefix", "pathtype: Prefix", "did you mean 'pathType'?"},
	{"chain", "service: {}", "servce: {}", "did you mean 'service'?"},
	{"chain", `{"host": h}`, `{"hots": h}`, "did you mean 'host'?"},
	{"job-gate", "backoffLimit:", "backOffLimit:", "did you mean 'backoffLimit'?"},
	{"namespace-decorator", "policyTypes:", "policyType:", "did you mean 'policyTypes'?"},
	{"config-propagation", "binaryData: $", "binarydata: $", "did you mean 'binaryData'?"},

	// Status that the API server drops.
	{"foo", "    availableReplicas: ${", "    availableReplica: ${", "which the API server drops"},
	{"podset", "pod_names:", "podNames:", "which the API server drops"},
	{"workerpool", "    missing: ${", "    missed: ${", "which the API server drops"},

	// Values of another type.
	{"podset", "replicas: ${size(existing(pods))}", "replicas: ${string(size(existing(pods)))}", "expected integer, got string"},
	{"podset", "replicas: self.spec.replicas", "replicas: self.metadata.name", "must be a whole number"},
	{"podset", `command: [sleep, "3600"]`, `command: [sleep, 3600]`, "expected string, got integer"},
	{"podset", `command: [sleep, "3600"]`, `command: sleep`, "expected list of string, got string"},
	{"sample", "runAsUser: 65534", `runAsUser: "65534"`, "write 65534 without quotes"},
	{"sample", "runAsNonRoot: true", "runAsNonRoot: 1", "expected boolean, got integer"},
	{"sample", "${self.spec.replicas}\n        selector", "${self.spec.message}\n        selector", "expected integer, got string"},
	{"sample", "replicas: ${self.spec.replicas}", "replicas: ${self.spec.replicas} Pods", "expected integer, got string"},
	{"sample", "available >= self.spec.replicas", "available >= self.spec.message", "does not take"},
	{"sample", "value: ${self.spec.message}", "value: ${self.spec.replicas}", "write string(...)"},
	{"replicaset-pod-count", "${string(size(pods))}", "${size(pods)}", "expected string, got integer"},
	{"workerpool", "worker: self.spec.workers", "worker: self.spec.image", "must be a list"},
	{"workerpool", "missing: ${missing}", "missing: ${size(missing)}", "expected list of string, got integer"},
	{"workerpool", "maxUnavailable: self.spec.maxUnavailable", "maxUnavailable: self.spec.image", "must be a whole number"},
	{"webapp", "when: has(self.spec.service)", "when: self.spec.service", "must be true or false"},
	{"webapp", "ports:\n        - name: http\n          port: ${self.spec.service.port}", "ports:\n        - name: http\n          port: ${self.spec.image}", "expected integer, got string"},
	{"job-gate", "command: ${self.spec.migrate}", "command: ${self.spec.version}", "expected list"},
	{"job-gate", "cpu: 50m", "cpu: 50 m", "is not a quantity"},
	{"namespace-decorator", "automountServiceAccountToken: false", `automountServiceAccountToken: "no"`, "expected boolean, got string"},
	{"config-propagation", "copies: ${size(existing(copies))}", "copies: ${existing(copies)}", "expected integer, got list"},
	{"chain", "namespace: ${home.metadata.name}", "namespace: ${home.metadata}", "expected string, got map"},

	// Literals that violate a schema.
	{"job-gate", "restartPolicy: Never", "restartPolicy: never", "did you mean 'Never'?"},
	{"job-gate", `? "Running" : "Pending"}'` + "\n", `? "Runnning" : "Pending"}'` + "\n", "did you mean 'Running'?"},
	{"job-gate", "capabilities: {drop: [ALL]}", "capabilities: {drop: ALL}", "expected list of string, got string"},
	{"sample", "type: RuntimeDefault", "type: RuntimeDefaults", "did you mean 'RuntimeDefault'?"},
	{"backup-on-delete", "runAsUser: 70", "runAsUser: 70.5", "expected integer, got number"},
	{"chain", "image: ${self.spec.image}", `image: ""`, "at least 1 are needed"},
	{"chain", "replicas: ${self.spec.replicas}", "replicas: 200", "must be at most 100"},
	{"chain", `'${self.spec.?host.optMap(h, {"host": h})}'`, "{host: A.example.com}", "does not match"},

	// Lets in the wrong place.
	{"foo", "selector:\n          matchLabels: ${labels}", "selector: ${labels}", `the let "labels" has none of its fields (it has matchExpressions, matchLabels)`},

	// Missing fields.
	{"foo", "        selector:\n          matchLabels: ${labels}\n", "", "missing required field 'selector'"},
	{"podset", "        - name: busybox\n          image", "        - image", "missing required field 'name'"},
	{"webapp", "pathType: Prefix", "", "missing required field 'pathType'"},
	{"webapp", "          port: ${self.spec.service.port}\n", "", "missing required field 'port'"},
	{"chain", "        image: ${self.spec.image}\n", "", "missing required field 'image'"},
	{"service-per-pod", `"port": p.containerPort,`, "", "missing required field 'port'"},
	{"namespace-decorator", "        podSelector: {} # all Pods\n        policyTypes: [Ingress, Egress]", "        ingress: [{ports: [{port: {}}]}]", "expected integer or string"},
	{"backup-on-delete", "key: ${self.spec.passwordSecretRef.?key.orValue(\"password\")}", "", "missing required field 'key'"},
	{"backup-on-delete", "{name: data, mountPath: /data}", "{name: data}", "missing required field 'mountPath'"},

	// Missing guards.
	{"webapp", "    when: has(self.spec.service)\n", "", "self.spec.service may be absent: write self.spec.?service"},
	{"webapp", "    when: has(self.spec.ingress)\n", "", "self.spec.ingress may be absent"},
	{"webapp", "self.spec.ingress.?className", "self.spec.ingress.className", "self.spec.ingress.className may be absent: write self.spec.ingress.?className.orValue(...)"},
	{"webapp", "when: has(self.spec.ingress)", "when: has(self.spec.service)", "self.spec.ingress may be absent"},
	{"foo", "  validate:\n  - expression: self.spec.?deploymentName.orValue(\"\") != \"\"\n    message: spec.deploymentName must be set\n", "", "self.spec.deploymentName may be absent"},
	{"foo", `self.spec.?deploymentName.orValue("") != ""`, `self.spec.deploymentName != ""`, "self.spec.deploymentName may be absent"},
	{"databasemanager", "has(self.spec.rootPasswordSecretRef) ? givenPassword : randomPassword", "givenPassword", "self.spec.rootPasswordSecretRef may be absent"},
	{"databasemanager", "has(self.spec.rootPasswordSecretRef) ? givenPassword : randomPassword", "has(self.spec.rootPasswordSecretRef) ? randomPassword : givenPassword", "self.spec.rootPasswordSecretRef may be absent"},
	{"backup-on-delete", "  - id: backup\n    when: has(self.spec.backup)\n", "  - id: backup\n", "self.spec.backup may be absent"},
	{"backup-on-delete", `has(self.spec.backup) ? "on deletion, to " + self.spec.backup.url`, `!has(self.spec.backup) ? "on deletion, to " + self.spec.backup.url`, "self.spec.backup may be absent"},
	{"chain", "${self.spec.?displayName}", "${self.spec.displayName}", "self.spec.displayName may be absent"},
	{"chain", "${self.spec.?displayName}", "Tenant ${self.spec.?displayName}", "text needs a value"},
	{"chain", `'${self.spec.?host.optMap(h, {"host": h})}'`, `'${{"host": self.spec.host}}'`, "self.spec.host may be absent"},
	{"namespace-decorator", `annotation(self, "platform.example.com/max-pods").orValue("20")`, "self.metadata.annotations[\"platform.example.com/max-pods\"]", "self.metadata.annotations may be absent"},
	{"service-per-pod", `annotation(self, "platform.example.com/service-per-pod")`, `self.metadata.annotations[?"platform.example.com/service-per-pod"]`, "self.metadata.annotations may be absent"},
	{"service-per-pod", "self.spec.?ordinals.?start.orValue(0)", "self.spec.ordinals.start", "self.spec.ordinals may be absent"},
	{"service-per-pod", "c.?ports.orValue([])", "c.ports", "c.ports may be absent: write c.?ports.orValue(...)"},
	{"service-per-pod", `p.?name.orValue("port-" + string(p.containerPort))`, "p.name", "p.name may be absent"},

	// Names and kinds.
	{"namespace-decorator", "name: default-deny", "name: default_deny", "cannot be the name of a NetworkPolicy"},
	{"job-gate", "metadata:\n        name: ${jobName}", "metadata:\n        name: Job-${jobName}", "cannot be part of a name"},
	{"chain", "name: web\n", "name: Web\n", "cannot be the name of a WebApp"},
	{"chain", "    - {group: \"\", kind: Namespace}", "    - {group: \"\", kind: ConfigMap}", "Namespace is cluster-scoped"},
	{"chain", "        namespace: ${space}\n", "", "missing namespace"},
	{"foo", "kind: Deployment", "kind: Deploymnt", "did you mean 'Deployment'?"},
	{"foo", "apiVersion: apps/v1", "apiVersion: app/v1", "write apps/v1"},
	{"foo", "apiVersion: apps/v1", "apiVersion: apps/v2", "only apps/v1"},
	{"foo", "samplecontroller.k8s.io/v1alpha1", "samplecontroller.k8s.io/v1", "only samplecontroller.k8s.io/v1alpha1"},
	{"namespace-decorator", "name: deployer\n", "name: deployer\n        labels: {\"a b\": x}\n", "cannot be a key"},
	{"webapp", "app.kubernetes.io/name: webapp", "app.kubernetes.io/name: web app", "cannot be the value of a label"},
}

// TestMutations makes mistakes and expects a finding for each.
func TestMutations(t *testing.T) {
	set := crds(t)
	sources := map[string]source.File{}
	for _, s := range examples(t) {
		sources[strings.TrimSuffix(s.Name, ".yaml")] = s
	}
	for _, m := range mutations {
		t.Run(m.example+"/"+strings.TrimSpace(m.to), func(t *testing.T) {
			source := sources[m.example]
			if !strings.Contains(string(source.Data), m.from) {
				t.Fatalf("the example has no %q", m.from)
			}
			source.Data = []byte(strings.Replace(string(source.Data), m.from, m.to, 1))
			f := found(t, set, source)
			if got := report(t, f, source); !strings.Contains(got, m.want) {
				t.Errorf("want %q, got:\n%s", m.want, got)
			}
		})
	}
}

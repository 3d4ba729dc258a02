package lint

import (
	"strings"
	"testing"
)

var siblings = inRule(`  let:
    settings: self.metadata.name + "-config"
  lookups:
  - {id: token, apiVersion: v1, kind: Secret, name: "${self.metadata.name}-tokens"}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-config"}
      data: {LOG_LEVEL: info, color: red}
  - id: tokens
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${self.metadata.name}-token"}
      stringData: {token: "${self.spec.token}"}
  - id: account
    template:
      apiVersion: v1
      kind: ServiceAccount
      metadata: {name: "${self.metadata.name}-account"}
  - id: web
    template:
      apiVersion: apps/v1
      kind: StatefulSet
      metadata: {name: "${self.metadata.name}"}
      spec:
        serviceName: ${service.metadata.name}
        selector: {matchLabels: {app: web}}
        volumeClaimTemplates:
        - metadata: {name: claimed}
          spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
        template:
          metadata: {labels: {app: web}}
          spec:
            serviceAccountName: ${self.metadata.name}-account
            containers:
            - name: web
              image: web
              ports:
              - {name: http, containerPort: 8080}
              livenessProbe: {httpGet: {port: http}}
              readinessProbe: {tcpSocket: {port: 8080}}
              env:
              - name: LOG_LEVEL
                valueFrom: {configMapKeyRef: {name: "${settings}", key: LOG_LEVEL}}
              - name: TOKEN
                valueFrom: {secretKeyRef: {name: "${self.metadata.name}-tokens", key: any}}
              - name: OWN
                valueFrom:
                  secretKeyRef:
                    name: ${tokens.metadata.name}
                    key: token
              volumeMounts:
              - {name: data, mountPath: /data}
              - {name: claimed, mountPath: /claimed}
            volumes:
            - name: data
              configMap:
                name: ${config.metadata.name}
                items: [{key: color, path: c}]
  - id: service
    template:
      apiVersion: v1
      kind: Service
      metadata: {name: "${self.metadata.name}-web"}
      spec:
        selector: {app: web}
        ports:
        - {name: main, port: 80, targetPort: http}
  - id: ingress
    template:
      apiVersion: networking.k8s.io/v1
      kind: Ingress
      metadata: {name: "${self.metadata.name}"}
      spec:
        rules:
        - http:
            paths:
            - path: /
              pathType: Prefix
              backend: {service: {name: "${self.metadata.name}-web", port: {name: main}}}
  - id: scaler
    template:
      apiVersion: autoscaling/v2
      kind: HorizontalPodAutoscaler
      metadata: {name: "${self.metadata.name}"}
      spec:
        maxReplicas: 3
        scaleTargetRef:
          apiVersion: apps/v1
          kind: StatefulSet
          name: ${self.metadata.name}
`)

func TestVolumeMount(t *testing.T) {
	finds(t, VolumeMount, siblings, []mistake{
		{"a misspelt mount", "{name: data, mountPath", "{name: date, mountPath", "did you mean 'data'?"},
		{"no such volume", "{name: claimed, mountPath", "{name: cache, mountPath", `the Pod has no volume "cache"`},
		{"an unknown name", "{name: data, mountPath", `{name: "${self.spec.volume}", mountPath`, ""},
	})
}

func TestProbePort(t *testing.T) {
	finds(t, ProbePort, siblings, []mistake{
		{"a misspelt port", "{httpGet: {port: http}}", "{httpGet: {port: htpp}}", "did you mean 'http'?"},
		{"another port", "{tcpSocket: {port: 8080}}", "{tcpSocket: {port: health}}", `the container has no port "health"`},
		{"a number", "{httpGet: {port: http}}", "{httpGet: {port: 9090}}", ""},
	})
}

func TestTargetPort(t *testing.T) {
	finds(t, TargetPort, siblings, []mistake{
		{"a misspelt port", "targetPort: http", "targetPort: htpp", "did you mean 'http'?"},
		{"a number", "targetPort: http", "targetPort: 9", ""},
	})
}

func TestSiblingName(t *testing.T) {
	finds(t, SiblingName, siblings, []mistake{
		{"a ServiceAccount", "serviceAccountName: ${self.metadata.name}-account", "serviceAccountName: ${self.metadata.name}-acount", "did you mean '${self.metadata.name}-account'?"},
		{"a Service", `backend: {service: {name: "${self.metadata.name}-web"`, `backend: {service: {name: "${self.metadata.name}-wbe"`, "Service"},
		{"another letter", "serviceAccountName: ${self.metadata.name}-account", "serviceAccountName: ${self.metadata.name}-accovnt", "did you mean '${self.metadata.name}-account'?"},
		{"another last letter", "serviceAccountName: ${self.metadata.name}-account", "serviceAccountName: ${self.metadata.name}-accouns", ""},
		{"another object", "serviceAccountName: ${self.metadata.name}-account", "serviceAccountName: default", ""},
		{"another expression", "serviceAccountName: ${self.metadata.name}-account", "serviceAccountName: ${self.metadata.nam}-account", ""},
	})
}

func TestMissingKey(t *testing.T) {
	finds(t, MissingKey, siblings, []mistake{
		{"a key of a ConfigMap", "key: LOG_LEVEL}", "key: LOGLEVEL}", "did you mean 'LOG_LEVEL'?"},
		{"a key of a Secret", "                    key: token", "                    key: tokn", "has no key \"tokn\""},
		{"an item", "{key: color, path", "{key: colour, path", "did you mean 'color'?"},
		{"an optional key", "key: LOG_LEVEL}", "key: LOGLEVEL, optional: true}", ""},
		{"unknown data", "data: {LOG_LEVEL: info, color: red}", "data: ${self.spec.data}", ""},
	})
}

func TestBackendPort(t *testing.T) {
	finds(t, BackendPort, siblings, []mistake{
		{"a name", "port: {name: main}", "port: {name: mian}", "did you mean 'main'?"},
		{"a number", "port: {name: main}", "port: {number: 8080}", "has no port 8080"},
		{"the number", "port: {name: main}", "port: {number: 80}", ""},
	})
}

func TestScaleTarget(t *testing.T) {
	finds(t, ScaleTarget, siblings, []mistake{
		{"a misspelt kind", "          kind: StatefulSet\n          name", "          kind: StatefullSet\n          name", "did you mean 'apps/v1 StatefulSet'?"},
		{"a kind that cannot be scaled", "          kind: StatefulSet\n          name", "          kind: DaemonSet\n          name", "no kind DaemonSet that can be scaled"},
		{"a version that is gone", "          apiVersion: apps/v1\n", "          apiVersion: extensions/v1beta1\n", "extensions/v1beta1 has no kind"},
		{"a custom kind", "          apiVersion: apps/v1\n          kind: StatefulSet\n          name", "          apiVersion: argoproj.io/v1\n          kind: Rollout\n          name", ""},
	})
}

var scaled = inRule(`  children:
  - id: web
    ignoreFields: [spec.replicas]
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}"}
      spec:
        replicas: 3
        selector: {matchLabels: {app: web}}
        template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}
  - id: hpa
    template:
      apiVersion: autoscaling/v2
      kind: HorizontalPodAutoscaler
      metadata: {name: "${self.metadata.name}"}
      spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: "${web.metadata.name}"}}
`)

func TestScaledReplicas(t *testing.T) {
	const begin = "    ignoreFields: [spec.replicas]\n    template:\n      apiVersion: apps/v1\n      kind: Deployment\n      metadata: {name: \"${self.metadata.name}\"}\n      spec:\n        replicas: 3\n"
	workload := func(keys, replicas string) string {
		return strings.Replace(strings.Replace(begin, "    ignoreFields: [spec.replicas]\n", keys, 1), "replicas: 3", replicas, 1)
	}
	finds(t, ScaledReplicas, scaled, []mistake{
		{"a number", begin, workload("", "replicas: 3"), `spec.replicas: the HorizontalPodAutoscaler of child "hpa" scales it`},
		{"a field", begin, workload("", "replicas: ${self.spec.replicas}"), "the rule undoes that"},
		{"a default", begin, workload("", "replicas: ${self.spec.?replicas.orValue(1)}"), "the rule undoes that"},
		{"left out sometimes", begin, workload("", "replicas: ${when(!self.spec.autoscaled, self.spec.replicas)}"), ""},
		{"optional", begin, workload("", "replicas: ${self.spec.?replicas}"), ""},
		{"left out", begin, workload("", "paused: false"), ""},
		{"ignored sometimes", begin, workload("    ignoreFields: [{path: spec.replicas, when: self.spec.autoscaled}]\n", "replicas: 3"), ""},
		{"another target", `name: "${web.metadata.name}"`, "name: other", ""},
	})
}

package lint

import "testing"

var sound = inRule(`  children:
  - id: web
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}"}
      spec:
        replicas: 2
        strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web, version: "1.0"}}
          spec:
            restartPolicy: Always
            containers:
            - name: web
              image: web:1
              ports: [{name: http, containerPort: 8080}]
              env:
              - {name: WORKERS, value: "4"}
              - {name: LEVEL, value: "${self.spec.level}"}
              readinessProbe: {httpGet: {port: http}, periodSeconds: 5}
              resources: {requests: {cpu: 100m}, limits: {cpu: 1}}
            volumes:
            - {name: data, emptyDir: {}}
            - {name: more, emptyDir: {}}
  - id: cleanup
    template:
      apiVersion: batch/v1
      kind: CronJob
      metadata: {name: "${self.metadata.name}"}
      spec:
        schedule: "30 4 * * *"
        jobTemplate: {spec: {backoffLimit: 1, template: {spec: {restartPolicy: Never, containers: [{name: work, image: "work:1"}]}}}}
  - id: service
    template:
      apiVersion: v1
      kind: Service
      metadata: {name: "${self.metadata.name}"}
      spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}
  - id: budget
    template:
      apiVersion: policy/v1
      kind: PodDisruptionBudget
      metadata: {name: "${self.metadata.name}"}
      spec: {selector: {matchLabels: {app: web}}, minAvailable: 1}
  - id: ingress
    template:
      apiVersion: networking.k8s.io/v1
      kind: Ingress
      metadata: {name: "${self.metadata.name}"}
      spec:
        rules:
        - host: www.example.com
          http: {paths: [{path: /api, pathType: Prefix, backend: {service: {name: "${self.metadata.name}", port: {number: 80}}}}]}
`)

func TestAPIRule(t *testing.T) {
	finds(t, APIRule, sound, []mistake{
		{"no image", "- name: web\n              image: web:1", "- name: web", "a container needs an image"},
		{"a misspelt image, which is another mistake", "image: web:1", "imgae: web:1", ""},
		{"an empty image", "image: web:1", `image: ""`, "containers[0].image: a container needs an image"},
		{"a Job without restartPolicy", "{spec: {restartPolicy: Never, ", "{spec: {", "a Job needs restartPolicy OnFailure or Never"},
		{"a Job that always restarts", "{spec: {restartPolicy: Never, ", "{spec: {restartPolicy: Always, ", "a Job needs"},
		{"a Deployment that does not restart", "restartPolicy: Always", "restartPolicy: Never", "always Always"},
		{"a strategy", "{type: RollingUpdate,", "{type: Recreate,", "strategy.rollingUpdate: rollingUpdate is not allowed with the type Recreate"},
		{"two values", `value: "4"}`, `value: "4", valueFrom: {fieldRef: {fieldPath: metadata.name}}}`, "not both"},
		{"two sources", "{name: data, emptyDir: {}}", "{name: data, emptyDir: {}, hostPath: {path: /x}}", "a volume has one source"},
		{"two handlers", "{httpGet: {port: http}, periodS", "{httpGet: {port: http}, exec: {command: [x]}, periodS", "a probe has one of"},
		{"no handler", "{httpGet: {port: http}, periodS", "{periodS", "a probe has one of"},
		{"a budget", "minAvailable: 1", "minAvailable: 1, maxUnavailable: 1", "not both"},
		{"limits", "requests: {cpu: 100m}", "requests: {cpu: 2}", "requests.cpu: a request is at most its limit"},
		{"ports without names", "ports: [{name: http, port: 80, targetPort: http}]", "ports: [{name: http, port: 80}, {port: 81}]", "ports[1]: with several ports, each one needs a name"},
		{"two ports of a name", "ports: [{name: http, port: 80, targetPort: http}]", "ports: [{name: http, port: 80}, {name: http, port: 81}]", "ports[1].name: the name is used twice"},
		{"an unknown strategy", "{type: RollingUpdate,", `{type: "${self.spec.strategy}",`, ""},
		{"an unknown image", "image: web:1", "image: ${self.spec.?image}", ""},
		{"a value that null leaves out", `value: "4"}`, `value: "4", valueFrom: null}`, ""},
	})
}

func TestValueForm(t *testing.T) {
	finds(t, ValueForm, sound, []mistake{
		{"four fields", `"30 4 * * *"`, `"30 4 * *"`, "has 4 fields"},
		{"a minute", `"30 4 * * *"`, `"60 4 * * *"`, `"60" is not a minute, from 0 to 59`},
		{"a macro", `"30 4 * * *"`, `"@dayly"`, `"@dayly" is not one of @yearly`},
		{"names and steps", `"30 4 * * *"`, `"*/5 0-6/2 1,15 JAN-mar sun"`, ""},
		{"a day", `"30 4 * * *"`, `"0 0 * * 7"`, "day of week"},
		{"a time zone", `"30 4 * * *"`, `"TZ=UTC 30 4 * * *"`, "timeZone"},
		{"port 0", "containerPort: 8080", "containerPort: 0", "0 is not between 1 and 65535"},
		{"port 70000", "containerPort: 8080", "containerPort: 70000", "70000"},
		{"replicas", "replicas: 2", "replicas: -1", "-1 is not between 0"},
		{"a probe", "periodSeconds: 5", "periodSeconds: -5", "-5"},
		{"a percentage", "maxSurge: 25%", `maxSurge: "25"`, "neither a number nor a percentage"},
		{"a quantity", "requests: {cpu: 100m}", "requests: {cpu: -100m}", "-100m is negative"},
		{"a URL", "host: www.example.com", "host: https://www.example.com", "is not a DNS name"},
		{"an address", "host: www.example.com", "host: 10.0.0.1", "is an address"},
		{"a wildcard", "host: www.example.com", `host: "*.example.com"`, ""},
		{"a path", "path: /api", "path: api", `"api" does not begin with /`},
		{"a variable", "{name: WORKERS, value", "{name: WORKERS=4, value", "write the value in value"},
		{"a container", "- name: web\n              image", "- name: My_app\n              image", "is not a name of at most 63"},
		{"a label", `version: "1.0"`, `version: "1.0 beta"`, "cannot be the value of a label"},
	})
}

package mistakes

import "slices"

// Parts of the regular expressions of operators.
const (
	// languageKeys are keys of an entry of children, lookups and the like.
	languageKeys = `template|when|readyWhen|failWhen|onChange|onDelete|after|forEach|replicas|timeout|ignoreFields|maxUnavailable|expression|message|reason`
	// fields are fields of Kubernetes' kinds that occur in templates.
	fields = `replicas|selector|matchLabels|template|metadata|spec|containers|initContainers|image|ports|containerPort|env|valueFrom|secretKeyRef|configMap|` +
		`resources|requests|limits|readinessProbe|livenessProbe|startupProbe|httpGet|tcpSocket|exec|periodSeconds|initialDelaySeconds|failureThreshold|` +
		`volumeMounts|mountPath|subPath|volumes|emptyDir|persistentVolumeClaim|claimName|serviceName|serviceAccountName|clusterIP|targetPort|protocol|` +
		`command|args|securityContext|runAsNonRoot|runAsUser|fsGroup|seccompProfile|capabilities|allowPrivilegeEscalation|terminationGracePeriodSeconds|` +
		`strategy|updateStrategy|rollingUpdate|maxSurge|podManagementPolicy|volumeClaimTemplates|accessModes|storageClassName|` +
		`schedule|concurrencyPolicy|jobTemplate|backoffLimit|activeDeadlineSeconds|restartPolicy|ttlSecondsAfterFinished|successfulJobsHistoryLimit|` +
		`host|paths|pathType|backend|number|ingressClassName|scaleTargetRef|minReplicas|maxReplicas|metrics|averageUtilization|` +
		`podSelector|policyTypes|topologyKey|labelSelector|podAffinityTerm|imagePullPolicy|labels|annotations`
	// wholeExpression is the value of a field that is one expression.
	wholeExpression = `\$\{([^{}"']+)\}`
	integerStatus   = `replicas|availableReplicas|readyReplicas|frontends|instances|jobs|targets|copies|desiredWorkers|readyWorkers`
)

// operators are the classes of mistakes, in groups. Their numbers follow how often people
// make them.
var operators = slices.Concat(language, texts, expressions, templates, parts, access, crds)

// language are mistakes in the YAML and the keys of rules.
var language = []operator{
	{class: "language/key-typo", n: 10, from: `^  (?P<at>for|let|children|status|conditions|lookups|validate|allow|finalize|patch|requeueAfter|onRuleRemoval):`, edit: typo},
	{class: "language/entry-key-typo", n: 10, from: `^(?:    |  - )(?P<at>` + languageKeys + `):`, edit: typo},
	{class: "language/key-case", n: 6, from: `^(?:    |  - )(?P<at>[a-z]+[A-Z]\w+): `, edit: otherCase},
	{class: "language/foreign-when", n: 4, from: `^(?:    |  - )(?P<at>when): `, to: []string{"includeWhen", "if", "condition", "enabled"}},
	{class: "language/foreign-key", n: 8, from: `^  (?:  )?(?P<at>forEach|children|let|lookups|after):`, to: []string{"resources", "objects", "variables", "vars", "dependsOn", "each", "externalRefs"}},
	{class: "language/missing-key", n: 8, from: `^    (?:kind|apiVersion): .*\n|^      in: .*\n|^  - type: .*\n(?P<at>    when: .*\n)`, to: []string{""}, above: true},
	{class: "language/wrong-value", n: 8, from: `^ +(?:onChange|onDelete|onRuleRemoval|timeout|requeueAfter): (?P<at>.*)$`, to: []string{"recreate", "Replace", "update", "retain", "never", "10", "1hour"}},
	{class: "language/duplicate-key", n: 6, from: `^ {4,}[a-zA-Z]+: .+\n`, to: []string{`\0\0`}},
	{class: "language/duplicate-id", n: 5, from: `(?s)^  - id: (\w+)\n[^#]*?^  - id: (?P<at>\w+)$`, to: []string{`\1`}, ends: `- id: `},
	{class: "language/indented-more", n: 14, from: `^(?P<at> *)(?:- )?[a-zA-Z]+:`, to: []string{`\1 `, `\1  `}},
	{class: "language/indented-less", n: 14, from: `^(?P<at>  +)(?:- )?[a-zA-Z]+:`, edit: oneLess},
	{class: "language/tab", n: 4, from: `^(?P<at>  +)[a-zA-Z]+:`, to: []string{"\t", "\t\t"}},
	{class: "language/no-colon", n: 6, from: `^ +(?:- )?[a-zA-Z]+(?P<at>: )[a-zA-Z0-9$]`, to: []string{" ", "= ", "="}},
	{class: "language/no-blank", n: 6, from: `^ +(?:- )?[a-zA-Z]+(?P<at>: )[a-zA-Z0-9$]`, to: []string{":"}},
	{class: "language/no-blank-in-braces", n: 5, from: `\{[a-zA-Z]+(?P<at>: )[a-zA-Z0-9]`, to: []string{":"}},
	{class: "language/no-blank-after-dash", n: 5, from: `^ +(?P<at>- )\w+:`, to: []string{"-"}},
	{class: "language/no-dash", n: 6, from: `^ +(?P<at>- )(?:name|id|type|expression|port|containerPort): `, to: []string{"  ", ""}},
	{class: "language/quote-open", n: 6, from: `: ['"][^\n]+(?P<at>['"])$`, to: []string{""}},
	{class: "language/quotes-missing", n: 8, from: `: (?P<at>['"]([^\n]+)['"])$`, to: []string{`\2`}},
	{class: "language/header", n: 5, from: `^apiVersion: (?P<at>reconcel.dev/v1alpha1)$`, to: []string{"reconcel.dev/v1", "reconcel/v1alpha1", "v1"}},
	{class: "language/header-kind", n: 3, from: `^kind: (?P<at>Rules)$`, to: []string{"Rule", "rules", "RuleSet"}},
	{class: "language/rule-name", n: 4, from: `^- name: (?P<at>.*)$`, to: []string{"My_Rule", "a rule", "Rule"}},
	{class: "language/id", n: 5, from: `^  - id: (?P<at>(\w+))$`, to: []string{`\1-1`, `my \1`, `1\1`}},
	{class: "language/map-for-list", n: 4, from: `^  children:\n  (?P<at>- id: (\w+)\n)`, to: []string{"  \\2:\n"}},
	{class: "language/list-for-map", n: 4, from: `^  let:\n    (?P<at>(\w+): )`, to: []string{`- \2: `, `- name: \2 `}},
	{class: "language/wrong-level", n: 5, from: `^(?P<at>    (onChange|when|after|readyWhen|ignoreFields): (.*)\n((?:    [^t\n].*\n)*?)    template:\n)`, to: []string{"\\4    template:\n      \\2: \\3\n"}},
	{class: "language/after", n: 3, from: `^    after: \[(?P<at>\w+)\]`, edit: typo},
	{class: "language/condition-type", n: 6, from: `^  - type: (?P<at>.*)$`, to: []string{"Ready", "Is Available", `""`, "Stalled"}},
	{class: "language/condition-reason", n: 3, from: `^    reason: (?P<at>.*)$`, to: []string{"Not ready", "not-ready!"}},
}

// texts are mistakes in how expressions are put into texts.
var texts = []operator{
	{class: "text/no-braces", n: 12, from: `: (?P<at>` + wholeExpression + `)$`, to: []string{`\2`}},
	{class: "text/no-braces-inside", n: 14, from: `(?:[-/.:a-z](?P<at>\$\{([a-z][\w.]+)\})|(?P<at2>\$\{([a-z][\w.]+)\})[-.:/])`, to: []string{`\2\4`}},
	{class: "text/wrong-braces", n: 14, from: `(?P<at>` + wholeExpression + `)`, to: []string{`$(\2)`, `{\2}`, `$\2`, `#{\2}`, `%{\2}`, `{{ \2 }}`}},
	{class: "text/helm", n: 5, from: `(?:name|image): (?P<at>` + wholeExpression + `.*)$`, to: []string{`"{{ .Values.image }}"`, `"{{ .Release.Name }}-web"`, `'{{ include "app.name" . }}'`}},
	{class: "text/stray-brace", n: 14, from: `(?P<at>` + wholeExpression + `)`, to: []string{`${\2}}`, `${\2`, `$ {\2}`, `${{\2}}`, `${{ \2 }}`}},
	{class: "text/braces-in-expression", n: 6, from: `^    (?:- )?(?:when|readyWhen|in|expression): (?P<at>([a-z].*))$`, to: []string{`${\2}`}},
	{class: "text/block", n: 5, from: `^( +)(?:image|name|schedule|host|replicas|containerPort|port): (?P<at>` + wholeExpression + `)$`, to: []string{">\n\\1  \\2", "|\n\\1  \\2"}},
}

// expressions are mistakes in CEL.
var expressions = []operator{
	{class: "expression/spec-typo", n: 12, from: `self\.(?:spec|metadata)\.\??(?P<at>[a-zA-Z]{3,})`, edit: typo},
	{class: "expression/name-typo", n: 10, from: `\$\{(?:[^s}]\w*\()?(?P<at>[a-zA-Z]{4,})[.},]`, edit: typo},
	{class: "expression/status-typo", n: 8, from: `\.\??status\.\??(?P<at>\w{4,})`, edit: typo},
	{class: "expression/function-typo", n: 10, from: `(?P<at>orValue|filter|exists|map|size|merge|has|string|join|sort|existing|shortName)\(`, edit: typo},
	{class: "expression/foreign-function", n: 4, from: `\.(?P<at>orValue)\(`, to: []string{"default", "getOrElse", "or_value", "or"}},
	{class: "expression/foreign-function", n: 3, from: `(?P<at>size)\(`, to: []string{"len", "length", "count"}},
	{class: "expression/foreign-function", n: 3, from: `\.(?P<at>exists|filter)\(`, to: []string{"any", "some", "where", "select"}},
	{class: "expression/foreign-function", n: 2, from: `(?P<at>string)\(`, to: []string{"str", "toString"}},
	{class: "expression/arguments", n: 8, from: `\.(?:filter|exists|map)\((?P<at>\w+, )`, to: []string{"", "_ => "}},
	{class: "expression/arguments", n: 3, from: `\.orValue\((?P<at>[^()]+)\)`, to: []string{"", `\1, null`}},
	{class: "expression/operator", n: 8, from: `(?P<at> (?:==|&&|\|\|) )`, to: []string{" = ", " and ", " === ", " or "}},
	{class: "expression/compare-types", n: 8, from: `(?:==|>=|>) (?P<at>"True"|\d)`, edit: otherType},
	{class: "expression/default-type", n: 6, from: `\.orValue\((?P<at>0|\[\]|""|"[^"]*")\)`, edit: otherType},
	{class: "expression/unquoted", n: 6, from: `[=(+?:] (?P<at>"([A-Za-z]+)")`, to: []string{`\2`}},
	{class: "expression/number-in-text", n: 4, from: `\+ (?P<at>string\(([^()]+)\))`, to: []string{`\2`}},
	{class: "expression/optional", n: 8, from: `\.\?\w+(?P<at>\.orValue\([^()]*\)) ?[>.=+/]`, to: []string{""}},
	{class: "expression/guard", n: 8, from: `self\.spec\.(?P<at>\?(\w+)\.orValue\([^()]*\))`, to: []string{`\2`}},
	{class: "expression/guard", n: 4, from: `self\.(?:spec|metadata)\.(?P<at>\?)`, to: []string{""}},
	{class: "expression/guard", n: 6, from: `^    when: has\(self.*\n`, to: []string{""}, ends: `self\.`},
	{class: "expression/guard-of-live", n: 14, from: `\.status\.(?P<at>\?(\w+)\.orValue\([^()]*\))`, to: []string{`\2`}},
	{class: "expression/parenthesis", n: 8, from: `\w(?P<at>\))`, to: []string{"", "))"}},
	{class: "expression/quote", n: 6, from: `\$\{[^\n]*[(+] ?"\w*(?P<at>")`, to: []string{""}},
	{class: "expression/ternary", n: 5, from: `\? [^?:\n]+?(?P<at> : )`, to: []string{" ", " | ", ", "}},
	{class: "expression/field-with-dots", n: 4, from: "(?P<at>\\.`([^`]+)`|\\[\\??\"([a-z.]+[./][^\"]+)\"\\])", to: []string{`.\2\3`}},
	{class: "expression/case", n: 8, from: `self\.spec\.\??(?P<at>[a-z]+[A-Z]\w+)`, edit: otherCase},
	{class: "expression/list-as-object", n: 5, from: `(?P<at>size\(existing\((\w+)\)\)|existing\((\w+)\)\.map\([^()]*\))`, to: []string{`existing(\2\3)`, `\2\3.metadata.name`, `\2\3.length`}},
	{class: "expression/wrong-variable", n: 6, from: `\.(?:exists|map|filter)\((?:\w), (?P<at>\w)\.`, to: []string{"x", "item", "it"}},
	{class: "expression/foreign-value", n: 5, from: `(?P<at>has\(([\w.]+)\))`, to: []string{`\2 != nil`, `\2 is not None`, `defined(\2)`, `\2 !== undefined`}},
	{class: "expression/status-loop", n: 4, from: `^    (` + integerStatus + `): (?P<at>\$\{.*)$`, to: []string{`${self.status.?\1.orValue(0) + 1}`, `${self.status.\1 + 1}`}},
	{class: "expression/enum", n: 6, from: `(?:==|\? ) ?"(?P<at>True|Active|noeviction|mysql|Running|Pending)"`, edit: wrongEnum},
	{class: "expression/status-type", n: 6, from: `^    (?:` + integerStatus + `): (?P<at>\$\{.*)$`, to: []string{"${self.metadata.name}", "many", "${string(1)}", "${self.spec}"}},
	{class: "expression/status-field", n: 8, from: `^  status:\n(?:    [a-z#].*\n)*?    (?P<at>[a-zA-Z]{4,}):`, edit: typo},
}

// templates are mistakes in single fields of templates.
var templates = []operator{
	{class: "template/field-typo", n: 14, from: `^ {6,}.*?\b(?P<at>` + fields + `):`, edit: typo},
	{class: "template/field-case", n: 8, from: `^ {8,}(?:- )?(?P<at>(?:` + fields + `)):`, edit: otherCase},
	{class: "template/missing-field", n: 12, from: `^ {8,}(?:pathType|mountPath|key|maxReplicas|scaleTargetRef|port|containerPort|matchLabels|topologyKey): [^\n{]*\n`, to: []string{""}, above: true},
	{class: "template/missing-field", n: 4, from: `^      (?:apiVersion|kind): .*\n`, to: []string{""}, above: true},
	{class: "template/missing-name", n: 5, from: `^        name: .*\n`, to: []string{""}, above: true},
	{class: "template/type-quoted", n: 6, from: `(?:replicas|containerPort|port|periodSeconds|runAsUser|backoffLimit|minAvailable|weight): (?P<at>(\d+))`, to: []string{`"\2"`}},
	{class: "template/type-boolean", n: 5, from: `(?:runAsNonRoot|allowPrivilegeEscalation|readOnly|optional|publishNotReadyAddresses): (?P<at>true|false)`, to: []string{`"true"`, "1", "yes", `"no"`}},
	{class: "template/type-text", n: 6, from: `(?:value|/scrape|/port|services.loadbalancers): (?P<at>"(\d+|true|yes)")`, to: []string{"1", "true", "8080"}},
	{class: "template/type-list", n: 8, from: `(?:command|args|accessModes|drop|policyTypes): (?P<at>\[([^\[\]]*)\])`, to: []string{`"\2"`, `{\2: ""}`}},
	{class: "template/kind-typo", n: 8, from: `^      kind: (?P<at>.*)$`, edit: typo},
	{class: "template/api-version", n: 3, from: `^      apiVersion: (?P<at>apps/v1)$`, to: []string{"extensions/v1beta1", "apps/v1beta1", "app/v1", "apps/v2", "v1"}},
	{class: "template/api-version", n: 3, from: `^      apiVersion: (?P<at>v1)$`, to: []string{"core/v1", "v1beta1", "v2", "apps/v1"}},
	{class: "template/api-version", n: 3, from: `^      apiVersion: (?P<at>networking.k8s.io/v1)$`, to: []string{"networking/v1", "networking.k8s.io/v1beta1", "extensions/v1beta1", "v1"}},
	{class: "template/api-version", n: 3, from: `^      apiVersion: (?P<at>(batch|policy)/v1)$`, to: []string{`\2/v1beta1`, "v1", `\2/v2`}},
	{class: "template/api-version", n: 1, from: `^      apiVersion: (?P<at>autoscaling/v2)$`, to: []string{"autoscaling/v2beta2", "autoscaling/v2beta1"}},
	{class: "template/wrong-level", n: 10, from: `^(?P<at>        ((?:labels|name|annotations|namespace|replicas|schedule|serviceName|suspend|strategy): .*\n))`, to: []string{`          \2`, `      \2`}, above: true},
	{class: "template/container-field", n: 6, from: `^ +(?P<at>(spec:\n( +))containers:)`, to: []string{"\\2image: web:1\n\\3containers:", "\\2command: [sh]\n\\3containers:", "\\2env: [{name: A, value: b}]\n\\3containers:", "\\2ports: [{containerPort: 80}]\n\\3containers:"}},
	{class: "template/no-match-labels", n: 5, from: `^ +selector:(?P<at>\n +matchLabels: (.*))$`, to: []string{` \2`}},
	{class: "template/service-match-labels", n: 4, from: `^        selector: (?P<at>(\$\{\w+\}))$`, to: []string{`{matchLabels: "\2"}`}},
	{class: "template/other-kind", n: 6, from: `kind: Deployment\n(?:.*\n){1,4}?      (?P<at>spec:\n)`, to: []string{"\\1        serviceName: web\n", "\\1        clusterIP: None\n", "spec:\n        serviceName: web\n", "spec:\n        containers: []\n", "spec:\n        schedule: '@daily'\n"}},
	{class: "template/enum", n: 12, from: `(?:pathType|protocol|restartPolicy|imagePullPolicy|concurrencyPolicy|podManagementPolicy|scheme|medium|type): (?P<at>(Prefix|TCP|Never|OnFailure|IfNotPresent|Forbid|Replace|Parallel|HTTP|Memory|Recreate|RollingUpdate|ClusterIP|LoadBalancer|Utilization|Resource|RuntimeDefault))`, edit: wrongEnum},
	{class: "template/enum", n: 3, from: `(?:accessModes|policyTypes): \[(?P<at>\w+)\]`, edit: wrongEnum},
	{class: "template/quantity", n: 10, from: `\b(?:memory|storage|cpu|sizeLimit): (?P<at>(\d+)(Mi|Gi|m))\b`, to: []string{`\2MB`, `\2mi`, `\2 \3`, `-\2\3`, `\2,5\3`, `\2mm`}},
	{class: "template/port-range", n: 8, from: `\b(?:containerPort|port|targetPort): (?P<at>\d+)`, to: []string{"0", "70000", "-1", "808080"}},
	{class: "template/number-range", n: 10, from: `\b(?:replicas|periodSeconds|timeoutSeconds|initialDelaySeconds|failureThreshold|backoffLimit|weight|runAsUser|terminationGracePeriodSeconds|activeDeadlineSeconds|revisionHistoryLimit|completions|averageUtilization|startingDeadlineSeconds): (?P<at>\d+)`, to: []string{"-1", "-5"}},
	{class: "template/number-range", n: 1, from: `weight: (?P<at>100)`, to: []string{"101", "0"}},
	{class: "template/number-range", n: 1, from: `defaultMode: (?P<at>0555)`, to: []string{"555", "755"}},
	{class: "template/share", n: 4, from: `\b(?:maxUnavailable|minAvailable): (?P<at>(\d+)%)`, to: []string{`"\2"`, `\2 %`, "0.5", "half"}},
	{class: "template/schedule", n: 5, from: `^        schedule: (?P<at>.*)$`, to: []string{`"30 4 * *"`, `"60 4 * * *"`, `"@dayly"`, `"0 24 * * *"`, `"every day"`, `"* * * * * *"`}},
	{class: "template/host", n: 5, from: `^        - host: (?P<at>.*)$`, to: []string{"https://www.example.com", "www.example.com/api", "10.0.0.1", "www_example.com", "www.example.com:80"}},
	{class: "template/path", n: 4, from: `\bpath: (?P<at>/)(?:\n +|, )pathType`, to: []string{"api", "www/", "*"}},
	{class: "template/variable-name", n: 4, from: `- \{?name: (?P<at>([A-Z][A-Z_]+))\b`, to: []string{`\2=4`, `\2 `, `"\2=x"`, `$\2`}},
	{class: "template/object-name", n: 6, from: `^        name: \$\{(?:self\.metadata\.)?name\}(?P<at>-(\w+))`, to: []string{`_\2`, `.My-\2`, ` \2`, `-\2-`}},
	{class: "template/container-name", n: 5, from: `^ +containers:\n +- name: (?P<at>\w+)`, to: []string{"My_app", "the app", "App", "app.web"}},
	{class: "template/port-name", n: 5, from: `name: (?P<at>(\w+))(?:, |\n +)containerPort|containerPort: \d+\n +name: (?P<at2>(\w+))`, to: []string{"http-management-port", "HTTP", `\2\4_port`, `"8080"`}, ends: `: [a-z]+`},
	{class: "template/label-value", n: 6, from: `(?:^ {6,}|\{)(?:app|app.kubernetes.io/name|role|tier): (?P<at>[a-z]+)`, to: []string{"the web app", "web/app", "-web", "team@example.com"}},
	{class: "template/label-key", n: 4, from: `^ {6,}(?P<at>(?:app|role|instance|cluster|controller|cleanup|statefulset)): `, to: []string{"my app", "a/b/c", "-app", "app!"}},
	{class: "template/empty", n: 10, from: `^ {8,}(?:- )?(?:image|replicas|value|name|schedule|serviceName|claimName|mountPath|port|storage|memory):(?P<at> [^\n|>]+)$`, to: []string{"", "", ` ""`}},
	{class: "template/empty-in-braces", n: 4, from: `\{(?:[^{}\n]*, )?(?:cpu|memory|name|port|key|mountPath):(?P<at> [^{},\n]+)[,}]`, to: []string{""}},
	{class: "template/empty-in-braces", n: 2, from: `\{(?:[^{}\n]*, )?(?:cpu|memory):(?P<at> [^{},\n]+)[,}]`, to: []string{" 0,5"}},
	{class: "template/resource-name", n: 5, from: `(?:requests|limits): \{(?P<at>(?:cpu|memory)): `, to: []string{"Cpu", "mem", "CPU", "storage", "gpu"}, ends: `requests:|limits:`},
	{class: "template/number-as-text", n: 2, from: `(?s)^  let:\n(?P<at>[^#]*?image: )[a-z]+:[\w.-]+$`, to: []string{"    versions: {tag: 1.10}\n\\1x:${versions.tag} #"}},
}

// parts are mistakes in how the parts of templates fit together, and what the API server
// rejects beyond types.
var parts = []operator{
	{class: "parts/selector-labels", n: 6, from: `^          matchLabels: (?P<at>\$\{\w+\})$`, to: []string{"{app: web}", `{name: "${self.metadata.name}"}`}, ends: `labels:`},
	{class: "parts/selector-labels", n: 4, from: `^            labels: (?P<at>\$\{\w+\})$`, to: []string{"{app: web}", "{tier: front}"}, ends: `selector|matchLabels:`},
	{class: "parts/selector-labels", n: 3, from: `matchLabels:\n(?: {12}.*\n)*? {12}(?:role|app|prometheus|tier): (?P<at>\w+)$`, edit: typo, ends: `labels:|selector|: `},
	{class: "parts/selector-no-pod", n: 4, from: `^        selector: (?P<at>\$\{\w+\})$`, to: []string{"{name: web}", `{app: "${self.metadata.name}"}`}},
	{class: "parts/selector-no-pod", n: 4, from: `^        selector:\n(?: {10}.*\n)*? {10}(?:role|app): (?P<at>\w+)$`, edit: typo, ends: `selector:`},
	{class: "parts/volume-name", n: 9, from: `\{name: (?P<at>\w+), mountPath|- name: (?P<at2>\w+)\n +mountPath:`, edit: typo, ends: `volumes:|name: `},
	{class: "parts/probe-port", n: 6, from: `(?:Probe:\n +\w+:(?:\n +path: .*)?\n +port: |\w+: \{(?:path: [^,]*, )?port: )(?P<at>[a-z]+)`, edit: typo},
	{class: "parts/target-port", n: 5, from: `targetPort: (?P<at>[a-z]+)`, edit: typo},
	{class: "parts/backend-port", n: 4, from: `(?:port: \{name: |port:\n +name: )(?P<at>[a-z]+)`, edit: typo},
	{class: "parts/backend-port", n: 2, from: `number: (?P<at>80|\$\{.*)$`, to: []string{"8080", "8081"}},
	{class: "parts/key", n: 4, from: `-credentials\n +key: (?P<at>\w+)$|items:\n +- (?:\{)?key: (?P<at2>[\w.]+)`, edit: typo},
	{class: "parts/reference", n: 6, from: `(?:serviceAccountName|claimName): "?\$\{(?:self\.metadata\.)?name\}-(?P<at>\w+)|configMap:(?:\n +| \{)name: "?\$\{self.metadata.name\}-(?P<at2>\w+)`, edit: typo},
	{class: "parts/scale-target", n: 2, from: `scaleTargetRef:\n +apiVersion: .*\n +kind: (?P<at>\w+)`, to: []string{"Deploymnt", "DaemonSet", "deployment"}},
	{class: "parts/scale-target", n: 2, from: `scaleTargetRef:\n +apiVersion: (?P<at>.*)$`, to: []string{"extensions/v1beta1", "v1", "app/v1"}, ends: `kind: Deployment`},
	{class: "parts/same-object", n: 1, from: `^        name: \$\{name\}(?P<at>-content)$`, to: []string{"-mysql"}, ends: `-mysql$`},
	{class: "parts/same-object", n: 2, from: `^        name: \$\{self.metadata.name\}(?P<at>-redis-follower)$`, to: []string{"-redis-leader"}, ends: `-redis-leader$`},
	{class: "parts/same-object", n: 2, from: `^      metadata: \{name: "\$\{self.metadata.name\}(?P<at>-(?:nodes|discovery))"`, to: []string{""}, ends: `metadata: \{name`},
	{class: "parts/literal-name", n: 5, from: `^        name: (?P<at>\$\{.*)$`, to: []string{"web", "app-config", "database"}},
	{class: "parts/no-image", n: 4, from: `^ {8,}image: .*\n`, to: []string{""}, above: true},
	{class: "parts/restart-policy", n: 3, from: `^ {12,}restartPolicy: .*\n`, to: []string{""}, above: true},
	{class: "parts/restart-policy", n: 2, from: `^ {12,}restartPolicy: (?P<at>.*)$`, to: []string{"Always"}},
	{class: "parts/restart-policy", n: 2, from: `kind: (?:Deployment|StatefulSet)\n(?:.*\n)*?(?P<at>( +)containers:\n)`, to: []string{"\\2restartPolicy: Never\n\\1", "\\2restartPolicy: OnFailure\n\\1"}},
	{class: "parts/strategy", n: 2, from: `strategy:\n +type: (?P<at>RollingUpdate)$`, to: []string{"Recreate"}, ends: `rollingUpdate|maxSurge`},
	{class: "parts/strategy", n: 2, from: `strategy:\n( +)type: Recreate\n(?P<at>)`, to: []string{"\\1rollingUpdate: {maxSurge: 1}\n"}, ends: `strategy|type:`},
	{class: "parts/two-values", n: 3, from: `^( +)- name: [A-Z_]+\n(?P<at>) +valueFrom:`, to: []string{"\\1  value: x\n"}, ends: `valueFrom`},
	{class: "parts/two-sources", n: 3, from: `^( +)- name: \w+\n(?P<at>) +(?:emptyDir|configMap|persistentVolumeClaim):`, to: []string{"\\1  hostPath: {path: /data}\n"}, ends: `- name:|emptyDir|configMap:|persistentVolumeClaim`},
	{class: "parts/two-handlers", n: 3, from: `^( +)(?:readiness|liveness|startup)Probe:\n(?P<at>)`, to: []string{"\\1  tcpSocket: {port: 80}\n\\1  exec: {command: [x]}\n"}, ends: `Probe:`},
	{class: "parts/budget", n: 1, from: `^( +)minAvailable: .*\n(?P<at>)`, to: []string{"\\1maxUnavailable: 1\n"}, ends: `Available`},
	{class: "parts/budget", n: 1, from: `^( +)maxUnavailable: 1\n(?P<at>) +selector`, to: []string{"\\1minAvailable: 1\n"}, ends: `Unavailable`},
	{class: "parts/limits", n: 3, from: `limits: \{(?:cpu: [^,]*, )?memory: (?P<at>\w+)`, to: []string{"1Mi", "8Mi"}, ends: `requests:|memory:`},
	{class: "parts/port-without-name", n: 3, from: `^( +)- (?:name: \w+\n +)?port: \d+\n(?P<at>)`, to: []string{"\\1- port: 9999\n"}, ends: `port:`},
	{class: "parts/twice", n: 5, from: `^( +)(?P<at>- (?:\{)?name: \w+(?:, .*|\n +(?:mountPath|containerPort|value|emptyDir).*)\n)`, to: []string{"\\2\\1\\2"}, ends: `name: |mountPath|containerPort`},
	{class: "parts/probe-threshold", n: 2, from: `^( +)livenessProbe:\n(?P<at>)`, to: []string{"\\1  successThreshold: 2\n"}},
	{class: "parts/claim", n: 3, from: `^ {8,}accessModes:.*\n(?: +- Read.*\n)?`, to: []string{""}, above: true},
	{class: "parts/claim", n: 2, from: `^ {8,}resources:\n +requests:\n +storage: .*\n`, to: []string{""}, above: true},
	{class: "parts/headless", n: 2, from: `^        type: (?P<at>LoadBalancer|ClusterIP)\n`, to: []string{"LoadBalancer\n        clusterIP: None", "NodePort\n        clusterIP: None"}},
	{class: "parts/no-ports", n: 3, from: `kind: Service\n(?:.*\n)*?      spec:\n(?:        [a-z]+: .*\n)+?(?P<at>        ports:\n(?: {8,}[- ].*\n)+)`, to: []string{""}, above: true},
	{class: "parts/immutable", n: 5, from: `^          matchLabels: (?P<at>\$\{(\w+)\})$`, to: []string{`'${merge(\2, {"tier": self.spec.tier})}'`, `{app: "${self.spec.image}"}`, `{replicas: "${string(self.spec.replicas)}"}`}},
	{class: "parts/immutable", n: 3, from: `^        (?:clusterIP|serviceName): (?P<at>.*)$`, to: []string{"${self.spec.address}", "${self.spec.hostname}"}},
	{class: "parts/immutable", n: 4, from: `^    onChange: (?:keep|replace)\n`, to: []string{""}, ends: `- id: |template:|self\.spec`},
}

// access are objects that rules may not write or read.
var access = []operator{
	{class: "access/namespace", n: 7, from: `^        name: \$\{.*(?P<at>\n)`, to: []string{"\n        namespace: other\n", "\n        namespace: kube-system\n", "\n        namespace: monitoring\n"}},
	{class: "access/computed-namespace", n: 2, from: `^      metadata:\n(?P<at>)        name: \$\{`, to: []string{"        namespace: ${self.metadata.name}\n"}},
	{class: "access/lookup-namespace", n: 3, from: `^    apiVersion: v1\n(?P<at>)    kind: (?:Pod|Secret|ConfigMap)\n    (?:name|selector)`, to: []string{"    namespace: shared\n", "    namespace: \"\"\n"}},
	{class: "access/allow", n: 4, from: `^    (?:namespaces: \[.*|clusterScoped:\n    - .*|read:\n      namespaces: .*)\n`, to: []string{""}, ends: `namespace: |kind: Namespace|id: `},
	{class: "access/privileged", n: 3, from: `^  children:\n(?P<at>)`, to: []string{"  - id: role\n    template:\n      apiVersion: rbac.authorization.k8s.io/v1\n      kind: Role\n      metadata: {name: \"${self.metadata.name}\"}\n"}},
	{class: "access/cluster-scoped", n: 3, from: `^  children:\n(?P<at>)`, to: []string{"  - id: space\n    template:\n      apiVersion: v1\n      kind: Namespace\n      metadata: {name: \"${self.metadata.name}\"}\n"}},
}

// crds are mistakes in CRDs.
var crds = []operator{
	{class: "crd/key-typo", n: 8, crd: true, from: `^ +(?:- )?(?P<at>openAPIV3Schema|schema|properties|versions|subresources|storage|served|names|scope|group|items|required|enum|default|minimum|pattern|additionalPrinterColumns|jsonPath|plural):`, edit: typo},
	{class: "crd/key-case", n: 4, crd: true, from: `(?P<at>openAPIV3Schema|additionalPrinterColumns|jsonPath|maxLength|minLength|maxItems|listKind):`, edit: otherCase},
	{class: "crd/level", n: 3, crd: true, from: `^    (?P<at>schema:\n      )openAPIV3Schema`, to: []string{""}},
	{class: "crd/type", n: 6, crd: true, from: `type: (?P<at>integer|string|boolean|array|object)\b`, to: []string{"int", "str", "bool", "list", "map", "String", "text"}},
	{class: "crd/flags", n: 4, crd: true, from: `^    (?:served|storage): (?P<at>true)$`, to: []string{"false"}, ends: `versions|- name`},
	{class: "crd/flags", n: 2, crd: true, from: `^    (?:served|storage): true\n`, to: []string{""}, ends: `versions|- name`},
	{class: "crd/scope", n: 3, crd: true, from: `^  scope: (?P<at>\w+)$`, to: []string{"namespaced", "cluster", "Global"}},
	{class: "crd/name", n: 4, crd: true, from: `^  name: (?P<at>(\w+)\.(.*))$`, to: []string{"my\\2.\\3", "\\2", "\\3"}},
	{class: "crd/group", n: 2, crd: true, from: `^  group: (?P<at>(.*))$`, to: []string{"apps", "platform"}},
	{class: "crd/default", n: 4, crd: true, from: `default: (?P<at>(\d+|true|false))\b`, to: []string{`"\2"`, "many", "[]"}},
	{class: "crd/enum-default", n: 3, crd: true, from: `enum: \[[^\]]*\](?:\n +|, )default: (?P<at>[\w-]+)`, edit: typo},
	{class: "crd/required", n: 3, crd: true, from: `^ {12,}required: \[(?P<at>\w+)`, edit: typo},
	{class: "crd/no-status", n: 3, crd: true, from: `^    subresources:\n      status: \{\}\n`, to: []string{""}, above: true},
	{class: "crd/pattern", n: 2, crd: true, from: `pattern: (?P<at>.*)$`, to: []string{`'^[a-z'`, `'^(?=a).*$'`, `'*.example.com'`}},
}

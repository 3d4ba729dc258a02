//go:build integration

package examples

// table lists the examples from the simplest to the richest.
var table = []example{
	{
		name:      "foo",
		resources: []string{"foo.yaml"},
		children:  []children{{kind: "Deployment", count: 1, names: []string{"example-foo"}}},
		updates: []update{
			{"Foo", "example-foo", `{"spec":{"replicas":2}}`, nil},
			{"Foo", "example-foo", `{"spec":{"deploymentName":"renamed"}}`, counts(children{"Deployment", 1, []string{"renamed"}})},
		},
		story: fooStory,
	},
	{
		name:      "podset",
		resources: []string{"podset.yaml"},
		children:  []children{{kind: "Pod", count: 3}},
		updates: []update{
			{"PodSet", "podset-sample", `{"spec":{"replicas":5}}`, counts(children{"Pod", 5, nil})},
			{"PodSet", "podset-sample", `{"spec":{"replicas":1}}`, counts(children{"Pod", 1, nil})},
			{"PodSet", "podset-sample", `{"spec":{"replicas":0}}`, counts(children{"Pod", 0, nil})},
			{"PodSet", "podset-sample", `{"spec":{"replicas":3}}`, counts(children{"Pod", 3, nil})},
		},
		story: podsetStory,
	},
	{
		name:      "replicaset-pod-count",
		resources: []string{"replicaset.yaml"},
		ready:     podsCounted,
		updates: []update{
			{"ReplicaSet", "web", `{"spec":{"replicas":5}}`, podsCounted},
			{"ReplicaSet", "web", `{"spec":{"replicas":0}}`, podsCounted},
			{"ReplicaSet", "web", `{"spec":{"replicas":2}}`, podsCounted},
		},
		disturbances: []update{{"ReplicaSet", "web", `{"metadata":{"labels":{"pod-count":"99"}}}`, nil}},
		patched:      []string{"replicasets"},
		story:        replicasetStory,
	},
	{
		name:      "databasemanager",
		setup:     []string{"secret.yaml"},
		resources: []string{"mysql.yaml", "mariadb.yaml"},
		children:  []children{{kind: "Deployment", count: 2, names: []string{"orders-db", "metrics-db"}}},
		updates: []update{
			{"DatabaseManager", "orders", `{"spec":{"replicas":3}}`, nil},
			{"DatabaseManager", "orders", `{"spec":{"replicas":1}}`, nil},
			{"DatabaseManager", "orders", `{"spec":{"dbtype":"mariadb"}}`, nil},
		},
		kept:  []string{"deployments"},
		story: databasemanagerStory,
	},
	{
		name:      "sample",
		resources: []string{"sample.yaml", "sample-v1beta1.yaml"},
		children:  []children{{kind: "Deployment", count: 2, names: []string{"hello", "goodbye"}}},
		updates: []update{
			{"Sample", "hello", `{"spec":{"message":"good morning"}}`, nil},
			{"Sample", "goodbye", `{"spec":{"image":"alpine:3.21"}}`, nil},
		},
		kept:  []string{"deployments"},
		story: sampleStory,
	},
	{
		name:      "namespace-decorator",
		resources: []string{"namespace.yaml"},
		global:    []string{"team-a"},
		children: []children{
			{kind: "NetworkPolicy", count: 1, names: []string{"default-deny"}},
			{kind: "ResourceQuota", count: 1, names: []string{"default"}},
			{kind: "ServiceAccount", count: 1, names: []string{"deployer"}},
		},
		ready: (*world).complete,
		updates: []update{
			{"Namespace", "team-a", `{"metadata":{"annotations":{"platform.example.com/max-pods":"7"}}}`, podQuota("7")},
			{"Namespace", "team-a", `{"metadata":{"annotations":{"platform.example.com/max-pods":null}}}`, podQuota("20")},
		},
		story: namespaceStory,
	},
	{
		name:      "webapp",
		resources: []string{"shop.yaml", "internal.yaml"},
		children: []children{
			{kind: "Deployment", count: 2, names: []string{"shop", "internal"}},
			{kind: "Service", count: 1, names: []string{"shop"}},
			{kind: "Ingress", count: 1, names: []string{"shop"}},
		},
		updates: []update{
			{"WebApp", "shop", `{"spec":{"image":"nginxinc/nginx-unprivileged:1.28-alpine"}}`, nil},
			{"WebApp", "shop", `{"spec":{"ingress":null}}`, counts(children{"Ingress", 0, nil}, children{"Service", 1, nil})},
			{"WebApp", "shop", `{"spec":{"service":null}}`, counts(children{"Service", 0, nil})},
			{"WebApp", "internal", `{"spec":{"service":{"port":8080}}}`, counts(children{"Service", 1, []string{"internal"}})},
		},
		kept:  []string{"deployments"},
		story: webappStory,
	},
	{
		name:      "workerpool",
		resources: []string{"workerpool.yaml"},
		children:  []children{{kind: "Pod", count: 3, names: []string{"mail-fast", "mail-slow", "mail-night"}}},
		updates: []update{
			{"WorkerPool", "mail", `{"spec":{"image":"busybox:1.36"}}`, nil},
			{"WorkerPool", "mail", `{"spec":{"workers":[{"name":"night","queue":"accounts"},{"name":"new","queue":"spam"}]}}`,
				counts(children{"Pod", 2, []string{"mail-night", "mail-new"}})},
			{"WorkerPool", "mail", `{"spec":{"workers":[]}}`, counts(children{"Pod", 0, nil})},
		},
		story: workerpoolStory,
	},
	{
		name:      "catset",
		resources: []string{"catset.yaml"},
		children: []children{
			{kind: "Pod", count: 3, names: []string{"felix-0", "felix-1", "felix-2"}},
			{kind: "Service", count: 1, names: []string{"felix"}},
		},
		updates: []update{
			{"CatSet", "felix", `{"spec":{"replicas":4}}`, counts(children{"Pod", 4, nil})},
			{"CatSet", "felix", `{"spec":{"image":"busybox:1.38"}}`, counts(children{"Pod", 4, nil})},
			{"CatSet", "felix", `{"spec":{"replicas":1}}`, counts(children{"Pod", 1, nil})},
			{"CatSet", "felix", `{"spec":{"replicas":3}}`, counts(children{"Pod", 3, nil})},
		},
		story: catsetStory,
	},
	{
		name:      "service-per-pod",
		setup:     []string{"service.yaml"},
		resources: []string{"statefulset.yaml"},
		children:  []children{{kind: "Service", count: 3, names: []string{"cache-1", "cache-2", "cache-3"}}},
		ready:     podsReady,
		updates: []update{
			{"StatefulSet", "cache", `{"spec":{"replicas":5}}`, counts(children{"Service", 5, []string{"cache-4", "cache-5"}})},
			{"StatefulSet", "cache", `{"spec":{"replicas":1}}`, counts(children{"Service", 1, []string{"cache-1"}})},
			{"StatefulSet", "cache", `{"spec":{"replicas":3,"ordinals":{"start":0}}}`, counts(children{"Service", 3, []string{"cache-0", "cache-1", "cache-2"}})},
		},
		story: servicePerPodStory,
	},
	{
		name:      "job-gate",
		resources: []string{"release.yaml"},
		children: []children{
			{kind: "Job", count: 1, names: []string{"orders-migrate-1-4-0"}},
			{kind: "Deployment", count: 1, names: []string{"orders"}},
		},
		updates: []update{
			{"Release", "orders", `{"spec":{"replicas":3}}`, nil},
			{"Release", "orders", `{"spec":{"version":"1.5.0"}}`, counts(children{"Job", 1, []string{"orders-migrate-1-5-0"}}, children{"Deployment", 1, nil})},
		},
		kept:  []string{"deployments"},
		story: jobGateStory,
	},
	{
		name:      "pipeline",
		resources: []string{"pipeline.yaml"},
		children: []children{
			{kind: "ServiceAccount", count: 1, names: []string{"nightly"}},
			{kind: "Job", count: 3, names: []string{"nightly-extract", "nightly-transform", "nightly-load"}},
		},
		updates: []update{
			{"Pipeline", "nightly", `{"spec":{"steps":[{"name":"extract","command":["/etl","extract"]},{"name":"check","command":["/etl","check"]}]}}`,
				counts(children{"Job", 2, []string{"nightly-extract", "nightly-check"}})},
		},
		kept:  []string{"serviceaccounts"},
		story: pipelineStory,
	},
	{
		name:      "indexedjob",
		resources: []string{"indexedjob.yaml"},
		children:  []children{{kind: "Job", count: 5, names: []string{"resize-0", "resize-1", "resize-2", "resize-3", "resize-4"}}},
		updates: []update{
			{"IndexedJob", "resize", `{"spec":{"completions":6,"parallelism":1}}`, counts(children{"Job", 6, nil})},
			{"IndexedJob", "resize", `{"spec":{"completions":3}}`, counts(children{"Job", 3, nil})},
		},
		soakKills: true,
	},
	{
		name:      "bluegreen",
		resources: []string{"bluegreen.yaml"},
		children: []children{
			{kind: "Service", count: 1, names: []string{"shop"}},
			{kind: "ReplicaSet", count: 1, names: []string{"shop-7dac1f3cc2187936"}},
		},
		updates: []update{
			{"BlueGreenDeployment", "shop", `{"spec":{"template":{"metadata":{"labels":{"team":"web"}}}}}`, counts(children{"ReplicaSet", 1, nil})},
		},
		kept:      []string{"services"},
		story:     bluegreenStory,
		soakKills: true,
	},
	{
		name:      "canary",
		resources: []string{"canary.yaml"},
		children: []children{
			{kind: "Service", count: 1, names: []string{"shop"}},
			{kind: "Deployment", count: 1, names: []string{"shop"}},
		},
		updates: []update{
			{"CanaryDeployment", "shop", `{"spec":{"image":"nginxinc/nginx-unprivileged:1.28-alpine","steps":[{"replicas":1,"pause":"1s"},{"replicas":1,"pause":"1s"}]}}`,
				counts(children{"Deployment", 1, []string{"shop"}})},
		},
		kept:      []string{"services"},
		soakKills: true,
	},
	{
		name:      "preview",
		resources: []string{"preview.yaml"},
		children:  []children{{kind: "Deployment", count: 1, names: []string{"branch"}}},
		updates: []update{
			{"Preview", "branch", `{"spec":{"ttl":"1s"}}`, counts(children{"Deployment", 0, nil})},
			{"Preview", "branch", `{"spec":{"ttl":"72h"}}`, counts(children{"Deployment", 1, []string{"branch"}})},
		},
		story: previewStory,
	},
	{
		name:      "reloader",
		setup:     []string{"observed.yaml"},
		resources: []string{"workloads.yaml"},
		ready:     hashed,
		updates:   []update{{"Deployment", "store", `{"spec":{"replicas":3}}`, hashed}},
		// A DaemonSet and a Deployment count the changes of their template in an annotation.
		disturbances: []update{{"StatefulSet", "store", `{"spec":{"template":{"metadata":{"annotations":{"platform.example.com/config-hash":"mine"}}}}}`, nil}},
		patched:      []string{"daemonsets", "deployments", "statefulsets"},
		story:        reloaderStory,
	},
	{
		name:      "config-propagation",
		setup:     []string{"cluster.yaml"},
		resources: []string{"configpropagation.yaml"},
		global:    []string{"platform", "orders", "payments", "proxy-settings"},
		children:  []children{{kind: "ConfigMap", count: 2, names: []string{"proxy"}}},
		updates: []update{
			{"ConfigPropagation", "proxy-settings", `{"spec":{"namespaceSelector":{"matchExpressions":[{"key":"nowhere","operator":"Exists"}]}}}`, counts(children{"ConfigMap", 0, nil})},
			{"ConfigPropagation", "proxy-settings", `{"spec":{"namespaceSelector":{"matchExpressions":null}}}`, counts(children{"ConfigMap", 2, nil})},
		},
		story: configPropagationStory,
	},
	{
		name:      "mirror",
		setup:     []string{"observed.yaml"},
		resources: []string{"sources.yaml"},
		global:    []string{"shop", "warehouse"},
		children: []children{
			{kind: "ConfigMap", count: 1, names: []string{"settings"}},
			{kind: "Secret", count: 1, names: []string{"mail"}},
		},
		ready: reportsNothing,
		updates: []update{
			{"ConfigMap", "settings", `{"data":{"REGION":"south"},"binaryData":{"logo":"AAEC"}}`, nil},
			{"Secret", "mail", `{"metadata":{"annotations":{"platform.example.com/mirror-to":null}}}`, counts(children{"Secret", 0, nil})},
		},
	},
	{
		name:      "backup-on-delete",
		setup:     []string{"secret.yaml"},
		resources: []string{"database.yaml"},
		children: []children{
			{kind: "Service", count: 1, names: []string{"ledger"}},
			{kind: "StatefulSet", count: 1, names: []string{"ledger"}},
			{kind: "Job", count: 0},
		},
		updates: []update{
			{"Database", "ledger", `{"spec":{"backup":{"url":"https://backups.example.com/elsewhere"}}}`, nil},
		},
		story: backupStory,
	},
	{
		name:      "chain",
		rules:     []string{"rules.yaml", "examples/webapp/rules.yaml"},
		resources: []string{"tenant.yaml"},
		global:    []string{"acme"},
		children: []children{
			{kind: "Namespace", count: 1},
			{kind: "WebApp", count: 1, names: []string{"web"}},
			{kind: "Deployment", count: 1, names: []string{"web"}},
			{kind: "Service", count: 1, names: []string{"web"}},
			{kind: "Ingress", count: 1, names: []string{"web"}},
		},
		updates: []update{
			{"Tenant", "acme", `{"spec":{"image":"nginxinc/nginx-unprivileged:1.28-alpine"}}`, nil},
			{"Tenant", "acme", `{"spec":{"host":null}}`, counts(children{"Ingress", 0, nil})},
		},
		kept:  []string{"namespaces", "services", "deployments", "webapps"},
		story: chainStory,
	},
	{
		name:      "registry",
		resources: []string{"registry.yaml"},
		children: []children{
			{kind: "Secret", count: 3, names: []string{"images-credentials", "images-tls", "images-pull"}},
			{kind: "Deployment", count: 1, names: []string{"images"}},
			{kind: "Service", count: 1, names: []string{"images"}},
		},
		updates: []update{
			{"Registry", "images", `{"spec":{"image":"registry:2.8.4"}}`, nil},
		},
		kept: []string{"secrets", "deployments", "services"},
	},
	{
		name:      "database",
		resources: []string{"server.yaml", "user.yaml"},
		global:    []string{"databases"},
		children: []children{
			{kind: "Secret", count: 3},
			{kind: "Service", count: 1, names: []string{"main"}},
			{kind: "StatefulSet", count: 1, names: []string{"main"}},
			{kind: "Job", count: 1},
		},
		kept:      []string{"services", "statefulsets"},
		story:     databaseStory,
		soakKills: true,
	},
	{
		name:      "searchcluster",
		resources: []string{"searchcluster.yaml"},
		children: []children{
			{kind: "Service", count: 2, names: []string{"logs", "logs-nodes"}},
			{kind: "ConfigMap", count: 2, names: []string{"logs-masters", "logs-hot"}},
			{kind: "StatefulSet", count: 2, names: []string{"logs-masters", "logs-hot"}},
		},
		updates: []update{
			{"SearchCluster", "logs", `{"spec":{"nodeGroups":[{"name":"masters","count":1,"roles":["master"]}]}}`, counts(children{"StatefulSet", 1, []string{"logs-masters"}})},
		},
		kept:      []string{"services"},
		soakKills: true,
	},
	{
		name:      "runner",
		resources: []string{"runners.yaml"},
		children: []children{
			{kind: "ServiceAccount", count: 1, names: []string{"ci"}},
			{kind: "Deployment", count: 2, names: []string{"build", "release"}},
		},
		updates: []update{
			{"Runner", "release", `{"spec":{"account":"release"}}`, counts(children{"ServiceAccount", 2, []string{"ci", "release"}})},
			{"Runner", "release", `{"spec":{"account":"ci"}}`, counts(children{"ServiceAccount", 1, []string{"ci"}})},
		},
		soakKills: true,
	},
	{
		name:      "sleep",
		resources: []string{"deployment.yaml"},
		ready:     sleepsAsAsked,
		updates: []update{
			{"Deployment", "web", asleep("false"), replicasAre(3)},
			{"Deployment", "web", `{"spec":{"replicas":5}}`, replicasAre(5)},
			{"Deployment", "web", asleep("true"), replicasAre(0)},
		},
		disturbances: []update{{"Deployment", "web", `{"spec":{"replicas":2}}`, nil}},
		patched:      []string{"deployments"},
	},
	{
		name:      "extend",
		setup:     []string{"cluster.yaml"},
		resources: []string{"addition.yaml"},
		kept:      []string{"configmaps"},
		ready:     settingsHave("the certificates of the company"),
		updates:   []update{{"ConfigMap", "corporate-ca", `{"data":{"ca.crt":"newer"}}`, settingsHave("newer")}},
		story:     extendStory,
	},
}

package rules

import (
	"strings"
	"testing"
)

// renderField renders one template and returns its fields other than metadata, or the
// reason for a failure.
func renderField(t *testing.T, apiVersion, kind, fields string, self object, c cluster) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(fields), "\n")
	r := one(t, `
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  let:
    labels: {app: shop, owner: "${self.metadata.name}"}
    empties: {none: [], nothing: null, data: {}, deep: {none: [], x: 1}}
    image: self.spec.image
    broken: self.spec.nope
  children:
  - id: other
    template: {apiVersion: v1, kind: Service, metadata: {name: other}}
  - id: c
    template:
      apiVersion: `+apiVersion+`
      kind: `+kind+`
      metadata: {name: c}
      `+strings.Join(lines, "\n      ")+"\n", self, c)
	if r.Err != nil {
		return r.Err.Message
	}
	d := first(&r.Children[1])
	switch d.State {
	case Failed:
		return d.Err.Message
	case Waiting:
		return "waits " + strings.Join(d.Waits, " ")
	case Excluded:
		return "excluded"
	}
	s := string(d.body)
	s = s[:strings.Index(s, `"metadata":{`)]
	s = strings.TrimPrefix(s, `{"apiVersion":"`+apiVersion+`",`)
	return strings.TrimSuffix(strings.Replace(s, `"kind":"`+kind+`",`, "", 1), ",")
}

func primary() object {
	return object{
		"apiVersion": "example.com/v1", "kind": "Primary",
		"metadata": object{"name": "p", "namespace": "ns", "uid": "u1"},
		"spec": object{
			"image": "nginx", "replicas": int64(2), "ratio": 2.5, "on": true, "nothing": nil,
			"list": list{int64(1), "two", object{"three": nil}}, "empty": list{}, "emptyMap": object{},
			"map": object{"b": "2", "a": "1"}, "mixed": object{"n": int64(1)}, "big": "x\ny: \"z\"\t${not}\u2028é\x01",
		},
	}
}

func TestTemplates(t *testing.T) {
	for _, tc := range []struct{ name, fields, want string }{
		{"literals keep their types and are sorted",
			`{z: 1, a: "1", m: true, f: 1.5, g: 2.0, n: null, l: [], o: {}, text: "a\"b"}`,
			`"x":{"a":"1","f":1.5,"g":2,"l":[],"m":true,"o":{},"text":"a\"b","z":1}`},
		{"null leaves its field out", `{a: null, b: "${self.spec.nothing}", c: "${self.spec.on ? null : 1}", d: [null], e: "${{'f': null}}"}`,
			`"x":{"d":[null],"e":{"f":null}}`},
		{"an expression alone keeps its type", `{a: "${self.spec.replicas}", b: "${self.spec.on}", c: "${self.spec.ratio}"}`,
			`"x":{"a":2,"b":true,"c":2.5}`},
		{"maps and lists are written sorted", `{m: "${self.spec.map}", l: "${self.spec.list}"}`,
			`"x":{"l":[1,"two",{"three":null}],"m":{"a":"1","b":"2"}}`},
		{"a literal of CEL is data", `${{"b": 1, "a": [self.spec.image]}}`, `"x":{"a":["nginx"],"b":1}`},
		{"inside text a value becomes text", `"i=${self.spec.image}:${self.spec.replicas} ${self.spec.on} ${self.spec.ratio} $${x}"`,
			`"x":"i=nginx:2 true 2.5 ${x}"`},
		{"an absent value omits its field", `{a: "${self.spec.?nope}", b: 1}`, `"x":{"b":1}`},
		{"an absent value omits its element", `["${self.spec.?nope}", 1, "${self.spec.?nope}"]`, `"x":[1]`},
		{"all absent", `{a: "${self.spec.?nope}"}`, `"x":{}`},
		{"a present optional is its value", `{a: "${self.spec.?image}"}`, `"x":{"a":"nginx"}`},
		{"absent inside a value", `"${[?self.spec.?nope, 1]}"`, `"x":[1]`},
		{"lets of data", `"${labels}"`, `"x":{"app":"shop","owner":"p"}`},
		{"a let of an expression", `"${image}"`, `"x":"nginx"`},
		{"a field of a let", `"${labels.owner}"`, `"x":"p"`},
		{"merging lets", `"${merge(labels, {'app': 'y'})}"`, `"x":{"app":"y","owner":"p"}`},
		{"values cannot break out of their place", `"${self.spec.big}"`, "\"x\":\"x\\ny: \\\"z\\\"\\t${not}\u2028é\\u0001\""},
		{"nor inside text", `"a${self.spec.big}b"`, "\"x\":\"ax\\ny: \\\"z\\\"\\t${not}\u2028é\\u0001b\""},
		{"waiting", `{a: "${other.status.ip}"}`, `waits other`},
		{"waiting in text", `"http://${other.spec.clusterIP}/${other.status.x}"`, `waits other`},
		{"waiting in a literal of CEL", `"${{'a': other.spec.clusterIP}}"`, `waits other`},
		{"not waiting with a question mark", `"${other.?spec.?clusterIP.orValue('none')}"`, `"x":"none"`},
		{"an error", `{a: ["${self.spec.nope}"]}`, `rules.yaml:19:27: rule "r": child "c": x.a[0]: no such key: nope`},
		{"an error in text", `{a: "b${self.spec.nope}"}`, `rules.yaml:19:27: rule "r": child "c": x.a: no such key: nope`},
		{"an error in a let", `{a: "${broken + 'x'}"}`, `rules.yaml:10:22: rule "r": child "c": x.a: let.broken: no such key: nope`},
		{"absent in text", `{a: "b${self.spec.?nope}"}`,
			`rules.yaml:19:18: rule "r": child "c": x.a: an absent value cannot be part of text: give it a default with orValue()`},
		{"a map in text", `{a: "b${self.spec.map}"}`, `rules.yaml:19:18: rule "r": child "c": x.a: a map cannot be part of text`},
		{"null in text", `{a: "b${self.spec.nothing}"}`, `rules.yaml:19:18: rule "r": child "c": x.a: null cannot be part of text`},
		{"bytes", `{a: "${b'x'}"}`, `rules.yaml:19:17: rule "r": child "c": x.a: a value of type bytes cannot be stored in an object`},
		{"an endless number", `{a: "${1.0/0.0}"}`, `rules.yaml:19:17: rule "r": child "c": x.a: an infinite number or NaN cannot be stored in an object`},
		{"too large a number", `{a: "${18446744073709551615u}"}`, `rules.yaml:19:17: rule "r": child "c": x.a: a number this large cannot be stored in an object`},
		{"keys that are no text", `{a: "${{1: 2}}"}`, `rules.yaml:19:17: rule "r": child "c": x.a: the keys of a map must be text`},
		{"a type", `{a: "${int}"}`, `rules.yaml:19:17: rule "r": child "c": x.a: a value of type type cannot be stored in an object`},
		{"a quantity", `{a: "${quantity('1Gi')}"}`, `rules.yaml:19:17: rule "r": child "c": x.a: a value of type kubernetes.Quantity cannot be stored in an object`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fields := tc.fields
			if strings.HasPrefix(fields, "$") {
				fields = "'" + fields + "'"
			}
			got := renderField(t, "example.com/v1", "Thing", "x: "+fields, primary(), nil)
			if got != tc.want && !(strings.HasPrefix(tc.want, "waits other") && strings.HasPrefix(got, "waits other")) {
				t.Errorf("\n got %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestNormalisation(t *testing.T) {
	const deployment = `spec: {selector: {matchLabels: {}}, args: [], nothing: null, empties: "${empties}", template: {spec: {nodeSelector: "${self.spec.emptyMap}", ` +
		`volumes: [{name: v, emptyDir: {}}], tolerations: "${self.spec.empty}", x: "${self.spec.nothing}", ` +
		`containers: [{name: c, args: ["${self.spec.?nope}"], resources: {limits: {cpu: "${self.spec.?nope}"}, requests: {}}}]}}}`
	for _, tc := range []struct{ name, apiVersion, kind, fields, want string }{
		{"a built-in kind loses what is not stored", "apps/v1", "Deployment", deployment,
			`"spec":{"empties":{"deep":{"x":1}},"selector":{},"template":{"spec":{"containers":[{"name":"c","resources":{}}],` +
				`"volumes":[{"emptyDir":{},"name":"v"}]}}}`},
		{"a custom resource keeps everything but null", "apps.example.com/v1", "Deployment", deployment,
			`"spec":{"args":[],"empties":{"data":{},"deep":{"none":[],"x":1},"none":[]},"selector":{"matchLabels":{}},` +
				`"template":{"spec":{"containers":[{"args":[],"name":"c","resources":{"limits":{},"requests":{}}}],"nodeSelector":{},"tolerations":[],` +
				`"volumes":[{"emptyDir":{},"name":"v"}]}}}`},
		{"selectors that select everything stay", "networking.k8s.io/v1", "NetworkPolicy",
			`spec: {podSelector: {}, ingress: [], egress: [{to: [{namespaceSelector: {}}]}]}`,
			`"spec":{"egress":[{"to":[{"namespaceSelector":{}}]}],"podSelector":{}}`},
		{"a Service selects by a map", "v1", "Service", `spec: {selector: {}, ports: []}`, `"spec":{}`},
		{"computed empties under computed maps", "v1", "ConfigMap", `data: "${{'a': 'x'}.filter(k, false).transformMap(i, v, v)}"`, ``},
		{"a Secret has data only", "v1", "Secret", "data: {a: Yg==}\nstringData: {a: c, b: \"${self.spec.image}\", n: null}\ntype: Opaque",
			`"type":"Opaque","data":{"a":"Yw==","b":"bmdpbng="}`},
		{"a Secret from an expression", "v1", "Secret", `stringData: "${self.spec.map}"`, `"data":{"a":"MQ==","b":"Mg=="}`},
		{"a Secret's data alone", "v1", "Secret", `data: {a: "${base64.encode(b'x')}"}`, `"data":{"a":"eA=="}`},
		{"a Secret that has to wait", "v1", "Secret", `stringData: {a: "${other.spec.x}"}`, `waits other.spec.x`},
		{"times and durations are text", "v1", "Secret", `stringData: {a: "${duration('1m30s')}", b: "${timestamp('2024-01-02T05:04:05+02:00')}"}`,
			`"data":{"a":"OTBz","b":"MjAyNC0wMS0wMlQwMzowNDowNVo="}`},
		{"a Secret's values are text", "v1", "Secret", `stringData: {a: "${self.spec.replicas}"}`,
			`rules.yaml:19:19: rule "r": child "c": stringData: all values must be text`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := cluster{"Service other": exists(object{"spec": object{}})}
			if got := renderField(t, tc.apiVersion, tc.kind, tc.fields, primary(), c); got != tc.want {
				t.Errorf("\n got %s\nwant %s", got, tc.want)
			}
		})
	}
}

// renderMetadata renders a child with these lines of metadata. It returns the metadata as
// JSON, or the reason for a failure.
func renderMetadata(t *testing.T, child, metadata string, self object) string {
	t.Helper()
	r := one(t, `
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}
  let: {labels: {app: shop, owner: "${self.metadata.name}"}}
  allow: {namespaces: [p]}
  children:
  - id: c
    `+child+`
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: `+metadata+"\n", self, nil)
	d := first(&r.Children[0])
	if d.State == Failed {
		return d.Err.Message
	}
	s := body(t, d)
	return strings.TrimSuffix(s[strings.Index(s, `"metadata":`)+len(`"metadata":`):], "}")
}

func TestMetadata(t *testing.T) {
	const (
		owner  = `"ownerReferences":[{"apiVersion":"example.com/v1","blockOwnerDeletion":true,"controller":true,"kind":"Primary","name":"p","uid":"u1"}],`
		labels = `"labels":{"reconcel.dev/child":"c","reconcel.dev/rule":"r"},`
	)
	offline, wide := primary(), primary()
	offline["metadata"] = object{"name": "p", "namespace": "ns"}
	wide["metadata"] = object{"name": "p", "uid": "u1"}
	for _, tc := range []struct {
		name, child, metadata string
		self                  object
		want                  string
	}{
		{"the least", "", `{name: x}`, primary(), `{` + labels + `"name":"x","namespace":"ns",` + owner + `"annotations":{}}`},
		{"labels among ours", "", `{name: x, labels: {zz: a, aa: "${self.metadata.name}"}}`, primary(),
			`{"labels":{"aa":"p","reconcel.dev/child":"c","reconcel.dev/rule":"r","zz":"a"},"name":"x","namespace":"ns",` + owner + `"annotations":{}}`},
		{"labels from a let", "", `{name: x, labels: "${labels}"}`, primary(),
			`{"labels":{"app":"shop","owner":"p","reconcel.dev/child":"c","reconcel.dev/rule":"r"},"name":"x","namespace":"ns",` + owner + `"annotations":{}}`},
		{"labels from an expression", "", `{name: x, labels: "${merge(self.spec.map, {'z': 'y'})}"}`, primary(),
			`{"labels":{"a":"1","b":"2","reconcel.dev/child":"c","reconcel.dev/rule":"r","z":"y"},"name":"x","namespace":"ns",` + owner + `"annotations":{}}`},
		{"absent labels", "", `{name: x, labels: "${self.spec.?nope}"}`, primary(), `{` + labels + `"name":"x","namespace":"ns",` + owner + `"annotations":{}}`},
		{"annotations come last", "", `{name: x, annotations: {b: "1", a: "x${self.spec.replicas}"}, finalizers: [example.com/f]}`, primary(),
			`{"finalizers":["example.com/f"],` + labels + `"name":"x","namespace":"ns",` + owner + `"annotations":{"a":"x2","b":"1"}}`},
		{"annotations from an expression", "", `{name: x, annotations: "${self.spec.map}"}`, primary(),
			`{` + labels + `"name":"x","namespace":"ns",` + owner + `"annotations":{"a":"1","b":"2"}}`},
		{"an orphan names its owner in an annotation", "onDelete: orphan", `{name: x, annotations: {z: a}}`, primary(),
			`{` + labels + `"name":"x","namespace":"ns","annotations":{"z":"a","reconcel.dev/orphan":"true","reconcel.dev/owner":"u1/Primary.example.com/ns/p"}}`},
		{"an orphan offline", "onDelete: orphan", `{name: x}`, offline, `{` + labels + `"name":"x","namespace":"ns","annotations":{"reconcel.dev/orphan":"true"}}`},
		{"offline there is no uid", "", `{name: x}`, offline,
			`{` + labels + `"name":"x","namespace":"ns","ownerReferences":[{"apiVersion":"example.com/v1","blockOwnerDeletion":true,"controller":true,"kind":"Primary","name":"p"}],"annotations":{}}`},
		{"a cluster-scoped primary", "", `{name: x}`, wide, `{` + labels + `"name":"x",` + owner + `"annotations":{}}`},
		{"a cluster-scoped primary names the namespace", "", `{name: x, namespace: "${self.metadata.name}"}`, wide,
			`{` + labels + `"name":"x","namespace":"p",` + owner + `"annotations":{}}`},
		{"the primary's own namespace", "", `{name: x, namespace: "${self.metadata.namespace}"}`, primary(),
			`{` + labels + `"name":"x","namespace":"ns",` + owner + `"annotations":{}}`},
		{"another namespace", "", `{name: x, namespace: kube-system}`, primary(),
			`rules.yaml:14:38: rule "r": child "c": metadata.namespace: it is not the primary's namespace, and allow.namespaces does not include it`},
		{"no namespace at all", "", `{name: x, namespace: "${'A b'}"}`, primary(),
			`rules.yaml:14:41: rule "r": child "c": metadata.namespace: it is not the name of a namespace`},
		{"an empty name", "", `{name: "${''}"}`, primary(), `rules.yaml:14:27: rule "r": child "c": metadata.name: the name is empty`},
		{"a name with a slash", "", `{name: "a${'/'}"}`, primary(), `rules.yaml:14:28: rule "r": child "c": metadata.name: the name may contain only lower-case letters, digits, - and ., with a letter or digit at both ends`},
		{"a name that is too long", "", `{name: "${lists.range(254).map(i, 'x').join()}"}`, primary(),
			`rules.yaml:14:27: rule "r": child "c": metadata.name: the name is longer than 253 characters`},
		{"a name with a new line", "", `{name: "${'a\\nb'}"}`, primary(),
			`rules.yaml:14:27: rule "r": child "c": metadata.name: the name may contain only lower-case letters, digits, - and ., with a letter or digit at both ends`},
		{"a name that is a number", "", `{name: "${self.spec.replicas}"}`, primary(), `rules.yaml:14:27: rule "r": child "c": metadata.name: must be text, got int`},
		{"a name that is absent", "", `{name: "${self.spec.?nope}"}`, primary(),
			`rules.yaml:14:27: rule "r": child "c": metadata.name: must be text, but the value is absent`},
		{"a label that is a number", "", `{name: x, labels: {a: "${self.spec.replicas}"}}`, primary(),
			`rules.yaml:14:42: rule "r": child "c": metadata.labels.a: must be text, got int`},
		{"labels with a number", "", `{name: x, labels: "${self.spec.mixed}"}`, primary(),
			`rules.yaml:14:38: rule "r": child "c": metadata.labels: the value of "n" must be text, got int`},
		{"labels of reconcel are left out", "", `{name: x, labels: "${{'reconcel.dev/rule': 'y'}}"}`, primary(),
			`{"labels":{"reconcel.dev/child":"c","reconcel.dev/rule":"r"},"name":"x","namespace":"ns","ownerReferences":[{"apiVersion":"example.com/v1","blockOwnerDeletion":true,"controller":true,"kind":"Primary","name":"p","uid":"u1"}],"annotations":{}}`},
		{"annotations of reconcel are left out", "", `{name: x, annotations: "${{'reconcel.dev/applied': 'y'}}"}`, primary(),
			`{"labels":{"reconcel.dev/child":"c","reconcel.dev/rule":"r"},"name":"x","namespace":"ns","ownerReferences":[{"apiVersion":"example.com/v1","blockOwnerDeletion":true,"controller":true,"kind":"Primary","name":"p","uid":"u1"}],"annotations":{}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := renderMetadata(t, tc.child, tc.metadata, tc.self); got != tc.want {
				t.Errorf("\n got %s\nwant %s", got, tc.want)
			}
		})
	}
}

package rules

import (
	"fmt"
	"testing"
)

// TestOwnFieldsOfSelf has patches that read what they write, as a part of another value of the resource itself, and
// others that only seem to. want is the field that is computed from itself, or "".
func TestOwnFieldsOfSelf(t *testing.T) {
	for patch, want := range map[string]string{
		`{spec: {n: "${self.spec.n + 1}"}}`:                                                                    "patch.spec.n",
		`{spec: {conf: '${{"n": self.spec.conf.n + 1}}'}}`:                                                     "patch.spec.conf",
		`{spec: {conf: '${self.spec.conf.list + [1]}'}}`:                                                       "patch.spec.conf",
		`{spec: {hash: "${hash.sha256(json.marshal(self.spec))}"}}`:                                            "patch.spec.hash",
		`{spec: {hash: "${marshaled}"}}`:                                                                       "patch.spec.hash",
		`{spec: {a: {b: "x-${string(self.spec.a)}"}}}`:                                                         "patch.spec.a.b",
		`{metadata: {annotations: {snap: "${json.marshal(self.metadata.annotations)}"}}}`:                      "patch.metadata.annotations.snap",
		`{metadata: {annotations: {snap: "${has(self.metadata.annotations) ? 'a' : 'b'}"}}}`:                   "",
		`{metadata: {annotations: {snap: "${string(size(self.metadata.annotations))}"}}}`:                      "",
		`{metadata: {annotations: {snap: "${self.metadata.annotations.other}"}}}`:                              "",
		`{metadata: {annotations: {snap: "${annotation(self, 'a.b/c').orValue('')}"}}}`:                        "",
		`{metadata: {annotations: {snap: "${'a.b/c' in self.metadata.annotations ? 'a' : 'b'}"}}}`:             "",
		`{spec: {x: "${'tls' in self.spec ? 'a' : 'b'}"}}`:                                                     "",
		`{spec: {x: "${self.spec != null ? 'a' : 'b'}"}}`:                                                      "",
		`{spec: {x: {y: "${self.spec.x == {'y': 'a'} ? 'b' : 'a'}"}}}`:                                         "patch.spec.x.y",
		`{metadata: {annotations: '${{"a": self.metadata.annotations.b}}'}}`:                                   "",
		`{spec: {conf: '${{"n": self.spec.conf.m, ?"o": self.spec.conf.?p}}'}}`:                                "",
		`{spec: {hash: "${hash.sha256(json.marshal(self.spec.template))}", template: {a: "${spec.other.x}"}}}`: "",
	} {
		patch = fmt.Sprintf("- name: a\n  for: {apiVersion: example.com/v1, kind: A}\n"+
			"  let: {spec: self.spec, marshaled: json.marshal(self.spec)}\n  patch: %s\n", patch)
		got := ""
		for _, f := range mustLoad(t, patch).Primaries()[0].Rules[0].ownFields {
			got += f.where
		}
		if got != want {
			t.Errorf("%s\n got %q\nwant %q", patch, got, want)
		}
	}
}

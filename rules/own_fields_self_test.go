package rules

import (
	"fmt"
	"testing"
)

// TestOwnFieldsOfSelf has patches that read what they write, as a part of another value of the resource itself, and
// others that only seem to.
func TestOwnFieldsOfSelf(t *testing.T) {
	for patch, want := range map[string]string{
		`{spec: {conf: '${{"n": self.spec.conf.n + 1}}'}}`:                                                     "self.spec.conf.n is a part of it",
		`{spec: {conf: '${self.spec.conf.list + [1]}'}}`:                                                       "self.spec.conf.list is a part of it",
		`{spec: {hash: "${hash.sha256(json.marshal(self.spec))}"}}`:                                            "it is a part of self.spec",
		`{spec: {hash: "${marshaled}"}}`:                                                                       "it is a part of self.spec",
		`{spec: {a: {b: "x-${string(self.spec.a)}"}}}`:                                                         "it is a part of self.spec.a",
		`{metadata: {annotations: {snap: "${json.marshal(self.metadata.annotations)}"}}}`:                      "it is a part of self.metadata.annotations",
		`{metadata: {annotations: {snap: "${has(self.metadata.annotations) ? 'a' : 'b'}"}}}`:                   "",
		`{metadata: {annotations: {snap: "${string(size(self.metadata.annotations))}"}}}`:                      "",
		`{metadata: {annotations: {snap: "${self.metadata.annotations.other}"}}}`:                              "",
		`{metadata: {annotations: {snap: "${annotation(self, 'a.b/c').orValue('')}"}}}`:                        "",
		`{metadata: {annotations: {snap: "${'a.b/c' in self.metadata.annotations ? 'a' : 'b'}"}}}`:             "",
		`{spec: {x: "${'tls' in self.spec ? 'a' : 'b'}"}}`:                                                     "",
		`{spec: {x: "${self.spec != null ? 'a' : 'b'}"}}`:                                                      "",
		`{spec: {x: {y: "${self.spec.x == {'y': 'a'} ? 'b' : 'a'}"}}}`:                                         "it is a part of self.spec.x",
		`{metadata: {annotations: '${{"a": self.metadata.annotations.b}}'}}`:                                   "",
		`{spec: {conf: '${{"n": self.spec.conf.m, ?"o": self.spec.conf.?p}}'}}`:                                "",
		`{spec: {hash: "${hash.sha256(json.marshal(self.spec.template))}", template: {a: "${spec.other.x}"}}}`: "",
	} {
		patch = fmt.Sprintf("- name: a\n  for: {apiVersion: example.com/v1, kind: A}\n"+
			"  let: {spec: self.spec, marshaled: json.marshal(self.spec)}\n  patch: %s\n", patch)
		found := mustLoad(t, patch).Primaries()[0].Rules[0].OwnFieldReads()
		got := ""
		if len(found) > 0 {
			got = found[0].Why()
		}
		if want != "" {
			want += ": it would change each time"
		}
		if got != want {
			t.Errorf("%s\n got %q\nwant %q", patch, got, want)
		}
	}
}

package rules

import (
	"fmt"
	"strings"
	"testing"
)

// TestVolatileReads has spellings of what changes with each write of the primary, in each place that causes a write.
func TestVolatileReads(t *testing.T) {
	spellings := map[string]bool{ // whether a status subresource changes the answer
		`self.metadata.resourceVersion`: false, `self.metadata.?resourceVersion.orValue("")`: false, `self["metadata"]["resourceVersion"]`: false,
		`hash.md5(json.marshal(self))`: false, `json.marshal(self.metadata)`: false, `string(size(self.metadata.managedFields))`: false,
		`[self.metadata.resourceVersion].join("-")`: false, `{"a": self.metadata.resourceVersion}.a`: false, `cel.bind(m, self.metadata, m.resourceVersion)`: false,
		`self.metadata.resourceVersion == "1" ? "a" : "b"`: false, `self.metadata.?managedFields.orValue([]).map(m, m.manager).join()`: false,
		`"%s".format([self.metadata])`: false, `version`: false, `shortName(version)`: false, `whole.metadata.resourceVersion`: false,
		`string(self.metadata.generation)`: true, `string(self.metadata.?generation.orValue(0))`: true, `self.metadata.generation > 1 ? "a" : "b"`: true, `generation`: true,
	}
	for spelling, generation := range spellings {
		for place, rule := range map[string]string{
			"status.a":                     "  status: {a: '${%s}'}\n",
			"status.a.b":                   "  status: {a: {b: 'x-${%s}'}}\n",
			`condition "X"`:                "  conditions: [{type: X, when: 'true', message: '${%s}'}]\n",
			`child "c": data.a`:            "  children: [{id: c, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '${%s}'}}}]\n",
			`child "c": metadata.labels.a`: "  children: [{id: c, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {a: '${%s}'}}}}]\n",
			`child "c": stringData`:        "  children: [{id: c, template: {apiVersion: v1, kind: Secret, metadata: {name: c}, stringData: {a: '${%s}'}}}]\n",
		} {
			body := "- name: a\n  for: {apiVersion: example.com/v1, kind: A}\n  let: {version: self.metadata.resourceVersion, whole: self, generation: string(self.metadata.generation)}\n" +
				fmt.Sprintf(rule, strings.ReplaceAll(spelling, "'", "''"))
			r := mustLoad(t, body).Primaries()[0].Rules[0]
			found := r.VolatileReads(false)
			if len(found) != 1 || found[0].Where != place || !strings.HasPrefix(found[0].Trail, self) {
				t.Errorf("%s in %s: %v", spelling, place, found)
			}
			if n := len(r.VolatileReads(true)); (n == 0) != generation {
				t.Errorf("%s in %s, with a status subresource: %d", spelling, place, n)
			}
		}
	}
	quiet := `- name: a
  for: {apiVersion: example.com/v1, kind: A}
  children:
  - {id: c, onChange: keep, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: "${self.metadata.resourceVersion}"}}}
  - {id: d, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: d}, data: {a: "${c.metadata.resourceVersion}", b: "${self.metadata.uid}"}}}
  status: {observed: "${string(self.status.?observedGeneration.orValue(0))}", name: "${self.metadata.name}"}
`
	if found := mustLoad(t, quiet).Primaries()[0].Rules[0].VolatileReads(false); len(found) != 0 {
		t.Error(found)
	}
}

package expr

import "testing"

// TestMergePodTemplate in package engine compares the results with the API server's.
func TestMergePodTemplates(t *testing.T) {
	for src, want := range map[string]string{
		`mergePodTemplate({"spec": {"containers": [{"name": "a"}]}}, {})`:                                                                      `{"spec":{"containers":[{"name":"a"}]}}`,
		`mergePodTemplate({}, {"spec": {"hostNetwork": true}})`:                                                                                `{"spec":{"hostNetwork":true}}`,
		`mergePodTemplate({"spec": {"nodeSelector": {"a": "1"}}}, {"spec": {"nodeSelector": {"b": "2"}}})`:                                     `{"spec":{"nodeSelector":{"b":"2"}}}`,
		`mergePodTemplate({"spec": {"tolerations": [{"key": "a"}]}}, {"spec": {"tolerations": []}})`:                                           `{"spec":{"tolerations":[]}}`,
		`mergePodTemplate({"spec": {"priority": 1, "hostPID": true}}, {"spec": {"priority": null}})`:                                           `{"spec":{"hostPID":true,"priority":null}}`,
		`mergePodTemplate({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}, {"spec": {"containers": [{"name": "b"}]}})`:                `{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`,
		`mergePodTemplate({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}, {"spec": {"containers": [{"name": "c"}, {"name": "a"}]}})`: `{"spec":{"containers":[{"name":"c"},{"name":"a"},{"name":"b"}]}}`,
	} {
		if got := eval(t, compile(t, src, shapes()), world()); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

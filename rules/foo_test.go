package rules

import (
	"strings"
	"testing"

	"reconcel/rules/kstatus"
)

func TestFoo(t *testing.T) {
	r := one(t, fooRule, foo(), cluster{"Deployment web": exists(fooDeployment())})
	if r.Err != nil || r.StatusErr != nil || !r.Matches {
		t.Fatal(r.Err, r.StatusErr, r.Matches)
	}
	d := first(&r.Children[0])
	want := `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":3,"selector":{"matchLabels":{"app":"nginx","controller":"example"}},` +
		`"template":{"metadata":{"labels":{"app":"nginx","controller":"example"}},"spec":{"containers":[{"image":"nginx:latest","name":"nginx"}]}}},` +
		`"metadata":{"labels":{"reconcel.dev/child":"deployment","reconcel.dev/rule":"foo"},"name":"web","namespace":"team-a",` +
		`"ownerReferences":[{"apiVersion":"samplecontroller.k8s.io/v1alpha1","blockOwnerDeletion":true,"controller":true,"kind":"Foo","name":"example","uid":"0aa-1"}],` +
		`"annotations":{}}}`
	if got := body(t, d); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if d.Readiness != kstatus.Ready {
		t.Error(d.Reason)
	}
	if got := string(r.Status); got != `{"availableReplicas":3}` {
		t.Error(got)
	}
	apply := string(d.AppendApply([]byte("x"), "u", "1"))
	end := `"annotations":{"reconcel.dev/applied":"` + d.HashString() + `"},"resourceVersion":"1","uid":"u"}}`
	if !strings.HasPrefix(apply, `x{"apiVersion"`) || !strings.HasSuffix(apply, end) {
		t.Error(apply)
	}
	d.installation = "default/reconcel"
	apply = string(d.AppendApply(nil, "", ""))
	if !strings.HasSuffix(apply, `"annotations":{"reconcel.dev/applied":"`+d.HashString()+`","reconcel.dev/installation":"default/reconcel"}}}`) {
		t.Error(apply)
	}
}

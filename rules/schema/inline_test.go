package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// TestTypesAreStructural defines a kind with each of Kubernetes' types as a field.
func TestTypesAreStructural(t *testing.T) {
	tried := map[string]bool{}
	for name := range Builtin().Models(Builtin().Kinds()...) {
		tried[name] = true
		if again := TypeOf(name); again != "" && Type(again) == nil {
			t.Errorf("%s, the name of %s, is unknown", again, name)
		}
		text, err := json.Marshal(Builtin().Inline(spec.RefSchema(RefPrefix+name), nil))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), RefPrefix) {
			t.Errorf("%s has a reference", name)
		}
		crd := decode(t, strings.Replace(soundCRD, "{x-kubernetes-int-or-string: true}", string(text), 1))
		for _, f := range Flaws(crd) {
			t.Errorf("%s: %s", name, f)
		}
	}
	if len(tried) < 500 {
		t.Errorf("%d types were tried", len(tried))
	}
}

func TestType(t *testing.T) {
	for _, unknown := range []string{"PodTemplateSpec", "v1/Pods", "v2/Pod", "example.com/v1/Pod", "/Pod", "a/b/c/Pod", "v1/"} {
		if Type(unknown) != nil {
			t.Errorf("%s is a type", unknown)
		}
	}
	for _, known := range []string{"apps/v1/DeploymentSpec", "v1/LabelSelector", "networking.k8s.io/v1/NetworkPolicyPeer",
		"rbac.authorization.k8s.io/v1/PolicyRule"} {
		if Type(known) == nil {
			t.Errorf("%s is no type", known)
		}
	}
	pod := Type("v1/PodTemplateSpec")
	if got := slices.Sorted(maps.Keys(pod.Properties["metadata"].Properties)); !slices.Contains(got, "labels") ||
		slices.Contains(got, "uid") {
		t.Errorf("a template has the metadata %v", got)
	}
	container := pod.Properties["spec"].Properties["containers"].Items.Schema
	port := container.Properties["ports"]
	if how, keys := MergedBy(&port); how != "map" || !slices.Equal(keys, []string{"containerPort", "protocol"}) {
		t.Errorf("ports are merged as %s by %v", how, keys)
	}
	if protocol := port.Items.Schema.Properties["protocol"]; protocol.Default != "TCP" {
		t.Errorf("the protocol is %v by default", protocol.Default)
	}
	if got := pod.Properties["spec"].Required; !slices.Equal(got, []string{"containers"}) {
		t.Errorf("required are %v", got)
	}
}

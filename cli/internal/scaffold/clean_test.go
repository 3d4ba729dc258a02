package scaffold

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"reconcel/cli/internal/files"
	"reconcel/rules/schema"
	"reconcel/sim"
)

// TestLiveObjectsLoseDefaults stores manifests as an API server does: what it adds is left out
// again.
func TestLiveObjectsLoseDefaults(t *testing.T) {
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := files.Reader{}.Objects([]string{"testdata/shop/manifests.yaml", "testdata/jobs.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.Unstructured.GetKind() == "Secret" {
			continue // The API server stores stringData as data.
		}
		want := cleaned(&o.Unstructured, kinds)
		live, err := kinds.Stored(&o.Unstructured)
		if err != nil {
			t.Fatal(err)
		}
		live.SetUID(types.UID("b3c1"))
		live.SetResourceVersion("7")
		live.SetGeneration(2)
		live.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"})
		if got := cleaned(live, kinds); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is\n%v, expected\n%v", o, got, want)
		}
	}
}

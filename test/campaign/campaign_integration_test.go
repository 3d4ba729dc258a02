//go:build integration

// Package campaign runs processes of reconcel for a long time on a real control plane,
// while everything around them changes or breaks: rules, primaries, the network, the
// processes themselves. The tests compare the API server's audit log and a watch with the
// allowed behavior.
//
// A test run executes a sample of each campaign. RECONCEL_SOAK=1 executes all of it, and
// RECONCEL_SEED selects another random sequence.
package campaign

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// chance returns the random source of a campaign.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(1)
	if text := os.Getenv("RECONCEL_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("RECONCEL_SEED: %v", err)
		}
	}
	t.Logf("RECONCEL_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// crd is a kind of the campaigns. Its spec may hold anything.
func crd(kind string) string {
	return strings.NewReplacer("KIND", kind, "PLURAL", strings.ToLower(kind)+"s").Replace(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.campaign.reconcel.dev}
spec:
  group: campaign.reconcel.dev
  names: {kind: KIND, plural: PLURAL}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [value]
            properties: {value: {type: integer}, replicas: {type: integer}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`)
}

// establish creates CRDs, and waits until they are served.
func establish(t *testing.T, cluster *devcluster.Cluster, kinds ...string) {
	t.Helper()
	for _, kind := range kinds {
		e2e.Kubectl(t, cluster, "apply", "-f", write(t, filepath.Join(t.TempDir(), kind+".yaml"), crd(kind)))
	}
	e2e.Kubectl(t, cluster, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
}

func write(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// process is `reconcel run`.
type process struct{ *e2e.Process }

func start(t *testing.T, binary, name string, args ...string) *process {
	t.Helper()
	return &process{e2e.Command{Binary: binary, Name: name, Args: args}.Start(t)}
}

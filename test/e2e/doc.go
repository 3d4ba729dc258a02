// Package e2e has helpers for tests on a real control plane: namespaces, objects, waits,
// Events, the audit log, and processes of reconcel.
//
//	func TestSomething(t *testing.T) {
//		w := e2e.New(t, devcluster.Shared(t))
//		w.CRD(manifest)
//		w.Create("{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}")
//		w.Has(e2e.ConfigMap, "web-child", map[string]any{"data.size": 3})
//	}
//
// A test waits for a condition instead of a fixed time. Every wait fails with an error
// that names what is missing.
package e2e

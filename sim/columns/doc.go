// Package columns makes the tables that kubectl get shows.
//
// kubectl asks for a metav1.Table (Accept: application/json;as=Table;v=v1;g=meta.k8s.io), so the API server decides
// about the columns. Names, types, priorities and cells are those of Kubernetes 1.37: of pkg/printers for built-in
// kinds, of apiextensions-apiserver for CRDs and custom resources. Descriptions, which kubectl does not show, are
// our own.
//
// Most cells are the value of a field, or a default if the field is missing, so they read the unstructured object.
// Only Pods are converted to Go's type. The cells of a Pod that does not fit the type are null.
//
// Two things differ: a list of FlowSchemas is not sorted, and an autoscaler of version 1 has no metrics from the
// annotations that Kubernetes makes for version 2.
//
// The tests compare the tables with those of a control plane. Its answers are in testdata, so that most tests need
// no control plane.
package columns

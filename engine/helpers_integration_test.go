//go:build integration

package engine_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	crdResource        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	configMapsResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	namespacesResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	createOptions      = metav1.CreateOptions{}
	deleteNow          = metav1.DeleteOptions{}
)

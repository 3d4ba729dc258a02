package server

import (
	"context"
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/sim"
)

// An Event is the same object in two API groups, with other names for its fields. It is stored as that of the core.
var (
	newEvents  = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}
	coreEvents = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

// newNames are the names of the fields in events.k8s.io, by those in the core.
var newNames = map[string]string{"involvedObject": "regarding", "message": "note", "source": "deprecatedSource",
	"firstTimestamp": "deprecatedFirstTimestamp", "lastTimestamp": "deprecatedLastTimestamp", "count": "deprecatedCount",
	"reportingComponent": "reportingController"}

// newer returns an Event of events.k8s.io, from one of the core.
func newer(u *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	out.Object["apiVersion"] = newEvents.GroupVersion().String()
	for core, name := range newNames {
		rename(out.Object, core, name)
	}
	return out
}

// older returns an Event of the core, from one of events.k8s.io.
func older(u *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
	out.Object["apiVersion"] = coreEvents.GroupVersion().String()
	for core, name := range newNames {
		rename(out.Object, name, core)
	}
	if _, has := out.Object["involvedObject"]; !has {
		out.Object["involvedObject"] = map[string]any{}
	}
	return out
}

// olderField returns the field of the core's Events that a field selector for Events of events.k8s.io names.
func olderField(field, value string) (older, same string, err error) {
	switch part, of := strings.CutPrefix(field, "regarding."); {
	case of:
		return "involvedObject." + part, value, nil
	case field == "reportingController":
		return "reportingComponent", value, nil
	case strings.HasPrefix(field, "metadata."), field == "reason", field == "type":
		return field, value, nil
	}
	return "", "", fmt.Errorf("field label not supported: %s", field)
}

func rename(fields map[string]any, from, to string) {
	if value, has := fields[from]; has {
		fields[to] = value
		delete(fields, from)
	}
}

// events are the Events of the core for a client of events.k8s.io.
type events struct{ dynamic.ResourceInterface }

func shown(u *unstructured.Unstructured, err error) (*unstructured.Unstructured, error) {
	if err != nil {
		return nil, err
	}
	return newer(u), nil
}

func (e events) Create(ctx context.Context, u *unstructured.Unstructured, options metav1.CreateOptions,
	subresources ...string) (*unstructured.Unstructured, error) {
	return shown(e.ResourceInterface.Create(ctx, older(u), options, subresources...))
}

func (e events) Update(ctx context.Context, u *unstructured.Unstructured, options metav1.UpdateOptions,
	subresources ...string) (*unstructured.Unstructured, error) {
	return shown(e.ResourceInterface.Update(ctx, older(u), options, subresources...))
}

func (e events) Get(ctx context.Context, name string, options metav1.GetOptions,
	subresources ...string) (*unstructured.Unstructured, error) {
	return shown(e.ResourceInterface.Get(ctx, name, options, subresources...))
}

// Patch changes the Event that the client sees.
func (e events) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions,
	subresources ...string) (*unstructured.Unstructured, error) {
	now, err := e.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if kind == types.StrategicMergePatchType {
		kind = types.MergePatchType // An Event has no lists that are merged.
	}
	next, err := sim.Patched(now, kind, data)
	if err != nil {
		return nil, err
	}
	return e.Update(ctx, next, metav1.UpdateOptions{DryRun: options.DryRun, FieldManager: options.FieldManager},
		subresources...)
}

package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/sim"
)

// selector returns which objects a list or watch selects, as they are stored.
func (c *call) selector(options metav1.ListOptions) (func(*unstructured.Unstructured) bool, error) {
	selects, err := sim.Selects(c.stored, options)
	if err != nil || c.name == "" {
		return selects, err
	}
	return func(u *unstructured.Unstructured) bool { return u.GetName() == c.name && selects(u) }, nil
}

// objects returns the selected objects, as they are stored, and their resourceVersion. Do not change them.
func (c *call) objects(selects func(*unstructured.Unstructured) bool) ([]*unstructured.Unstructured, string, error) {
	all, version, err := c.Cluster.Objects(c.request.UserAgent(), c.stored, c.namespace)
	return slices.DeleteFunc(all, func(u *unstructured.Unstructured) bool { return !selects(u) }), version, err
}

// seenAs returns a stored object as the client sees it.
func (c *call) seenAs(u *unstructured.Unstructured) *unstructured.Unstructured {
	if c.kind != c.stored {
		return newer(u)
	}
	return u
}

// read lists or watches.
func (c *call) read() error {
	options, err := c.selectors()
	if err != nil {
		return err
	}
	options.ResourceVersion = c.query.Get("resourceVersion")
	if on, _ := strconv.ParseBool(c.query.Get("watch")); on {
		return c.watch(options)
	}
	selects, err := c.selector(options)
	if err != nil {
		return err
	}
	all, version, err := c.objects(selects)
	if err != nil {
		return err
	}
	for i := range all {
		all[i] = c.seenAs(all[i])
	}
	meta := metav1.ListMeta{ResourceVersion: version}
	if c.wants.form == table {
		c.wants.write(c.w, http.StatusOK, c.tableOf(all, meta))
		return nil
	}
	list := map[string]any{"apiVersion": c.kind.GVK.GroupVersion().String(), "kind": c.kind.GVK.Kind + "List"}
	if c.wants.form == metadataAlone {
		list["apiVersion"], list["kind"] = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	list["metadata"] = map[string]any{"resourceVersion": version}
	items := make([]any, len(all))
	for i, u := range all {
		if items[i] = u.Object; c.wants.form == metadataAlone {
			items[i] = metadataOf(u)
		}
	}
	if c.wants.asYAML {
		list["items"] = items
		c.wants.write(c.w, http.StatusOK, list)
		return nil
	}
	writeItems(c.w, list, items)
	return nil
}

// writeItems answers with a list in JSON, item by item: a long one does not have to fit into memory as text.
func writeItems(w http.ResponseWriter, list map[string]any, items []any) {
	head, err := json.Marshal(list)
	if err != nil {
		writeError(w, err)
		return
	}
	writeHeader(w, http.StatusOK)
	_, _ = w.Write(append(head[:len(head)-1], `,"items":[`...))
	encoder := json.NewEncoder(w)
	for i, item := range items {
		if i > 0 {
			_, _ = w.Write([]byte{','})
		}
		if err := encoder.Encode(item); err != nil {
			return // The client is gone.
		}
	}
	_, _ = w.Write([]byte("]}\n"))
}

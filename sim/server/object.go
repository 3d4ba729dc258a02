package server

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/rules/schema"
)

// A call is one request for objects of a kind.
type call struct {
	*Server
	path
	kind    *schema.Kind              // as the client sees it
	stored  *schema.Kind              // as the cluster stores it: an Event has two kinds
	client  dynamic.ResourceInterface // for the kind and the namespace
	query   url.Values
	wants   accepted
	w       http.ResponseWriter
	request *http.Request
}

// serveObject serves a request for objects.
func (s *Server) serveObject(w http.ResponseWriter, r *http.Request, at path) {
	if s.serveReview(w, r, at) {
		return
	}
	c := &call{Server: s, path: at, kind: s.Cluster.Kinds().Resource(at.gvr()), query: r.URL.Query(),
		wants: accepts(r), w: w, request: r}
	switch {
	case c.kind == nil, at.namespace != "" && !c.kind.Namespaced:
		http.NotFound(w, r)
		return
	case c.wants.form == unacceptable:
		writeError(w, errNotAcceptable())
		return
	}
	c.stored = c.kind
	newer := at.gvr() == newEvents
	if newer {
		c.stored = s.Cluster.Kinds().Resource(coreEvents)
	}
	resource := s.Cluster.Client(r.UserAgent()).Resource(c.stored.GVK.GroupVersion().WithResource(c.stored.Resource))
	c.client = resource
	if at.namespace != "" {
		c.client = resource.Namespace(at.namespace)
	}
	if newer {
		c.client = events{c.client}
	}
	if err := c.serve(); err != nil {
		writeError(w, err)
	}
}

// unplayed are subresources that a cluster in memory does not have, and why.
var unplayed = map[string]string{
	"pods/log": noPods, "pods/exec": noPods, "pods/attach": noPods, "pods/portforward": noPods, "pods/proxy": noPods,
	"pods/binding": noPods, "pods/eviction": noPods, "pods/ephemeralcontainers": noPods, "services/proxy": noPods,
	"nodes/proxy": noPods, "serviceaccounts/token": "issues no tokens",
}

const noPods = "runs no Pods"

// serve answers unless it returns an error.
func (c *call) serve() error {
	if why := unplayed[c.resource+"/"+c.subresource]; why != "" && c.Group == "" {
		return apierrors.NewGenericServerResponse(http.StatusNotImplemented, "", runtimeschema.GroupResource{}, "",
			"this API in memory "+why, 0, false)
	}
	switch method := c.request.Method; {
	case (method == http.MethodGet || method == http.MethodHead) && c.name == "":
		return c.read()
	case method == http.MethodGet || method == http.MethodHead:
		return c.get()
	case method == http.MethodPost && c.name == "":
		return c.create()
	case method == http.MethodPut && c.name != "":
		return c.update()
	case method == http.MethodPatch && c.name != "":
		return c.patch()
	case method == http.MethodDelete && c.name != "":
		return c.delete()
	case method == http.MethodDelete:
		return c.deleteCollection()
	}
	return apierrors.NewMethodNotSupported(c.gvr().GroupResource(), strings.ToLower(c.request.Method))
}

func (c *call) subresources() []string {
	if c.subresource == "" {
		return nil
	}
	return []string{c.subresource}
}

// answer answers with one object.
func (c *call) answer(code int, u *unstructured.Unstructured) error {
	c.wants.write(c.w, code, c.shaped(u))
	return nil
}

// shaped returns an object in the form that the client wants.
func (c *call) shaped(u *unstructured.Unstructured) any {
	switch c.wants.form {
	case table:
		return c.tableOfOne(u)
	case metadataAlone:
		return metadataOf(u)
	}
	return u.Object
}

func (c *call) get() error {
	u, err := c.client.Get(c.request.Context(), c.name, metav1.GetOptions{}, c.subresources()...)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, u)
}

// selectors are those of the client, with the fields that the stored kind has.
func (c *call) selectors() (metav1.ListOptions, error) {
	options := metav1.ListOptions{LabelSelector: c.query.Get("labelSelector"), FieldSelector: c.query.Get("fieldSelector")}
	if c.stored == c.kind {
		return options, nil
	}
	selector, err := fields.ParseAndTransformSelector(options.FieldSelector, olderField)
	if err != nil {
		return options, apierrors.NewBadRequest(err.Error())
	}
	options.FieldSelector = selector.String()
	return options, nil
}

// decode decodes the object in the body.
func (c *call) decode() (*unstructured.Unstructured, error) {
	body, kind, err := readBody(c.w, c.request)
	if err != nil {
		return nil, err
	}
	of := c.kind
	if c.subresource == "scale" {
		of = &schema.Kind{GVK: runtimeschema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}}
	}
	u, strict, err := decodeObject(body, kind, of)
	if err != nil {
		return nil, err
	}
	return u, c.validateFields(c.w, c.query.Get("fieldValidation"), of, u, strict)
}

func (c *call) create() error {
	u, err := c.decode()
	if err != nil {
		return err
	}
	created, err := c.client.Create(c.request.Context(), u, metav1.CreateOptions{DryRun: c.query["dryRun"],
		FieldManager: c.query.Get("fieldManager")})
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, created)
}

func (c *call) update() error {
	u, err := c.decode()
	if err != nil {
		return err
	}
	u.SetName(c.name)
	updated, err := c.client.Update(c.request.Context(), u, metav1.UpdateOptions{DryRun: c.query["dryRun"],
		FieldManager: c.query.Get("fieldManager")}, c.subresources()...)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, updated)
}

func (c *call) patch() error {
	body, kind, err := readBody(c.w, c.request)
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{DryRun: c.query["dryRun"], FieldManager: c.query.Get("fieldManager"),
		FieldValidation: c.query.Get("fieldValidation")}
	if force := c.query.Get("force"); force != "" {
		on, _ := strconv.ParseBool(force)
		options.Force = &on
	}
	code := http.StatusOK
	if types.PatchType(kind) == types.ApplyPatchType {
		if _, err := c.client.Get(c.request.Context(), c.name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			code = http.StatusCreated
		}
	}
	u, err := c.client.Patch(c.request.Context(), c.name, types.PatchType(kind), body, options, c.subresources()...)
	if err != nil {
		return err
	}
	return c.answer(code, u)
}

// deletion returns the options of a deletion, which come in the body or in the query.
func (c *call) deletion() (metav1.DeleteOptions, error) {
	body, kind, err := readBody(c.w, c.request)
	if err != nil {
		return metav1.DeleteOptions{}, err
	}
	options, err := decodeDelete(body, kind)
	if policy := metav1.DeletionPropagation(c.query.Get("propagationPolicy")); policy != "" {
		options.PropagationPolicy = &policy
	}
	options.DryRun = append(options.DryRun, c.query["dryRun"]...)
	return options, err
}

func (c *call) delete() error {
	options, err := c.deletion()
	if err != nil {
		return err
	}
	before, err := c.client.Get(c.request.Context(), c.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := c.client.Delete(c.request.Context(), c.name, options, c.subresources()...); err != nil {
		return err
	}
	if left, err := c.client.Get(c.request.Context(), c.name, metav1.GetOptions{}); err == nil &&
		left.GetUID() == before.GetUID() && left.GetDeletionTimestamp() != nil {
		return c.answer(http.StatusOK, left)
	}
	c.wants.write(c.w, http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{Name: c.name, Group: c.Group, Kind: c.resource,
			UID: before.GetUID()}})
	return nil
}

func (c *call) deleteCollection() error {
	options, err := c.deletion()
	if err != nil {
		return err
	}
	which, err := c.selectors()
	if err != nil {
		return err
	}
	if err := c.client.DeleteCollection(c.request.Context(), options, which); err != nil {
		return err
	}
	c.wants.write(c.w, http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{Group: c.Group, Kind: c.resource}})
	return nil
}

// bookmark returns an object of the kind that has a resourceVersion alone.
func (c *call) bookmark(version string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(c.kind.GVK)
	u.SetResourceVersion(version)
	u.SetCreationTimestamp(metav1.Time{})
	return u
}

// An event is one event of a watch.
type event struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

func encode(w http.ResponseWriter, e event) error { return json.NewEncoder(w).Encode(e) }

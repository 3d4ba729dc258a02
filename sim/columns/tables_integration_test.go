//go:build integration

package columns_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"reconcel/sim/columns"
	"reconcel/test/devcluster"
)

var update = flag.Bool("update", false, "record the tables of the control plane")

// chosen is the label of the objects in testdata.
const chosen = "columns.reconcel.dev/chosen"

// more are paths of which tables are read in addition to those of the objects.
var more = []string{"/api/v1/namespaces/default/events", "/apis/example.com/v1/namespaces/default/widgets"}

type controlPlane struct {
	*testing.T
	dynamic   dynamic.Interface
	discovery *discovery.DiscoveryClient
}

func TestAgreesWithARealControlPlane(t *testing.T) {
	cluster := devcluster.Start(t, devcluster.Options{
		Controllers: "namespace-controller", Without: []string{devcluster.Kwok, devcluster.Scheduler},
	})
	if !cluster.IsNewest(t) {
		t.Skip("the tables are those of the newest minor")
	}
	c := &controlPlane{T: t,
		dynamic:   dynamic.NewForConfigOrDie(cluster.Config()),
		discovery: discovery.NewDiscoveryClientForConfigOrDie(cluster.Config()),
	}
	c.create(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount",
		"metadata": map[string]any{"name": "default"}}})
	data, err := os.ReadFile(filepath.Join("testdata", "objects.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	seen := map[string]bool{}
	for text := range strings.SplitSeq(string(data), "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), u); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		u.SetLabels(merged(u.GetLabels(), chosen))
		path := c.create(u)
		if !seen[path] {
			seen[path] = true
			paths = append(paths, path)
		}
	}
	var answers []answer
	for _, path := range append(paths, more...) {
		answers = append(answers, c.table(path))
	}
	record, err := json.MarshalIndent(answers, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(answersFile, append(record, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	compareWith(t, readAnswers(t, record))
	t.Run("a row has the metadata of its object", c.compareObjects)
	t.Run("only a list has a default StorageClass", c.compareOne)
}

func merged(labels map[string]string, key string) map[string]string {
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = "yes"
	return labels
}

// create creates an object with its status, and returns the path of its kind.
func (c *controlPlane) create(u *unstructured.Unstructured) string {
	c.Helper()
	gvk := u.GroupVersionKind()
	var mapping *meta.RESTMapping
	err := wait.PollUntilContextTimeout(c.Context(), 50*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		groups, err := restmapper.GetAPIGroupResources(c.discovery)
		if err == nil {
			mapping, err = restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(gvk.GroupKind(), gvk.Version)
		}
		return err == nil, nil
	})
	if err != nil {
		c.Fatalf("%s is not served: %v", gvk, err)
	}
	path := "/apis/" + gvk.GroupVersion().String()
	if gvk.Group == "" {
		path = "/api/" + gvk.Version
	}
	var client dynamic.ResourceInterface = c.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		client = c.dynamic.Resource(mapping.Resource).Namespace("default")
		path += "/namespaces/default"
	}
	if _, err := client.Create(c.Context(), u, metav1.CreateOptions{}); err != nil {
		c.Fatalf("%s %s: %v", gvk.Kind, u.GetName(), err)
	}
	if status, ok := u.Object["status"]; ok {
		subresource := "status"
		if gvk.Kind == "CertificateSigningRequest" {
			subresource = "approval"
		}
		// The API server itself writes the status of a FlowSchema, too.
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			latest, err := client.Get(c.Context(), u.GetName(), metav1.GetOptions{})
			if err == nil {
				latest.Object["status"] = status
				_, err = client.Update(c.Context(), latest, metav1.UpdateOptions{}, subresource)
			}
			return err
		})
		if err != nil && !apierrors.IsNotFound(err) {
			c.Fatalf("%s %s: %v", gvk.Kind, u.GetName(), err)
		}
	}
	if u.GetAnnotations()["deleted"] != "" {
		if err := client.Delete(c.Context(), u.GetName(), metav1.DeleteOptions{}); err != nil {
			c.Fatal(err)
		}
	}
	return path + "/" + mapping.Resource.Resource
}

const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

func (c *controlPlane) get(path, accept string, include metav1.IncludeObjectPolicy) []byte {
	c.Helper()
	request := c.discovery.RESTClient().Get().AbsPath(path).SetHeader("Accept", accept)
	if accept == asTable {
		request = request.Param("includeObject", string(include))
	}
	if strings.HasSuffix(path, "s") {
		request = request.Param("labelSelector", chosen)
	}
	data, err := request.Do(c.Context()).Raw()
	if err != nil {
		c.Fatalf("%s: %v", path, err)
	}
	return data
}

// table returns the table at a path, without what differs each time.
func (c *controlPlane) table(path string) answer {
	c.Helper()
	var table struct {
		ColumnDefinitions []metav1.TableColumnDefinition
		Rows              []answerRow
	}
	data := c.get(path, asTable, metav1.IncludeObject)
	a := answer{Path: path, Time: time.Now().UTC().Truncate(time.Millisecond)}
	if err := json.Unmarshal(data, &table); err != nil {
		c.Fatal(err)
	}
	for _, column := range table.ColumnDefinitions {
		column.Description = ""
		a.Columns = append(a.Columns, column)
	}
	for _, row := range table.Rows {
		for _, key := range []string{"managedFields", "uid", "resourceVersion"} {
			delete(row.Object["metadata"].(map[string]any), key)
		}
		if _, ok, _ := unstructured.NestedString(row.Object, "metadata", "annotations", "autoscaling.alpha.kubernetes.io/metrics"); ok {
			continue // Version 1 of an autoscaler of version 2, whose metrics the cluster in memory does not convert.
		}
		a.Rows = append(a.Rows, row)
	}
	return a
}

// compareObjects compares whole answers, with columns and objects as the client gets them.
func (c *controlPlane) compareObjects(t *testing.T) {
	const path = "/api/v1/namespaces/default/secrets"
	list := &unstructured.UnstructuredList{}
	if err := list.UnmarshalJSON(c.get(path, "application/json", "")); err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	of := columns.Of(objects[0].GroupVersionKind().GroupKind())
	for _, include := range []metav1.IncludeObjectPolicy{"", metav1.IncludeMetadata, metav1.IncludeObject, metav1.IncludeNone} {
		var theirs metav1.Table
		if err := json.Unmarshal(c.get(path, asTable, include), &theirs); err != nil {
			t.Fatal(err)
		}
		table := of.Table(objects, time.Now(), include)
		var ours metav1.Table
		data, err := json.Marshal(table)
		if err == nil {
			err = json.Unmarshal(data, &ours)
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(theirs.TypeMeta, ours.TypeMeta); diff != "" {
			t.Errorf("includeObject=%s: the table differs:\n%s", include, diff)
		}
		for i := range theirs.Rows {
			if diff := cmp.Diff(fields(t, theirs.Rows[i].Object.Raw), fields(t, ours.Rows[i].Object.Raw)); diff != "" {
				t.Errorf("includeObject=%s: row %d differs (- control plane, + ours):\n%s", include, i, diff)
			}
		}
	}
}

func fields(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); len(data) > 0 && err != nil {
		t.Fatal(err)
	}
	return v
}

func (c *controlPlane) compareOne(t *testing.T) {
	const path = "/apis/storage.k8s.io/v1/storageclasses/fast"
	var theirs metav1.Table
	if err := json.Unmarshal(c.get(path, asTable, metav1.IncludeNone), &theirs); err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(c.get(path, "application/json", "")); err != nil {
		t.Fatal(err)
	}
	ours := columns.Of(object.GroupVersionKind().GroupKind()).TableOfOne(object, time.Now(), metav1.IncludeNone)
	if diff := cmp.Diff(theirs.Rows[0].Cells[:5], ours.Rows[0].Cells[:5]); diff != "" {
		t.Errorf("the table differs (- control plane, + ours):\n%s", diff)
	}
	if theirs.ResourceVersion != ours.ResourceVersion {
		t.Errorf("resourceVersion is %q, want %q", ours.ResourceVersion, theirs.ResourceVersion)
	}
}

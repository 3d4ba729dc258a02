package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

// sent is a request of Metacontroller, with the fields that the webhook reads and a few others.
const sent = `{
  "controller": {"kind": "CompositeController"},
  "parent": {"metadata": {"name": "web", "namespace": "shop", "uid": "1"}, "spec": {"deploymentName": "frontend", "replicas": 3}},
  "children": {"Deployment.apps/v1": {"frontend": {"metadata": {"name": "frontend"}, "status": {"availableReplicas": 2}}}},
  "finalizing": false
}`

// post sends a request to the handler.
func post(body string) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/sync", strings.NewReader(body)))
	return recorder
}

func TestAnswer(t *testing.T) {
	const labels = `{"app": "nginx", "controller": "web"}`
	const want = `{
  "status": {"availableReplicas": 2},
  "children": [{
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "frontend", "namespace": "shop", "labels": ` + labels + `},
    "spec": {
      "replicas": 3, "selector": {"matchLabels": ` + labels + `},
      "template": {"metadata": {"labels": ` + labels + `}, "spec": {"containers": [{"name": "nginx", "image": "nginx:latest"}]}}
    }
  }]
}`
	answer := post(sent)
	if answer.Code != http.StatusOK {
		t.Fatalf("got %d: %s", answer.Code, answer.Body)
	}
	var got, wanted any
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf("got %s\nwant %s", answer.Body, want)
	}
}

func TestNothingIsAvailableBeforeTheDeploymentExists(t *testing.T) {
	answer := post(strings.Replace(sent, `"frontend": {"metadata"`, `"other": {"metadata"`, 1))
	if !strings.Contains(answer.Body.String(), `"availableReplicas":0`) {
		t.Errorf("got %s", answer.Body)
	}
}

func TestFooWithoutNameHasNoDeployment(t *testing.T) {
	answer := post(strings.Replace(sent, `"deploymentName": "frontend", `, "", 1))
	if answer.Code != http.StatusOK || strings.Contains(answer.Body.String(), "Deployment") {
		t.Errorf("got %d: %s", answer.Code, answer.Body)
	}
}

func TestRequestThatCannotBeRead(t *testing.T) {
	if answer := post("{"); answer.Code != http.StatusBadRequest {
		t.Errorf("got %d: %s", answer.Code, answer.Body)
	}
}

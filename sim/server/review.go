package server

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"reconcel/rules/schema"
)

// reviews are the kinds without objects: the answer to a POST says who the client is or what it may do. The client is
// always the same, and may do everything.
var reviews = map[string]struct {
	group, kind string
	namespaced  bool
	status      map[string]any
}{
	"selfsubjectaccessreviews":  {"authorization.k8s.io", "SelfSubjectAccessReview", false, allowed},
	"subjectaccessreviews":      {"authorization.k8s.io", "SubjectAccessReview", false, allowed},
	"localsubjectaccessreviews": {"authorization.k8s.io", "LocalSubjectAccessReview", true, allowed},
	"selfsubjectrulesreviews": {"authorization.k8s.io", "SelfSubjectRulesReview", false, map[string]any{
		"incomplete":       false,
		"resourceRules":    []any{map[string]any{"verbs": everything, "apiGroups": everything, "resources": everything}},
		"nonResourceRules": []any{map[string]any{"verbs": everything, "nonResourceURLs": everything}}}},
	"selfsubjectreviews": {"authentication.k8s.io", "SelfSubjectReview", false, map[string]any{
		"userInfo": map[string]any{"username": User, "groups": []any{"system:masters", "system:authenticated"}}}},
}

// User is the name of every client.
const User = "dev"

var (
	everything = []any{"*"}
	allowed    = map[string]any{"allowed": true, "reason": "every client may do everything"}
)

// serveReview answers a review, and reports whether the request is one.
func (s *Server) serveReview(w http.ResponseWriter, r *http.Request, at path) bool {
	review, ok := reviews[at.resource]
	if !ok || review.group != at.Group || at.Version != "v1" || at.name != "" {
		return false
	}
	if r.Method != http.MethodPost {
		writeError(w, apierrors.NewMethodNotSupported(at.gvr().GroupResource(), r.Method))
		return true
	}
	body, kind, err := readBody(w, r)
	if err != nil {
		writeError(w, err)
		return true
	}
	gvk := at.WithKind(review.kind)
	answer, _, err := decodeObject(body, kind, &schema.Kind{GVK: gvk})
	if err != nil {
		writeError(w, err)
		return true
	}
	answer.SetGroupVersionKind(gvk)
	answer.Object["status"] = review.status
	writeJSON(w, http.StatusCreated, answer.Object)
	return true
}

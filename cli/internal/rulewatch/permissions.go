package rulewatch

import (
	"context"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"reconcel/deploy"
)

// reviewTimeout limits the review of all permissions.
const reviewTimeout = time.Minute

// review logs missing permissions. It replaces an earlier review, and runs in the
// background because a slow API server must not delay a reload.
func (v *Validator) review(ctx context.Context, needed []deploy.Access) {
	v.stopReview()
	v.unreviewed = needed == nil
	if v.unreviewed {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	var running sync.WaitGroup
	running.Go(func() { v.logMissing(ctx, needed) })
	v.stop = func() {
		cancel()
		running.Wait()
	}
}

// stopReview cancels the review and waits for it.
func (v *Validator) stopReview() {
	if v.stop != nil {
		v.stop()
	}
}

// logMissing asks the API server whether this process has all permissions that the
// rules need. Every authenticated client may ask. It only logs, because a
// permission may be granted at any time; conditions show where one is missing.
func (v *Validator) logMissing(ctx context.Context, needed []deploy.Access) {
	client, err := authorization.NewForConfig(v.Config)
	if err != nil {
		v.Log.Debug("permissions not checked", "error", err)
		return
	}
	namespaces := v.Policy.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	reviews := client.SelfSubjectAccessReviews()
	for _, a := range needed {
		in := namespaces
		if a.Namespace != "" {
			in = []string{a.Namespace}
		}
		for _, namespace := range in {
			missing, err := denied(ctx, reviews, a, namespace)
			if err != nil {
				v.Log.Debug("permissions not checked", "error", err)
				return
			}
			if len(missing) > 0 {
				log := v.Log
				if namespace != "" {
					log = log.With("namespace", namespace)
				}
				log.Warn("permission missing, apply what reconcel rbac prints",
					"resource", a.String(), "verbs", strings.Join(missing, ", "), "purpose", strings.Join(a.Why, "; "))
			}
		}
	}
}

// denied returns the verbs that this process lacks in a namespace; "" is all
// namespaces.
func denied(ctx context.Context, reviews authorization.SelfSubjectAccessReviewInterface, a deploy.Access,
	namespace string) (verbs []string, err error) {
	for _, verb := range a.Verbs {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: a.Group, Resource: a.Resource, Subresource: a.Subresource, Name: a.Name,
			},
		}}
		answer, err := reviews.Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		if !answer.Status.Allowed {
			verbs = append(verbs, verb)
		}
	}
	return verbs, nil
}

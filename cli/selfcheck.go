package cli

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

// askingTimeout is how long it may take to ask about all permissions. Nothing
// waits for it.
const askingTimeout = time.Minute

// ask has it logged which permissions are missing, beside all else: an API server
// that is slow must not keep newer rules from being followed. What was asked
// before is not of interest any more.
func (f *fitter) ask(ctx context.Context, needed []deploy.Access) {
	f.stopAsking()
	f.unasked = needed == nil // The API server did not answer.
	if f.unasked {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askingTimeout)
	var asking sync.WaitGroup
	asking.Go(func() { f.warnOfMissing(ctx, needed) })
	f.asking = func() {
		cancel()
		asking.Wait()
	}
}

// stopAsking returns when nothing is asked any more.
func (f *fitter) stopAsking() {
	if f.asking != nil {
		f.asking()
	}
}

// warnOfMissing asks the API server whether this process may do all that rules
// need in the namespaces that are followed, and logs what it may not. Everybody
// who is logged in may ask that. It changes nothing: what is missing is also said
// where it is needed, and may be granted at any time.
func (f *fitter) warnOfMissing(ctx context.Context, needed []deploy.Access) {
	client, err := authorization.NewForConfig(f.config)
	if err != nil {
		f.log.Debug("permissions not checked", "error", err)
		return
	}
	namespaces := f.policy.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	reviews := client.SelfSubjectAccessReviews()
	for _, a := range needed {
		places := namespaces
		if a.Namespace != "" {
			places = []string{a.Namespace}
		}
		for _, namespace := range places {
			missing, err := denied(ctx, reviews, a, namespace)
			if err != nil {
				f.log.Debug("permissions not checked", "error", err)
				return
			}
			if len(missing) > 0 {
				log := f.log
				if namespace != "" {
					log = log.With("namespace", namespace)
				}
				log.Warn("permission missing, apply what reconcel rbac prints",
					"resource", a.String(), "verbs", strings.Join(missing, ", "), "purpose", strings.Join(a.Why, "; "))
			}
		}
	}
}

// denied returns the verbs that this process lacks in a namespace, or with "" in
// all of them.
func denied(ctx context.Context, reviews authorization.SelfSubjectAccessReviewInterface, a deploy.Access, namespace string) (verbs []string, err error) {
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

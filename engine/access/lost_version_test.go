package access

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/test/e2e"
)

// rejecting is an API server whose CRD has lost the version of an entry.
type rejecting struct{}

func (rejecting) Send(context.Context, *watch.Watch, watch.Patch) (*watch.Object, error) {
	return nil, apierrors.NewBadRequest("request to convert CR to an invalid group/version: test.reconcel.dev/v1")
}

// TestLostVersionIsRetried fails to read the object whose entries name a lost version. The write is no rejected one, which
// would be repeated after minutes.
func TestLostVersionIsRetried(t *testing.T) {
	client := fake.NewSimpleDynamicClient(kruntime.NewScheme())
	client.PrependReactor("get", "*", func(clienttesting.Action) (bool, kruntime.Object, error) {
		return true, nil, apierrors.NewTooManyRequests("busy", 1)
	})
	kind := ident.Kind{GVK: e2e.GVK("test.reconcel.dev/v2", "Widget"), Namespaced: true}
	kind.GVR = kind.GVK.GroupVersion().WithResource("widgets")
	_, err := MovingSender{rejecting{}, client}.Send(t.Context(), nil, watch.Patch{Kind: kind, Namespace: "a", Name: "one", Type: types.ApplyPatchType})
	if !apierrors.IsTooManyRequests(err) {
		t.Fatalf("got %v, want the error of the read", err)
	}
	if terminal, ok := errors.AsType[*outcome.TerminalError](outcome.ClassifyAnswer(err)); ok && terminal.Reason == outcome.ReasonRejected {
		t.Errorf("it is rejected: %v", terminal)
	}
}

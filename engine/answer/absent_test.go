package answer_test

import (
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/answer"
)

func TestAbsence(t *testing.T) {
	gr := schema.GroupResource{Group: "g", Resource: "widgets"}
	unserved := apierrors.NewGenericServerResponse(http.StatusNotFound, "get", gr, "one", "404 page not found", 0, true)
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"an object that is gone", apierrors.NewNotFound(gr, "one"), true},
		{"a kind that is not served", unserved, false},
		{"an error", errors.New("no"), false},
		{"none", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := answer.IsAbsent(c.err); got != c.want {
				t.Errorf("IsAbsent is %t", got)
			}
		})
	}
}

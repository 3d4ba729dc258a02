//go:build integration

package examples

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// settingsHave returns a check that the ConfigMap of others has its own field and the added one. "" means no
// added one, and no mark of reconcel.
func settingsHave(ca string) func(*world) error {
	return func(w *world) error {
		u := w.get("v1", "ConfigMap", "settings")
		if u == nil {
			return errors.New("there is no ConfigMap settings")
		}
		data, _, _ := unstructured.NestedStringMap(u.Object, "data")
		if data["mode"] == "" || data["ca.crt"] != ca {
			return fmt.Errorf("%s has the data %v, want %q", describe(u), data, ca)
		}
		if marks := len(u.GetLabels()) + len(u.GetAnnotations()); ca == "" && marks > 1 {
			return fmt.Errorf("%s still has the labels %v and annotations %v", describe(u), u.GetLabels(), u.GetAnnotations())
		}
		return nil
	}
}

// extendStory has a user change the field of others and that of the rule, and takes the addition away.
func extendStory(w *world) {
	w.patch(w.exists("v1", "ConfigMap", "settings"), `{"data":{"mode":"slow","ca.crt":"wrong"}}`)
	w.eventually("the certificate to be restored", func() error { return settingsHave("newer")(w) })
	w.shows("v1", "ConfigMap", "settings", "data.mode", "slow")
	addition := w.exists("v1", "ConfigMap", "corporate-ca")
	w.patch(addition, `{"metadata":{"labels":{"platform.example.com/adds-to":null}}}`)
	w.eventually("the certificate to be gone", func() error { return settingsHave("")(w) })
	w.patch(addition, `{"metadata":{"labels":{"platform.example.com/adds-to":"settings"}}}`)
	w.eventually("the certificate to be there again", func() error { return settingsHave("newer")(w) })
}

package watch

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Only a watch that ends before or after its limit needs a check of the history.
func TestTermIsFull(t *testing.T) {
	for name, c := range map[string]struct {
		lasts time.Duration
		full  bool
	}{
		"at its limit":        {40 * time.Second, true},
		"a moment later":      {41 * time.Second, true},
		"an outage":           {12 * time.Second, false},
		"silence of a minute": {time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTerm(metav1.ListOptions{TimeoutSeconds: new(int64(40))})
				time.Sleep(c.lasts)
				if w.end(); w.full.Load() != c.full {
					t.Errorf("after %s: full is %t", c.lasts, !c.full)
				}
			})
		})
	}
}

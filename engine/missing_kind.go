package engine

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/discover"
)

// goneAfter is how long discovery must lack a kind before its objects count as gone
// with its CustomResourceDefinition. An API server that starts, lags behind or has
// lost a backend lacks kinds whose objects exist. reconcel may not read CRDs.
const goneAfter = 5 * time.Minute

// missingKinds are the kinds that discovery lacks, and since when. Without a map, a
// missing kind counts as gone at once.
type missingKinds map[schema.GroupKind]time.Time

// judge takes the error of a search for a kind. It reports whether the kind is gone,
// and otherwise returns the error.
func (m missingKinds) judge(gk schema.GroupKind, err error, now time.Time) (gone bool, _ error) {
	if !discover.IsNoKind(err) {
		delete(m, gk)
		return false, err
	}
	if m == nil {
		return true, nil
	}
	since, known := m[gk]
	if !known {
		m[gk], since = now, now
	}
	if now.Sub(since) >= goneAfter {
		return true, nil
	}
	return false, fmt.Errorf("kind %s is not served now, keeping its entries in the inventory until it is missing for %s (%w)", gk, goneAfter, err)
}

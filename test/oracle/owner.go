package oracle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// ownerOf returns the UID of the primary that an object belongs to, or "".
func ownerOf(u *unstructured.Unstructured) types.UID {
	if owner := metav1.GetControllerOf(u); owner != nil {
		return owner.UID
	}
	uid, _, _ := strings.Cut(u.GetAnnotations()["reconcel.dev/owner"], "/")
	return types.UID(uid)
}

// end is the moment when the deletion of an object began.
type end struct {
	at       time.Time
	revision uint64
}

// ends returns the ends of the objects, by UID.
func ends(all map[Key][]version) map[types.UID]end {
	found := map[types.UID]end{}
	for _, versions := range all {
		for _, v := range versions {
			_, known := found[v.object.GetUID()]
			if !known && (v.deleted || v.object.GetDeletionTimestamp() != nil) {
				found[v.object.GetUID()] = end{v.at, revision(v)}
			}
		}
	}
	return found
}

// LateBirths returns the objects that were created when the deletion of their primary had
// begun more than a grace period before, sorted. A request that is on its way cannot be
// prevented.
func (s *Selection) LateBirths(grace time.Duration) (found []string) {
	all, _ := s.versionsByKey()
	ended := ends(all)
	for key, versions := range all {
		var born types.UID
		for _, v := range versions {
			if v.object.GetUID() == born {
				continue
			}
			born = v.object.GetUID()
			end, gone := ended[ownerOf(v.object)]
			if gone && revision(v) > end.revision && v.at.Sub(end.at) > grace {
				found = append(found, fmt.Sprintf("%s was created %s after the deletion of its primary began", key,
					v.at.Sub(end.at).Round(time.Millisecond)))
			}
		}
	}
	slices.Sort(found)
	return found
}

// Lost returns the objects of a primary whose deletion has begun, sorted.
func (s *Selection) Lost(primary types.UID) (found []string) {
	all, _ := s.versionsByKey()
	for key, versions := range all {
		for _, v := range versions {
			if ownerOf(v.object) == primary && (v.deleted || v.object.GetDeletionTimestamp() != nil) {
				found = append(found, key.String())
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

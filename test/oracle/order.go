package oracle

import (
	"fmt"
	"slices"
	"strconv"
)

// Order names two objects by their masked keys: the first must be gone before the API
// server deletes the second.
type Order struct {
	First string `json:"first"`
	Then  string `json:"then"`
}

// OutOfOrder returns the deletions that came too early, sorted. It compares
// resourceVersions, because events of two resources arrive in any order.
func (s *Selection) OutOfOrder(orders []Order) (found []string) {
	all, _ := s.versionsByKey()
	byName := map[string][]version{}
	for key, versions := range all {
		masked := s.names.mask(key.String())
		byName[masked] = append(byName[masked], versions...)
	}
	for _, o := range orders {
		for _, then := range byName[o.Then] {
			if then.deleted && existedAt(byName[o.First], revision(then)) {
				found = append(found, fmt.Sprintf("%s was deleted before %s", o.Then, o.First))
			}
		}
	}
	slices.Sort(found)
	return found
}

// existedAt reports whether one of the objects existed at a revision.
func existedAt(versions []version, at uint64) bool {
	for _, born := range versions {
		gone := slices.ContainsFunc(versions, func(v version) bool {
			return v.deleted && v.object.GetUID() == born.object.GetUID() && revision(v) <= at
		})
		if !gone && revision(born) < at {
			return true
		}
	}
	return false
}

// revision returns the resourceVersion as a number, which orders the versions of all
// objects.
func revision(v version) uint64 {
	n, err := strconv.ParseUint(v.object.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(err) // The API server's resourceVersions are numbers.
	}
	return n
}

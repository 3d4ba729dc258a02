package source

import "strings"

// Nested returns how to write a path that was used as a key: for metadata.name,
// metadata: {name: ...}. For a key that is not a path it returns "".
func Nested(key string) string {
	depth := -1
	if domain, _, found := strings.Cut(key, "/"); found { // A label's, which has dots of its own.
		depth = 1
		for _, end := range []string{"labels.", "annotations."} {
			if before, _, found := strings.Cut(domain, end); found {
				depth = strings.Count(before, ".") + 2
			}
		}
	}
	keys := strings.SplitN(key, ".", depth)
	if len(keys) < 2 {
		return ""
	}
	for _, k := range keys[:len(keys)-1] {
		if !IsPlain(k) {
			return ""
		}
	}
	return strings.Join(keys, ": {") + ": ..." + strings.Repeat("}", len(keys)-1)
}

package source

import "strings"

// Nested returns the correct form of a path that was used as a key: for
// metadata.name, metadata: {name: ...}. It returns "" for other keys.
func Nested(key string) string {
	depth := -1
	if domain, _, found := strings.Cut(key, "/"); found { // The key of a label, whose domain has dots.
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

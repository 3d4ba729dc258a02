package rules

import (
	"bytes"
	"crypto/sha256"
)

// HashIn returns the hash of the same rendering in other versions: the apiVersion of the object itself,
// and that of its primary in the owner reference. A version is only a way to write an object, so a
// rendering that differs in nothing else is no reason to replace the object.
func (d *Desired) HashIn(apiVersion, primary string) (hash [16]byte) {
	body := bytes.Clone(d.body)
	if start := []byte(`{"apiVersion":` + quoteJSON(d.Child.GVK.GroupVersion().String())); bytes.HasPrefix(body, start) {
		body = append([]byte(`{"apiVersion":`+quoteJSON(apiVersion)), body[len(start):]...)
	}
	// Only labels and annotations follow the owner reference. They are text, in which quotes are escaped.
	reference := `"ownerReferences":[{"apiVersion":`
	if at := bytes.LastIndex(body, []byte(reference)); at >= 0 && !d.Tracked {
		rest := bytes.TrimPrefix(body[at+len(reference):], []byte(quoteJSON(d.Child.Rule.GVK.GroupVersion().String())))
		body = append(append(body[:at+len(reference):at+len(reference)], quoteJSON(primary)...), rest...)
	}
	sum := sha256.Sum256(body)
	copy(hash[:], sum[:])
	return hash
}

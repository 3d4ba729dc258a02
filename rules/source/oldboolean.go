package source

import "regexp"

// oldBooleans are the words that YAML 1.1 reads as booleans, and YAML 1.2 as texts.
var oldBooleans = regexp.MustCompile(`^([yY]|[yY]es|YES|[nN]|[nN]o|NO|[oO]n|ON|[oO]ff|OFF)$`)

// IsOldBoolean reports whether a word without quotes is a boolean for kubectl and others that read YAML 1.1.
func IsOldBoolean(word string) bool { return oldBooleans.MatchString(word) }

// RejectOldBooleans records an error for each text in a document, also for a key, that others read as a boolean.
func (v Value) RejectOldBooleans() {
	for key, value := range v.PeekPairs() {
		key.RejectOldBooleans()
		value.RejectOldBooleans()
	}
	for _, item := range v.PeekItems() {
		item.RejectOldBooleans()
	}
	if v.IsText() && v.node.Style == 0 && IsOldBoolean(v.node.Value) {
		v.Errorf("%s without quotes is a boolean for kubectl, Argo CD and Flux", v.node.Value).Hint = `write "` +
			v.node.Value + `"`
	}
}

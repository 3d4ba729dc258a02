package answer

import "regexp"

// Shape returns the message of a failed request without what may differ each time it fails
// for the same reason: ports and addresses, ids of requests, traces and objects, times,
// durations and resourceVersions. Two messages with the same shape say the same to a reader.
func Shape(message string) string {
	for _, part := range varying {
		message = part.pattern.ReplaceAllString(message, part.shape)
	}
	return message
}

// varying are the parts of a message that a Shape leaves out, in the order in which they are replaced.
var varying = []struct {
	pattern *regexp.Regexp
	shape   string
}{
	{regexp.MustCompile(`\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b`), "TIME"},
	{regexp.MustCompile(`(?i)\b(uid|(?:[a-z0-9]+[-_])*id|(?:request|trace|span|correlation|transaction)(?:[-_ ]?id)?` +
		`|request[-_ ]?uid|resource ?version|traceparent|attempt|retry|revision|nonce|ray)` +
		`("?[:=] ?"?| "| #?)([[:alnum:]][\w.:+/=-]*\d[\w.:+/=-]*|\d[\w.:+/=-]*)`), "${1}${2}ID"},
	{regexp.MustCompile(`\b0x[0-9a-fA-F]+\b`), "ID"},
	{regexp.MustCompile(`\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b`), "ID"},
	{regexp.MustCompile(`\[[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(?:%\w+)?\](?::\d+)?`), "ADDRESS"},
	{regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b`), "ADDRESS"},
	{regexp.MustCompile(`:\d{4,5}\b`), ":PORT"},
	{regexp.MustCompile(`\b(?:\d+(?:\.\d+)?(?:ns|µs|us|ms|h|m|s))+\b`), "DURATION"},
	{regexp.MustCompile(`\b\d+(?:\.\d+)? ?(?:milliseconds?|seconds?|minutes?)\b`), "DURATION"},
	{regexp.MustCompile(`\b[0-9a-f]{0,15}(?:[a-f][0-9]|[0-9][a-f])[0-9a-f]{7,}\b|\b[0-9a-fA-F]{16,}\b`), "ID"},
	{regexp.MustCompile(`\b\d{8,}(?:\.\d+)?\b`), "ID"},
	{regexp.MustCompile(`\b[0-9A-Z]{26}\b|\b[A-Za-z0-9_]{24,}={0,2}`), "ID"},
}

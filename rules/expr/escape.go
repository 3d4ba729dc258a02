package expr

import (
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

const hexDigits = "0123456789ABCDEF"

// escapeURL escapes all but the characters that RFC 3986 calls unreserved. The result
// stands for the same text in all parts of a URL: a user name, a password, a segment of
// the path, a key or value of the query.
func escapeURL(v ref.Val) ref.Val {
	s := textOf(v)
	out := make([]byte, 0, escapedLength(s))
	for _, c := range []byte(s) {
		if isUnreserved(c) {
			out = append(out, c)
		} else {
			out = append(out, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return types.String(out)
}

func escapedLength(s string) int {
	n := len(s)
	for _, c := range []byte(s) {
		if !isUnreserved(c) {
			n += 2
		}
	}
	return n
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

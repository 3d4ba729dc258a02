package managedfields

import (
	"bytes"
	"encoding/hex"
	"strings"
)

// An ownerUID is the UID in the key of an owner reference, which differs between objects
// whose fields are otherwise the same. An Entry keeps it apart from the other text, so that
// such objects share that text. The zero value means that nothing was taken out.
type ownerUID [16]byte

// beforeUID precedes the UID in the text of a fieldsV1.
const beforeUID = `"k:{\"uid\":\"`

// uidLength is that of a UID as Kubernetes writes it, such as
// 6b3f8f5e-0c1d-4b7e-9a55-2f0c8d1e7a90.
const uidLength = 36

// takeUID returns the fieldsV1 without the UID of its first owner reference, and the UID.
// It appends the text to buf if it takes out a UID.
func takeUID(buf, fieldsV1 []byte) ([]byte, ownerUID) {
	at := bytes.Index(fieldsV1, []byte(beforeUID)) + len(beforeUID)
	if at < len(beforeUID) || len(fieldsV1) < at+uidLength {
		return fieldsV1, ownerUID{}
	}
	uid, ok := parseUID(fieldsV1[at : at+uidLength])
	if !ok {
		return fieldsV1, ownerUID{}
	}
	return append(append(buf, fieldsV1[:at]...), fieldsV1[at+uidLength:]...), uid
}

// putUID returns the fieldsV1 from which takeUID took a UID.
func putUID(rest string, uid ownerUID) string {
	if uid == (ownerUID{}) {
		return rest
	}
	at := strings.Index(rest, beforeUID) + len(beforeUID)
	return rest[:at] + uid.text() + rest[at:]
}

// parseUID reads a UID that text writes in the same way.
func parseUID(text []byte) (uid ownerUID, ok bool) {
	for at, i := 0, 0; i < len(uid); i++ {
		if at == 8 || at == 13 || at == 18 || at == 23 {
			if text[at] != '-' {
				return ownerUID{}, false
			}
			at++
		}
		high, low := digit(text[at]), digit(text[at+1])
		if high > 15 || low > 15 {
			return ownerUID{}, false
		}
		uid[i] = high<<4 | low
		at += 2
	}
	return uid, uid != ownerUID{}
}

// digit returns the value of a hexadecimal digit in lower case, or more than 15.
func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 16
}

func (uid ownerUID) text() string {
	b := hex.AppendEncode(make([]byte, 0, uidLength), uid[:4])
	for _, part := range [...][]byte{uid[4:6], uid[6:8], uid[8:10], uid[10:]} {
		b = hex.AppendEncode(append(b, '-'), part)
	}
	return string(b)
}

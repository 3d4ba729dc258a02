package oracle

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// leakedPart is the length of the parts of a secret value that count as a leak. Shorter parts
// occur by chance.
const leakedPart = 12

// Leaks returns the texts that show a part of a secret value, sorted: as it is, in base64,
// or as the numbers of its bytes. It does not quote the value.
func Leaks(secrets []string, texts map[string]string) (found []string) {
	parts := map[string]bool{}
	for _, secret := range secrets {
		for _, form := range forms(secret) {
			for i := 0; i+leakedPart <= len(form); i++ {
				parts[form[i:i+leakedPart]] = true
			}
		}
	}
	for name, text := range texts {
		for i := 0; i+leakedPart <= len(text); i++ {
			if parts[text[i:i+leakedPart]] {
				found = append(found, fmt.Sprintf("%s shows a secret value at byte %d of %d", name, i, len(text)))
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

// forms returns what a value looks like in texts. In base64 it depends on what is before the
// value.
func forms(secret string) (all []string) {
	secret = secretPart(secret)
	all = append(strings.Split(secret, "\n"), hex.EncodeToString([]byte(secret)),
		strings.Trim(fmt.Sprintf("%d", []byte(secret)), "[]"))
	for before := range min(3, len(secret)) {
		rest := secret[before:]
		all = append(all, base64.RawStdEncoding.EncodeToString([]byte(rest[:len(rest)/3*3])))
	}
	return all
}

// secretPart returns the part of a value that others do not have. In PEM, the first lines
// name the type of the key. Certificates are public.
func secretPart(value string) string {
	const begin, end = "-----BEGIN ", "\n-----END "
	if !strings.HasPrefix(value, begin) {
		return value
	}
	if strings.HasPrefix(value, begin+"CERTIFICATE") {
		return ""
	}
	value, _, _ = strings.Cut(value, end)
	lines := strings.SplitN(value, "\n", 3)
	return lines[len(lines)-1]
}

package expr

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

const (
	beginPEM       = "-----BEGIN "
	endPEM         = "-----END "
	dashesPEM      = "-----"
	certificatePEM = "CERTIFICATE"
)

// certificates implements certificates(text). Text around the blocks is a comment, and blocks of other types are left
// out. Errors do not show the text, which may have a key.
func certificates(v ref.Val) ref.Val {
	found := []ref.Val{}
	for rest := textOf(v); ; {
		label, block, after, ok := nextPEM(rest)
		switch {
		case !ok:
			return failf("certificates(): a block of PEM after certificate %d is not complete", len(found))
		case block == "":
			return types.DefaultTypeAdapter.NativeToValue(found)
		case label == certificatePEM:
			c := readCertificate(block)
			if c == nil {
				return failf("certificates(): certificate %d cannot be read", len(found)+1)
			}
			found = append(found, types.DefaultTypeAdapter.NativeToValue(c))
		}
		rest = after
	}
}

// nextPEM returns the first block of PEM in a text with its label, and the text after it. The block is "" if there is
// none.
func nextPEM(text string) (label, block, after string, ok bool) {
	begin := strings.Index(text, beginPEM)
	if begin < 0 {
		return "", "", "", true
	}
	text = text[begin:]
	label, _, ok = strings.Cut(text[len(beginPEM):], dashesPEM)
	end := endPEM + label + dashesPEM
	at := strings.Index(text, end)
	if !ok || at < 0 || strings.Contains(label, "\n") || strings.Contains(text[len(beginPEM):at], beginPEM) {
		return "", "", "", false
	}
	return label, text[:at+len(end)], text[at+len(end):], true
}

// readCertificate returns what expressions see of a certificate, or nil if it is not one.
func readCertificate(block string) map[string]ref.Val {
	p, _ := pem.Decode([]byte(block))
	if p == nil {
		return nil
	}
	c, err := x509.ParseCertificate(p.Bytes)
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(c.Raw)
	plain := pem.EncodeToMemory(&pem.Block{Type: certificatePEM, Bytes: c.Raw})
	return map[string]ref.Val{
		"sha256":    types.String(hex.EncodeToString(sum[:])),
		"notBefore": types.Timestamp{Time: c.NotBefore},
		"notAfter":  types.Timestamp{Time: c.NotAfter},
		"isCA":      types.Bool(c.IsCA),
		"pem":       types.String(plain),
	}
}

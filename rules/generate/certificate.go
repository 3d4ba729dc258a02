package generate

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"
)

// renewal returns when a certificate has to be made again. The zero time means at once:
// it cannot be read, has other names, or belongs to another key.
func renewal(s Spec, text, key []byte) time.Time {
	block, _ := pem.Decode(text)
	if block == nil {
		return time.Time{}
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !sameNames(c.DNSNames, s.DNSNames) {
		return time.Time{}
	}
	signer, err := ParseKey(key)
	if err != nil {
		return time.Time{}
	}
	public, err := x509.MarshalPKIXPublicKey(signer.Public())
	if err != nil || !bytes.Equal(public, c.RawSubjectPublicKeyInfo) {
		return time.Time{}
	}
	return c.NotAfter.Add(-s.RenewBefore)
}

func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

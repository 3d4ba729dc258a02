package credential

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"time"

	"reconcel/rules/generate"
)

// backdating lets machines whose clocks are slow accept a new certificate.
const backdating = time.Minute

// certificate returns a self-signed certificate for a private key. Clients can also
// trust it as a CA.
func certificate(s generate.Spec, key []byte, now time.Time) ([]byte, error) {
	signer, err := generate.ParseKey(key)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName(s.DNSNames)},
		DNSNames:              s.DNSNames,
		NotBefore:             now.Add(-backdating),
		NotAfter:              now.Add(s.Validity),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, signer.Public(), signer)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: generate.CertificateBlock, Bytes: der}), nil
}

// commonName returns the first name that fits: RFC 5280 allows 64 characters.
func commonName(names []string) string {
	const limit = 64
	for _, name := range names {
		if len(name) <= limit {
			return name
		}
	}
	return ""
}

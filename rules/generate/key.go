package generate

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
)

// An Algorithm is the name of a kind of private key.
type Algorithm string

// The algorithms: ECDSA with the curve P-256, Ed25519, and RSA with 3072 bits.
const (
	ECDSA   Algorithm = "ecdsa"
	Ed25519 Algorithm = "ed25519"
	RSA     Algorithm = "rsa"
)

// Algorithms returns the names of all algorithms.
func Algorithms() []Algorithm { return []Algorithm{ECDSA, Ed25519, RSA} }

// The types of PEM blocks.
const (
	KeyBlock         = "PRIVATE KEY"
	CertificateBlock = "CERTIFICATE"
)

// ParseKey reads a private key in PEM. Its errors do not quote the key.
func ParseKey(text []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != KeyBlock {
		return nil, errors.New("it is not a private key in PEM, PKCS #8")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("its private key cannot be read")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("its private key cannot sign")
	}
	return signer, nil
}

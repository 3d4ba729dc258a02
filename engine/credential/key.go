package credential

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"

	"reconcel/rules/generate"
)

const rsaBits = 3072

// privateKey returns a new private key in PEM, PKCS #8.
func privateKey(of generate.Algorithm) ([]byte, error) {
	var key any
	var err error
	switch of {
	case generate.Ed25519:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case generate.RSA:
		key, err = rsa.GenerateKey(rand.Reader, rsaBits)
	default:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: generate.KeyBlock, Bytes: der}), nil
}

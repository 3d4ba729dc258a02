// Package credential makes the values that package generate describes: passwords, private
// keys, self-signed certificates, and hashes of passwords. All randomness is from
// crypto/rand.
package credential

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"golang.org/x/crypto/bcrypt"

	"reconcel/rules/generate"
)

// Make makes the values of keys. Those that they are computed from are made too, or
// exist. Errors do not quote values.
func Make(all generate.Specs, keys []string, have generate.State, now time.Time) (map[string][]byte, error) {
	made := map[string][]byte{}
	of := func(key string) []byte {
		if value := made[key]; value != nil {
			return value
		}
		return have.Data[key]
	}
	for _, key := range all.Order(keys) {
		s, ok := all[key]
		if !ok {
			continue
		}
		value, err := value(s, of, now)
		if err != nil {
			return nil, fmt.Errorf("generate: %s: %w", key, err)
		}
		made[key] = value
	}
	return made, nil
}

func value(s generate.Spec, of func(key string) []byte, now time.Time) ([]byte, error) {
	switch {
	case s.PrivateKey != "":
		return privateKey(s.PrivateKey)
	case s.Certificate != "":
		value, err := certificate(s, of(s.Certificate), now)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s.Certificate, err)
		}
		return value, nil
	case s.Bcrypt != "":
		return hash(s.Bcrypt, of(s.Bcrypt))
	case s.Htpasswd != "":
		value, err := hash(s.Htpasswd, of(s.Htpasswd))
		return append([]byte(s.User+":"), value...), err
	case len(s.Text) > 0:
		return s.Expand(of), nil
	}
	return text(s)
}

func hash(key string, password []byte) ([]byte, error) {
	value, err := bcrypt.GenerateFromPassword(password, bcrypt.DefaultCost)
	if err != nil {
		return nil, fmt.Errorf("%q: it is longer than %d bytes, which bcrypt cannot hash", key, generate.MaxPassword)
	}
	return value, nil
}

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

// text returns a random text.
func text(s generate.Spec) ([]byte, error) {
	from := s.Charset.Characters()
	out := make([]byte, s.Length)
	for i := range out {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(from))))
		if err != nil {
			return nil, err
		}
		out[i] = from[n.Int64()]
	}
	return out, nil
}

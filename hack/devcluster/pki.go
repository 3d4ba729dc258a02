package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority signs the certificate of the server and those of its users. A user of
// the cluster is a client certificate with a name and groups.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// keyPair is a certificate and its key in PEM.
type keyPair struct {
	cert, key []byte
}

// openAuthority reads the authority of a data folder, or creates it. It is reused
// because stored objects contain tokens and certificates, which must stay valid
// after a restart.
func openAuthority(dir string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	a := &authority{dir: dir}
	if _, err := os.Stat(a.certFile()); errors.Is(err, fs.ErrNotExist) {
		if err := a.create(); err != nil {
			return nil, fmt.Errorf("certificate authority: %w", err)
		}
	}
	if err := a.load(); err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	return a, nil
}

func (a *authority) certFile() string           { return a.path("ca.crt") }
func (a *authority) keyFile() string            { return a.path("ca.key") }
func (a *authority) serviceAccountFile() string { return a.path("service-account.key") }
func (a *authority) path(name string) string    { return filepath.Join(a.dir, name) }

func (a *authority) create() error {
	key, err := newKey()
	if err != nil {
		return err
	}
	template, err := certificate("devcluster", nil)
	if err != nil {
		return err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	accounts, err := newKey()
	if err != nil {
		return err
	}
	// Write the certificate last: if it exists, all files exist.
	return errors.Join(
		writeKey(a.serviceAccountFile(), accounts),
		writeKey(a.keyFile(), key),
		os.WriteFile(a.certFile(), encode("CERTIFICATE", cert), 0o600),
	)
}

func (a *authority) load() error {
	text, err := os.ReadFile(a.certFile())
	if err != nil {
		return err
	}
	keyText, err := os.ReadFile(a.keyFile())
	if err != nil {
		return err
	}
	certBlock, _ := pem.Decode(text)
	keyBlock, _ := pem.Decode(keyText)
	if certBlock == nil || keyBlock == nil {
		return fmt.Errorf("%s: not PEM", a.dir)
	}
	if a.cert, err = x509.ParseCertificate(certBlock.Bytes); err != nil {
		return err
	}
	a.pem = text
	a.key, err = x509.ParseECPrivateKey(keyBlock.Bytes)
	return err
}

// user issues a client certificate.
func (a *authority) user(name string, groups []string) (keyPair, error) {
	template, err := certificate(name, groups)
	if err != nil {
		return keyPair{}, err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

// server writes the serving certificate for loopback and returns its files.
func (a *authority) server() (certFile, keyFile string, err error) {
	template, err := certificate("kube-apiserver", nil)
	if err != nil {
		return "", "", err
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	pair, err := a.issue(template)
	if err != nil {
		return "", "", err
	}
	certFile, keyFile = a.path("server.crt"), a.path("server.key")
	return certFile, keyFile, errors.Join(
		os.WriteFile(certFile, pair.cert, 0o600),
		os.WriteFile(keyFile, pair.key, 0o600),
	)
}

func (a *authority) issue(template *x509.Certificate) (keyPair, error) {
	key, err := newKey()
	if err != nil {
		return keyPair{}, err
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return keyPair{}, err
	}
	keyText, err := encodeKey(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{cert: encode("CERTIFICATE", cert), key: keyText}, nil
}

func certificate(name string, groups []string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		// The certificate is valid from an hour ago, in case the clock is
		// corrected.
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.AddDate(10, 0, 0),
		KeyUsage:  x509.KeyUsageDigitalSignature,
	}, nil
}

// newKey creates an ECDSA key: an RSA key would take longer than all other
// preparations together.
func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	text, err := encodeKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// encodeKey uses the only format from which kube-apiserver also reads the public
// key of a ServiceAccount key.
func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	bytes, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return encode("EC PRIVATE KEY", bytes), nil
}

func encode(kind string, bytes []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
}

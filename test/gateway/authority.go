package gateway

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Authority signs certificates of servers and of clients.
type Authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey

	mu      sync.Mutex
	issued  int             // client certificates
	revoked map[string]bool // by common name
}

// Pair is a certificate with its key, in PEM.
type Pair struct {
	Name      string // the identity, and the common name
	Cert, Key []byte
}

// NewAuthority makes a certificate authority.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, key: newKey(t), revoked: map[string]bool{}}
	template := a.template("gateway", time.Hour)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	a.cert = a.sign(template, template, a.key)
	return a
}

// PEM returns the certificate of the authority.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// Issue issues a client certificate. Each one has its own identity.
func (a *Authority) Issue(lifetime time.Duration) Pair {
	a.t.Helper()
	a.mu.Lock()
	a.issued++
	pair := Pair{Name: fmt.Sprintf("certificate-%d", a.issued)}
	a.mu.Unlock()
	key := newKey(a.t)
	template := a.template(pair.Name, lifetime)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	cert := a.sign(template, a.cert, key)
	text, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatalf("gateway: %v", err)
	}
	pair.Cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
	pair.Key = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: text})
	return pair
}

// Issued returns the number of client certificates.
func (a *Authority) Issued() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.issued
}

// Revoke makes Identify reject a client certificate, also on open connections.
func (a *Authority) Revoke(pair Pair) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revoked[pair.Name] = true
}

// Identify identifies a client by its certificate, as the API server does: on each
// request, not only when the connection opens.
func (a *Authority) Identify(r *http.Request) (identity string, err error) {
	if len(r.TLS.PeerCertificates) == 0 {
		return "", errors.New("there is no client certificate")
	}
	cert := r.TLS.PeerCertificates[0]
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		return cert.Subject.CommonName, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.revoked[cert.Subject.CommonName] {
		return cert.Subject.CommonName, errors.New("the certificate is revoked")
	}
	return cert.Subject.CommonName, nil
}

// serve returns a certificate for a server with these DNS names and IP addresses.
func (a *Authority) serve(names []string) tls.Certificate {
	a.t.Helper()
	template := a.template("gateway", time.Hour)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	key := newKey(a.t)
	return tls.Certificate{Certificate: [][]byte{a.sign(template, a.cert, key).Raw}, PrivateKey: key}
}

func (a *Authority) template(name string, lifetime time.Duration) *x509.Certificate {
	a.t.Helper()
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		a.t.Fatalf("gateway: %v", err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, KeyUsage: x509.KeyUsageDigitalSignature,
		NotBefore: now.Add(-time.Minute), NotAfter: now.Add(lifetime),
	}
}

func (a *Authority) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	if err != nil {
		a.t.Fatalf("gateway: %v", err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		a.t.Fatalf("gateway: %v", err)
	}
	return cert
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("gateway: %v", err)
	}
	return key
}

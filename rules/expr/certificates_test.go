package expr

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"reconcel/test/cputime"
)

// madeCertificate returns a certificate as PEM, and its hash.
func madeCertificate(t *testing.T, name string, until time.Time, isCA bool) (text, hash string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: until.AddDate(-1, 0, 0),
		NotAfter: until, IsCA: isCA, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(der)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), hex.EncodeToString(sum[:])
}

// TestCertificates reads a bundle with a comment, a key, an expired certificate and one that is no CA.
func TestCertificates(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	good, hash := madeCertificate(t, "good", now.AddDate(0, 1, 0), true)
	old, _ := madeCertificate(t, "old", now.AddDate(0, -1, 0), true)
	leaf, _ := madeCertificate(t, "leaf", now.AddDate(0, 2, 0), false)
	key := "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"
	clock := ClockAt(now)
	vars := variables{ClockVariable: &clock, "self": object{"bundle": "# my CAs\n" + strings.ReplaceAll(good, "\n", "\r\n") + key + old + leaf,
		"good": good, "none": "no certificate", "cut": good + good[:200], "nested": good[:60] + good, "label": "-----BEGIN CERT\nIFICATE-----",
		"damaged": good + strings.Replace(good, "MII", "MIJ", 1), "key": key}}
	for src, want := range map[string]string{
		`certificates(self.bundle).map(c, [c.isCA, elapsed(c.notAfter, "0s")])`:                                         `[[true,false],[true,true],[false,false]]`,
		`certificates(self.bundle).filter(c, c.isCA && !elapsed(c.notAfter, "0s")).map(c, c.pem).join("") == self.good`: "true",
		`certificates(self.bundle)[0].sha256`:                                                                           fmt.Sprintf("%q", hash),
		`certificates(self.good)[0].notAfter`:                                                                           `"2026-04-10T12:00:00Z"`,
		`certificates(self.good)[0].notBefore`:                                                                          `"2025-04-10T12:00:00Z"`,
		`[?certificates(self.good)[?0].?notAfter].map(t, t.getDate())`:                                                  `[10]`,
		`certificates(self.none)`:                                                                                       `[]`,
		`certificates(self.key)`:                                                                                        `[]`,
		`certificates(self.cut)`:                                                                                        `error rules.yaml:1:13 certificates(): a block of PEM after certificate 1 is not complete`,
		`certificates(self.nested)`:                                                                                     `error rules.yaml:1:13 certificates(): a block of PEM after certificate 0 is not complete`,
		`certificates(self.label)`:                                                                                      `error rules.yaml:1:13 certificates(): a block of PEM after certificate 0 is not complete`,
		`certificates(self.damaged)`:                                                                                    `error rules.yaml:1:13 certificates(): certificate 2 cannot be read`,
	} {
		if got := eval(t, compile(t, src, map[string]*Shape{"self": Self("self")}), vars); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
	// The certificate that expires next decides when the answer may change.
	if next := clock.Next(); !next.Equal(now.AddDate(0, 1, 0)) {
		t.Errorf("the next moment is %s", next)
	}
}

// TestManyCertificates reads bundles again and again, until the budget of the rule is spent.
func TestManyCertificates(t *testing.T) {
	one, _ := madeCertificate(t, "a", time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC), true)
	vars := world()
	vars["self"] = object{"spec": object{"bundle": strings.Repeat(one, 400)}}
	start := cputime.Used()
	got := eval(t, compile(t, `lists.range(500).map(i, certificates(self.spec.bundle).size())`, shapes()), vars)
	if want := "the loops of the rule cost more than their budget of 400000 units: loop over less, or compute what repeats once, in let"; !strings.HasSuffix(got, want) {
		t.Errorf("got  %.200s\nwant %s", got, want)
	}
	if took := cputime.Used() - start; took > time.Minute {
		t.Errorf("it took %v", took)
	}
}

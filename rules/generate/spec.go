// Package generate describes the values of a Secret that are made once and then kept:
// passwords, private keys, self-signed certificates, hashes of passwords, and texts with such values.
//
// A [Spec] describes the value of one key of the Secret's data. [Specs.Due] says which
// values have to be made. It makes none: rules are pure.
package generate

import (
	"crypto"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Limits and defaults of specs.
const (
	MinLength       = 8 // characters of a text
	MaxLength       = 1024
	DefaultLength   = 32
	MaxUser         = 255 // characters of the user of htpasswd
	MaxDNSNames     = 100
	MinValidity     = time.Hour
	DefaultValidity = 365 * 24 * time.Hour
	MaxPassword     = 72 // bytes that bcrypt can hash
)

// A Spec is the description of one value. Exactly one of Charset, PrivateKey,
// Certificate, Bcrypt, Htpasswd and Text is set; the last four name other keys.
type Spec struct {
	Charset Charset // a random text
	Length  int     // characters of the text

	PrivateKey Algorithm // a private key in PEM, PKCS #8

	Certificate string // a self-signed certificate in PEM, for that private key
	DNSNames    []string
	Validity    time.Duration
	RenewBefore time.Duration // before the end of the validity

	Bcrypt   string // the bcrypt hash of that text
	Htpasswd string // a line of an htpasswd file with the bcrypt hash of that text
	User     string

	Text []string // a text with other values: parts of it, and between them keys
}

// A source is a Spec as rules write it.
type source struct {
	Length      *int      `json:"length"`
	Charset     Charset   `json:"charset"`
	PrivateKey  Algorithm `json:"privateKey"`
	Certificate string    `json:"certificate"`
	DNSNames    []string  `json:"dnsNames"`
	Validity    string    `json:"validity"`
	RenewBefore string    `json:"renewBefore"`
	Bcrypt      string    `json:"bcrypt"`
	Htpasswd    string    `json:"htpasswd"`
	User        string    `json:"user"`
	Text        []string  `json:"text"`
}

// Parse returns the spec that a JSON object describes.
func Parse(text []byte) (Spec, error) {
	var w source
	if err := json.Unmarshal(text, &w); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return Spec{}, fmt.Errorf("%s: must not be a %s", wrong.Field, wrong.Value)
		}
		return Spec{}, err
	}
	s := Spec{
		Charset: w.Charset, Length: DefaultLength, PrivateKey: w.PrivateKey, Certificate: w.Certificate, DNSNames: w.DNSNames,
		Validity: DefaultValidity, Bcrypt: w.Bcrypt, Htpasswd: w.Htpasswd, User: w.User, Text: w.Text,
	}
	if w.Length != nil {
		s.Length = *w.Length
	}
	if s.Charset == "" && (w.Length != nil || s.stage() == made && s.PrivateKey == "") {
		s.Charset = Alphanumeric
	}
	for _, d := range []struct {
		name string
		text string
		to   *time.Duration
	}{{"validity", w.Validity, &s.Validity}, {"renewBefore", w.RenewBefore, &s.RenewBefore}} {
		if d.text == "" {
			continue
		}
		parsed, err := time.ParseDuration(d.text)
		if err != nil {
			return Spec{}, fmt.Errorf("%s: %q is not a duration, write it like 2160h", d.name, d.text)
		}
		*d.to = parsed
	}
	if s.Certificate != "" && w.RenewBefore == "" {
		s.RenewBefore = s.Validity / 3
	}
	return s, s.check()
}

// Sources returns the keys of the values that this one is computed from.
func (s Spec) Sources() (keys []string) {
	for _, key := range []string{s.Certificate, s.Bcrypt, s.Htpasswd} {
		if key != "" {
			keys = append(keys, key)
		}
	}
	for i := 1; i < len(s.Text); i += 2 {
		keys = append(keys, s.Text[i])
	}
	return keys
}

// A stage says how a value comes about. Each is computed from those of earlier stages.
type stage int

const (
	made    stage = iota // from nothing
	derived              // from one value that is made
	written              // as a text with others
)

func (s Spec) stage() stage {
	switch {
	case len(s.Text) > 0:
		return written
	case len(s.Sources()) > 0:
		return derived
	}
	return made
}

func (s Spec) check() error {
	switch {
	case s.PrivateKey != "":
		return oneOf("privateKey", s.PrivateKey, Algorithms())
	case s.Certificate != "":
		return s.checkCertificate()
	case s.Htpasswd != "":
		if s.User == "" || len(s.User) > MaxUser || strings.ContainsAny(s.User, ":\r\n") {
			return fmt.Errorf("user: must be 1 to %d characters without colons and line ends", MaxUser)
		}
	case len(s.Text) == 1:
		return errors.New("text: names no other key, such as $(password)")
	case s.Charset != "":
		if s.Length < MinLength || s.Length > MaxLength {
			return fmt.Errorf("length: must be at least %d and at most %d", MinLength, MaxLength)
		}
		return oneOf("charset", s.Charset, Charsets())
	}
	return nil
}

func (s Spec) checkCertificate() error {
	switch {
	case len(s.DNSNames) == 0 || len(s.DNSNames) > MaxDNSNames:
		return fmt.Errorf("dnsNames: must be 1 to %d names", MaxDNSNames)
	case s.Validity < MinValidity:
		return fmt.Errorf("validity: must be at least %s", MinValidity)
	case s.RenewBefore <= 0 || s.RenewBefore >= s.Validity:
		return errors.New("renewBefore: must be shorter than validity")
	}
	for _, name := range s.DNSNames {
		if wrong := validation.IsDNS1123Subdomain(strings.TrimPrefix(name, "*.")); len(wrong) > 0 {
			return fmt.Errorf("dnsNames: %q is not a DNS name", name)
		}
	}
	return nil
}

func oneOf[T ~string](name string, value T, all []T) error {
	if slices.Contains(all, value) {
		return nil
	}
	texts := make([]string, len(all))
	for i, a := range all {
		texts[i] = string(a)
	}
	return fmt.Errorf("%s: must be one of %s", name, strings.Join(texts, ", "))
}

// A Charset is the name of the characters of a random text.
type Charset string

// The charsets.
const (
	Alphanumeric Charset = "alphanumeric"
	Hex          Charset = "hex"
	Digits       Charset = "digits"
	Symbols      Charset = "symbols"
)

// Charsets returns the names of all charsets.
func Charsets() []Charset { return []Charset{Alphanumeric, Hex, Digits, Symbols} }

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// Characters returns the characters of a charset. Symbols are those that shells, URLs,
// YAML and connection strings take without quotes or escapes.
func (c Charset) Characters() string {
	return map[Charset]string{
		Alphanumeric: upper + lower + digits,
		Hex:          digits + "abcdef",
		Digits:       digits,
		Symbols:      upper + lower + digits + "-_.~",
	}[c]
}

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

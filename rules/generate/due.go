package generate

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Specs are the specs of a Secret, by key of its data.
type Specs map[string]Spec

// Check returns an error if the value of a key is computed from one that does not fit. Its sources must be among
// the specs.
func (all Specs) Check(key string) error {
	s := all[key]
	for _, name := range s.Sources() {
		from := all[name]
		switch {
		case len(s.Text) > 0 && len(from.Text) > 0:
			return fmt.Errorf("text: %q is a text with other values itself", name)
		case s.Certificate != "" && from.PrivateKey == "":
			return fmt.Errorf("certificate: %q is not a privateKey", name)
		case (s.Bcrypt != "" || s.Htpasswd != "") && (from.Charset == "" || from.Length > MaxPassword):
			return fmt.Errorf("%q is not a random text of at most %d characters, which bcrypt needs", name, MaxPassword)
		}
	}
	return nil
}

// Order returns keys in the order in which their values can be computed.
func (all Specs) Order(keys []string) []string {
	return slices.SortedFunc(slices.Values(keys), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[a].stage(), all[b].stage()), cmp.Compare(a, b))
	})
}

// Expand returns the text with the values of other keys.
func (s Spec) Expand(value func(key string) []byte) []byte {
	var out []byte
	for i, part := range s.Text {
		if i%2 == 0 {
			out = append(out, part...)
		} else {
			out = append(out, value(part)...)
		}
	}
	return out
}

// A State is what is known of a Secret.
type State struct {
	Data map[string][]byte // decoded
	// Mine reports whether no other writer has set a key. Certificates of others are not
	// renewed.
	Mine func(key string) bool
	// Rotate: all values are to be made again.
	Rotate bool
}

// Due returns the keys whose values have to be made, sorted, and when the next one
// will be: the zero time if none has an end.
func (all Specs) Due(have State, now time.Time) (keys []string, next time.Time) {
	due := map[string]bool{}
	for key, s := range all {
		value, exists := have.Data[key]
		switch {
		case have.Rotate || !exists || len(value) == 0:
			due[key] = true
		case s.Certificate != "" && have.Mine(key):
			at := renewal(s, value, have.Data[s.Certificate])
			if !at.After(now) {
				due[key] = true
			} else if next.IsZero() || at.Before(next) {
				next = at
			}
		}
	}
	for _, key := range all.Order(slices.Collect(maps.Keys(all))) {
		if !have.Mine(key) {
			continue
		}
		// It would not fit its new source, or does not fit it.
		s := all[key]
		if slices.ContainsFunc(s.Sources(), func(from string) bool { return due[from] }) ||
			len(s.Text) > 0 && !bytes.Equal(have.Data[key], s.Expand(func(from string) []byte { return have.Data[from] })) {
			due[key] = true
		}
	}
	return slices.Sorted(maps.Keys(due)), next
}

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

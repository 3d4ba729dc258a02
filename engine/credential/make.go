// Package credential makes the values that package generate describes: passwords, private
// keys, self-signed certificates, and hashes of passwords. All randomness is from
// crypto/rand.
package credential

import (
	"fmt"
	"time"

	"golang.org/x/crypto/bcrypt"

	"reconcel/rules/generate"
)

// Make makes the values of keys. Those that they are computed from are made too, or
// exist. Errors do not quote values.
func Make(all generate.Specs, keys []string, have generate.State, now time.Time) (map[string][]byte, error) {
	made := map[string][]byte{}
	for _, derived := range []bool{false, true} { // First what others are computed from.
		for _, key := range keys {
			s, ok := all[key]
			if !ok || (s.Source() != "") != derived {
				continue
			}
			from := made[s.Source()]
			if from == nil {
				from = have.Data[s.Source()]
			}
			value, err := value(s, from, now)
			if err != nil {
				return nil, fmt.Errorf("generate: %s: %w", key, err)
			}
			made[key] = value
		}
	}
	return made, nil
}

func value(s generate.Spec, from []byte, now time.Time) ([]byte, error) {
	switch {
	case s.PrivateKey != "":
		return privateKey(s.PrivateKey)
	case s.Certificate != "":
		value, err := certificate(s, from, now)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", s.Certificate, err)
		}
		return value, nil
	case s.Bcrypt != "":
		return hash(s.Bcrypt, from)
	case s.Htpasswd != "":
		value, err := hash(s.Htpasswd, from)
		return append([]byte(s.User+":"), value...), err
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

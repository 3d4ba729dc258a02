package gateway

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Tokens are bearer tokens. Each one has its own identity. The zero value has none.
type Tokens struct {
	mu     sync.Mutex
	issued []token
}

type token struct {
	text    string
	expires time.Time
}

// Issue issues a token that is accepted until its lifetime ends.
func (k *Tokens) Issue(lifetime time.Duration) string {
	text := rand.Text()
	k.Accept(text, time.Now().Add(lifetime))
	return text
}

// Accept adds a token that something else has issued.
func (k *Tokens) Accept(text string, until time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.issued = append(k.issued, token{text, until})
}

// Issued returns the number of tokens.
func (k *Tokens) Issued() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.issued)
}

// Revoke ends the lifetime of a token.
func (k *Tokens) Revoke(text string) { k.revoke(func(t token) bool { return t.text == text }) }

// RevokeAll ends the lifetime of all tokens that have been issued so far.
func (k *Tokens) RevokeAll() { k.revoke(func(token) bool { return true }) }

func (k *Tokens) revoke(match func(token) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.issued {
		if match(k.issued[i]) {
			k.issued[i].expires = time.Now()
		}
	}
}

// Identify identifies a client by its token.
func (k *Tokens) Identify(r *http.Request) (identity string, err error) {
	text, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		return "", errors.New("there is no bearer token")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, one := range k.issued {
		if one.text != text {
			continue
		}
		identity = fmt.Sprintf("token-%d", i+1)
		if late := time.Since(one.expires); late >= 0 {
			return identity, fmt.Errorf("the token expired %s ago, and there are %d", late.Round(time.Millisecond),
				len(k.issued))
		}
		return identity, nil
	}
	return "", errors.New("unknown token")
}

package credential

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"reconcel/rules/generate"
)

var now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func specs(t *testing.T, texts map[string]string) generate.Specs {
	t.Helper()
	all := generate.Specs{}
	for key, text := range texts {
		s, err := generate.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		all[key] = s
	}
	for key := range all {
		if err := all.Check(key); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
	}
	return all
}

// credentials are specs of every kind.
func credentials(t *testing.T) generate.Specs {
	t.Helper()
	return specs(t, map[string]string{
		"password": `{"length":24}`,
		"pin":      `{"length":8,"charset":"digits"}`,
		"hash":     `{"bcrypt":"password"}`,
		"auth":     `{"htpasswd":"password","user":"admin"}`,
		"tls.key":  `{"privateKey":"ecdsa"}`,
		"tls.crt":  `{"certificate":"tls.key","dnsNames":["db.default.svc","*.db"],"validity":"2160h","renewBefore":"720h"}`,
		"id":       `{"privateKey":"ed25519"}`,
		"id.crt":   `{"certificate":"id","dnsNames":["id"]}`,
		"url":      `{"text":["db://","password",":","pin","/$(pin)"]}`,
	})
}

func mine(string) bool { return true }

// step makes what is due, and returns the keys and the new data.
func step(t *testing.T, all generate.Specs, have generate.State, at time.Time) (due []string, data map[string][]byte) {
	t.Helper()
	if have.Mine == nil {
		have.Mine = mine
	}
	due, _ = all.Due(have, at)
	made, err := Make(all, due, have, at)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(made)); !slices.Equal(got, due) {
		t.Errorf("made %v, want %v", got, due)
	}
	data = maps.Clone(have.Data)
	if data == nil {
		data = map[string][]byte{}
	}
	maps.Copy(data, made)
	if again, _ := all.Due(generate.State{Data: data, Mine: have.Mine}, at); len(again) > 0 {
		t.Errorf("%v are due again at once", again)
	}
	return due, data
}

func TestMake(t *testing.T) {
	all := credentials(t)
	due, data := step(t, all, generate.State{}, now)
	if len(due) != len(all) {
		t.Errorf("due are %v", due)
	}
	for key, form := range map[string]string{"password": `^[A-Za-z0-9]{24}$`, "pin": `^[0-9]{8}$`, "auth": `^admin:\$2a\$10\$`} {
		if !regexp.MustCompile(form).Match(data[key]) {
			t.Errorf("%s does not have the form %s", key, form)
		}
	}
	if err := bcrypt.CompareHashAndPassword(data["hash"], data["password"]); err != nil {
		t.Error(err)
	}
	if err := bcrypt.CompareHashAndPassword([]byte(strings.TrimPrefix(string(data["auth"]), "admin:")), data["password"]); err != nil {
		t.Error(err)
	}
	if want := fmt.Sprintf("db://%s:%s/$(pin)", data["password"], data["pin"]); string(data["url"]) != want {
		t.Errorf("the text is %s, want %s", data["url"], want)
	}
	_, other := step(t, all, generate.State{}, now)
	for key := range data {
		if string(data[key]) == string(other[key]) {
			t.Errorf("%s is the same in two Secrets", key)
		}
	}
}

// A client that trusts the certificate accepts the server for all its names.
func TestCertificate(t *testing.T) {
	_, data := step(t, credentials(t), generate.State{}, now)
	for _, pair := range [][2]string{{"tls.crt", "tls.key"}, {"id.crt", "id"}} {
		c, err := tls.X509KeyPair(data[pair[0]], data[pair[1]])
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AddCert(c.Leaf)
		for _, name := range c.Leaf.DNSNames {
			if _, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: strings.Replace(name, "*", "x", 1), Roots: roots, CurrentTime: now}); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestDue(t *testing.T) {
	all := credentials(t)
	_, data := step(t, all, generate.State{}, now)
	without := func(keys ...string) map[string][]byte {
		out := maps.Clone(data)
		for _, key := range keys {
			delete(out, key)
		}
		return out
	}
	renamed := credentials(t)
	crt := renamed["tls.crt"]
	crt.DNSNames = []string{"other"}
	renamed["tls.crt"] = crt
	moved := credentials(t)
	moved["url"] = generate.Spec{Text: []string{"db2://", "password", ""}}
	chosen := without()
	chosen["password"] = []byte("chosen")
	foreign := func(key string) bool { return key != "tls.crt" && key != "hash" }
	for name, c := range map[string]struct {
		specs generate.Specs
		have  generate.State
		at    time.Time
		want  string
	}{
		"nothing":                   {all, generate.State{Data: data}, now, ""},
		"a text is gone":            {all, generate.State{Data: without("pin")}, now, "pin url"},
		"hashes follow":             {all, generate.State{Data: without("password")}, now, "auth hash password url"},
		"another text":              {moved, generate.State{Data: data}, now, "url"},
		"a chosen value":            {all, generate.State{Data: chosen}, now, "url"},
		"a hash is gone":            {all, generate.State{Data: without("hash")}, now, "hash"},
		"a value is empty":          {all, generate.State{Data: func() map[string][]byte { d := without(); d["pin"] = nil; return d }()}, now, "pin url"},
		"a certificate follows":     {all, generate.State{Data: without("tls.key")}, now, "tls.crt tls.key"},
		"other names":               {renamed, generate.State{Data: data}, now, "tls.crt"},
		"before renewal":            {all, generate.State{Data: data}, now.Add(1440*time.Hour - time.Second), ""},
		"renewal":                   {all, generate.State{Data: data}, now.Add(1440 * time.Hour), "tls.crt"},
		"another writer's":          {all, generate.State{Data: data, Mine: foreign}, now.Add(1440 * time.Hour), ""},
		"another writer's hash":     {all, generate.State{Data: without("password"), Mine: foreign}, now, "auth password url"},
		"rotation":                  {all, generate.State{Data: data, Rotate: true}, now, "auth hash id id.crt password pin tls.crt tls.key url"},
		"an unreadable certificate": {all, generate.State{Data: func() map[string][]byte { d := without(); d["tls.crt"] = []byte("x"); return d }()}, now, "tls.crt"},
	} {
		t.Run(name, func(t *testing.T) {
			rotate := c.have.Rotate
			due, _ := step(t, c.specs, c.have, c.at)
			if got := strings.Join(due, " "); got != c.want {
				t.Errorf("due are %q, want %q (rotate %t)", got, c.want, rotate)
			}
		})
	}
	if _, next := all.Due(generate.State{Data: data, Mine: mine}, now); !next.Equal(now.Add(1440 * time.Hour)) {
		t.Errorf("next is %s", next)
	}
}

// Errors must not quote values.
func TestMakeFails(t *testing.T) {
	all := specs(t, map[string]string{"k": `{"privateKey":"rsa"}`, "c": `{"certificate":"k","dnsNames":["x"]}`, "p": `{}`, "h": `{"bcrypt":"p"}`})
	const secret = "hunter2"
	for name, data := range map[string]map[string][]byte{
		"no key":       {"k": []byte(secret), "p": []byte("x")},
		"another key":  {"k": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte(secret)}), "p": []byte("x")},
		"a long value": {"k": nil, "p": []byte(strings.Repeat(secret, 20))},
	} {
		t.Run(name, func(t *testing.T) {
			have := generate.State{Data: data, Mine: mine}
			due, _ := all.Due(have, now)
			if _, err := Make(all, due, have, now); err == nil || strings.Contains(err.Error(), secret) {
				t.Error(err)
			}
		})
	}
}

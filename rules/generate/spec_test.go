package generate

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		`{"length":7}`:                                                            "length: must be at least 8 and at most 1024",
		`{"charset":"emoji"}`:                                                     "charset: must be one of alphanumeric, hex, digits, symbols",
		`{"privateKey":"dsa"}`:                                                    "privateKey: must be one of ecdsa, ed25519, rsa",
		`{"certificate":"k"}`:                                                     "dnsNames: must be 1 to 100 names",
		`{"certificate":"k","dnsNames":[1]}`:                                      "dnsNames: must not be a number",
		`{"certificate":"k","dnsNames":["A"]}`:                                    `dnsNames: "A" is not a DNS name`,
		`{"certificate":"k","dnsNames":["a"],"validity":"1m"}`:                    "validity: must be at least 1h0m0s",
		`{"certificate":"k","dnsNames":["a"],"validity":"1d"}`:                    `validity: "1d" is not a duration, write it like 2160h`,
		`{"certificate":"k","dnsNames":["a"],"validity":"2h","renewBefore":"2h"}`: "renewBefore: must be shorter than validity",
		`{"htpasswd":"p","user":"a:b"}`:                                           "user: must be 1 to 255 characters without colons and line ends",
		`{"htpasswd":"p"}`:                                                        "user: must be 1 to 255 characters without colons and line ends",
	} {
		if _, err := Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

package oracle_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"reconcel/test/oracle"
)

const (
	password = "v8Qm3RkTz1Lw7XcYb2Nd5Hf0"
	pemKey   = "-----BEGIN PRIVATE KEY-----\n" +
		"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAAAAAAAAAAAAAAAA\n" +
		"q0PZ6dF1yqYl8VwRk3nGm5TjXhUeCsWb2oKiNtDv9aQfL4JrSxMcBgHpZu7EyAOk\n" +
		"w1IzPn8sVd==\n-----END PRIVATE KEY-----\n"
	certificate = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUGhBnVtYuJmKiOlPqAzSwXdCeRfVgTbYhNuJmIk\n-----END CERTIFICATE-----\n"
)

func TestLeaks(t *testing.T) {
	quoted, err := json.Marshal(pemKey)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for text, leaks := range map[string]bool{
		"":                               false,
		"password=" + password:           true,
		"it begins with " + password[:6]: false,
		"it has " + password[5:18]:       true,
		"encoded: " + encode(password):   true,
		encode("postgres://user:" + password + "@host"):      true,
		encode("postgres://user2:" + password + "@host"):     true,
		encode("postgres://user.3:" + password):              true,
		hex.EncodeToString([]byte(password)):                 true,
		fmt.Sprint(map[string][]byte{"p": []byte(password)}): true,
		string(quoted):                 true,
		encode(pemKey):                 true,
		strings.Split(pemKey, "\n")[1]: false, // All keys of the type begin like this.
		certificate:                    false,
	} {
		found := oracle.Leaks([]string{password, pemKey, certificate}, map[string]string{"the log": text})
		if len(found) > 0 != leaks {
			t.Errorf("%q: found %q, want a leak: %t", text, found, leaks)
		}
		if strings.Contains(strings.Join(found, ""), password) {
			t.Errorf("the report shows the value: %q", found)
		}
	}
}

// TestValuesCount tells that a value counts as the number of its changes, and that only the
// data of a Secret may have it.
func TestValuesCount(t *testing.T) {
	play := func(values ...string) *oracle.Selection {
		h := oracle.NewHistory()
		s := h.Select(oracle.NewNames(nil).WithValues([]string{"password"}), func(oracle.Key) bool { return true })
		for i, value := range values {
			h.Record(watch.Modified, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Secret",
				"metadata": map[string]any{"name": "a", "uid": firstUID + "1", "resourceVersion": string(rune('1' + i))},
				"data":     map[string]any{"password": base64.StdEncoding.EncodeToString([]byte(value)), "user": "YQ=="},
			}})
		}
		return s
	}
	reference := play("one", "two")
	for name, c := range map[string]struct {
		values []string
		holds  bool
	}{
		"other values":            {[]string{"three", "four"}, true},
		"a value that stays":      {[]string{"three", "three"}, false},
		"a value that is kept":    {[]string{"three", "four", "four"}, true},
		"a value that is made":    {[]string{"three", "four", "five"}, false},
		"a value that comes back": {[]string{"three", "four", "three"}, false},
	} {
		s := play(c.values...)
		if found := s.Run().Violations(reference.Run()); len(found) == 0 != c.holds {
			t.Errorf("%s: found %q", name, found)
		}
		if found := oracle.Leaks([]string{"postgres://user:three"}, s.Texts()); len(found) > 0 {
			t.Errorf("%s: the data of the Secret counts as a leak: %q", name, found)
		}
		if got := s.Values(); !strings.HasPrefix(strings.Join(got, " "), "three") {
			t.Errorf("%s: the values are %q", name, got)
		}
	}
}

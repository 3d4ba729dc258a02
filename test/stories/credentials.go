package stories

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/crypto/bcrypt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// CredentialsRules give each Foo a Secret with generated values. NAMESPACE stands for the
// namespace of the story.
const CredentialsRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: credentials-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  children:
  - id: credentials
    generate:
      password: {length: 24}
      auth: {htpasswd: password, user: admin}
      tls.key: {privateKey: ecdsa}
      tls.crt: {certificate: tls.key, dnsNames: ["${self.spec.deploymentName}.${self.metadata.namespace}.svc"]}
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${self.metadata.name}"}
      type: kubernetes.io/tls
      stringData: {user: "${self.spec.deploymentName}"}
`

// credentials is the data of the Secret, decoded.
type credentials map[string]string

// TellCredentials tells how generated values are made, kept, and made again. It returns
// all values, which nothing but the Secret may have shown.
func TellCredentials(s *Stage) (secret []string) {
	s.Helper()
	foos, secrets := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos"), s.resource("", "v1", "secrets")
	_, err := foos.Create(s.Context, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": map[string]any{"name": "db"},
		"spec": map[string]any{"deploymentName": "one", "replicas": int64(1)},
	}}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	patch := func(kind string, body any) {
		s.Helper()
		to := secrets
		if kind == "Foo" {
			to = foos
		}
		text, err := json.Marshal(body)
		if err != nil {
			s.Fatal(err)
		}
		if _, err := to.Patch(s.Context, "db", types.MergePatchType, text,
			metav1.PatchOptions{FieldManager: "someone"}); err != nil {
			s.Fatal(err)
		}
	}
	data := func(value map[string]any) any { return map[string]any{"data": value} }
	encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	var now credentials
	// becomes waits until exactly these keys have changed.
	becomes := func(what, user string, keys ...string) {
		s.Helper()
		before := now
		s.Eventually(what, func() error {
			u, err := secrets.Get(s.Context, "db", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if now, err = credentialsOf(u); err != nil {
				return err
			}
			for _, key := range []string{"password", "auth", "tls.key"} {
				if value := now[key]; len(value) > 0 && !slices.Contains(secret, value) {
					secret = append(secret, value)
				}
			}
			if now["user"] != user {
				return fmt.Errorf("the user is %q", now["user"])
			}
			if changed := before.changed(now); !slices.Equal(changed, keys) {
				return fmt.Errorf("%v have changed, want %v", changed, keys)
			}
			return now.fit()
		})
	}

	becomes("the values to be made", "one", "auth", "password", "tls.crt", "tls.key", "user")
	patch("Foo", map[string]any{"spec": map[string]any{"deploymentName": "two"}})
	becomes("a certificate for the new name", "two", "tls.crt", "user")
	patch("Secret", data(map[string]any{"user": encoded("x")}))
	becomes("the user to be restored", "two")
	s.Restart()
	patch("Secret", data(map[string]any{"user": nil, "more": encoded("x")}))
	becomes("the user to be restored after a restart", "two", "more")
	patch("Secret", data(map[string]any{"password": nil}))
	becomes("another password", "two", "auth", "password")
	patch("Secret", data(map[string]any{"password": encoded("my own"), "auth": nil}))
	becomes("a hash of the user's password", "two", "auth", "password")
	if now["password"] != "my own" {
		s.Errorf("the user's password is replaced")
	}
	patch("Secret", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"reconcel.dev/rotate": "1"}}})
	becomes("new values", "two", "auth", "password", "tls.crt", "tls.key")
	s.Restart()
	patch("Foo", map[string]any{"spec": map[string]any{"deploymentName": "three"}})
	becomes("the values to be kept", "three", "tls.crt", "user")
	patch("Secret", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"reconcel.dev/rotate": "2"}}})
	becomes("newer values", "three", "auth", "password", "tls.crt", "tls.key")
	if err := secrets.Delete(s.Context, "db", metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
	becomes("a new Secret", "three", "auth", "more", "password", "tls.crt", "tls.key")
	s.shown(foos, secret)
	s.shown(s.resource("events.k8s.io", "v1", "events"), secret)
	return secret
}

// shown fails the test if an object shows a value.
func (s *Stage) shown(kind dynamic.ResourceInterface, secret []string) {
	s.Helper()
	list, err := kind.List(s.Context, metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	text, err := list.MarshalJSON()
	if err != nil {
		s.Fatal(err)
	}
	s.Hidden(string(text), secret)
}

// Hidden fails the test if a text contains a value, as it is or as the Secret has it.
func (s *Stage) Hidden(text string, secret []string) {
	s.Helper()
	for _, value := range secret {
		if strings.Contains(text, value) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(value))) {
			s.Errorf("a generated value is shown in %.1000s", text)
		}
	}
}

func credentialsOf(u *unstructured.Unstructured) (credentials, error) {
	out := credentials{}
	data, _, err := unstructured.NestedStringMap(u.Object, "data")
	for key, text := range data {
		value, decodeErr := base64.StdEncoding.DecodeString(text)
		if decodeErr != nil {
			err = decodeErr
		}
		out[key] = string(value)
	}
	return out, err
}

// changed returns the keys that differ, sorted.
func (c credentials) changed(now credentials) []string {
	all := maps.Clone(c)
	if all == nil {
		all = credentials{}
	}
	maps.Copy(all, now)
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if c[key] != now[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// fit returns an error unless the values belong together.
func (c credentials) fit() error {
	if len(c["password"]) == 0 {
		return errors.New("there is no password")
	}
	user, hash, _ := strings.Cut(c["auth"], ":")
	if err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(c["password"])); err != nil || user != "admin" {
		return fmt.Errorf("the htpasswd line of %q does not fit the password: %w", user, err)
	}
	pair, err := tls.X509KeyPair([]byte(c["tls.crt"]), []byte(c["tls.key"]))
	if err != nil {
		return err
	}
	return pair.Leaf.VerifyHostname(c["user"] + "." + c.namespace(pair.Leaf.DNSNames[0]) + ".svc")
}

// namespace returns the namespace in a DNS name of the certificate.
func (credentials) namespace(name string) string {
	parts := strings.Split(name, ".")
	return parts[min(1, len(parts)-1)]
}

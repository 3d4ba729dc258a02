package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"reconcel/engine/access"
	"reconcel/engine/ident"
	"reconcel/rules"
)

// secretary is an API server that records whom requests impersonate.
type secretary struct {
	mu  sync.Mutex
	saw []http.Header
}

func (s *secretary) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saw = append(s.saw, r.Header.Clone())
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprint(w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`)
}

// take returns the headers of the requests since its last call.
func (s *secretary) take() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	saw := s.saw
	s.saw = nil
	return saw
}

var configMapKind = ident.Kind{
	GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
	GVR: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespaced: true,
}

func TestRequestsAsAnAccount(t *testing.T) {
	s := &secretary{}
	server := httptest.NewServer(s)
	defer server.Close()
	write := func(config *rest.Config, account *rules.Account, home string) error {
		t.Helper()
		client, err := dynamic.NewForConfig(access.Impersonating(config))
		if err != nil {
			t.Fatal(err)
		}
		c := &access.Cluster{Shared: &access.Shared{Client: client, Sender: Dependencies{Client: client}.sender()}}
		w := c.Writer(&rules.Rule{Account: account}, ident.Request{Namespace: home}, configMapKind, "elsewhere")
		_, err = w.Patch(t.Context(), "x", types.ApplyPatchType, []byte("{}"), metav1.PatchOptions{FieldManager: "m"})
		if _, read := c.Resource(configMapKind, "elsewhere").Get(t.Context(), "x", metav1.GetOptions{}); read != nil {
			t.Fatal(read)
		}
		return err
	}
	plain := &rest.Config{Host: server.URL}
	for _, c := range []struct {
		name    string
		account *rules.Account
		home    string
		want    string
	}{
		{"none", nil, "home", ""},
		{"fixed", &rules.Account{Namespace: "team-a", Name: "deployer"}, "home", "system:serviceaccount:team-a:deployer"},
		{"of the namespace", &rules.Account{Name: "deployer"}, "home", "system:serviceaccount:home:deployer"},
	} {
		if err := write(plain, c.account, c.home); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		saw := s.take()
		if len(saw) != 2 || saw[0].Get("Impersonate-User") != c.want || saw[1].Get("Impersonate-User") != "" {
			t.Errorf("%s: want a write as %q and a read as ourselves, got %v", c.name, c.want, saw)
		}
		for name := range saw[0] {
			if strings.HasPrefix(name, "Impersonate-") && name != "Impersonate-User" {
				t.Errorf("%s: the request has %s, which takes a permission of its own", c.name, name)
			}
		}
	}

	// An invalid account is an error. The engine does not fall back to its own identity.
	as := &rest.Config{Host: server.URL, Impersonate: rest.ImpersonationConfig{UserName: "jane"}}
	for _, c := range []struct {
		name    string
		config  *rest.Config
		account *rules.Account
		home    string
		want    string
	}{
		{"empty", plain, &rules.Account{}, "home", "cannot be an account"},
		{"without a name", plain, &rules.Account{Namespace: "team-a"}, "home", "cannot be an account"},
		{"without a namespace", plain, &rules.Account{Name: "deployer"}, "", "which has none"},
		{"with a colon", plain, &rules.Account{Namespace: "team-a", Name: "a:b"}, "", "cannot be an account"},
		{"on top of another one", as, &rules.Account{Namespace: "team-a", Name: "deployer"}, "", `already impersonates "jane"`},
	} {
		err := write(c.config, c.account, c.home)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		if saw := s.take(); len(saw) != 1 {
			t.Errorf("%s: something was sent besides the read: %v", c.name, saw)
		}
	}
}

// TestRequestWithoutItsAccount sends nothing if the context has lost its account.
func TestRequestWithoutItsAccount(t *testing.T) {
	s := &secretary{}
	server := httptest.NewServer(s)
	defer server.Close()
	client, err := dynamic.NewForConfig(access.Impersonating(&rest.Config{Host: server.URL}))
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []any{rules.Account{}, rules.Account{Name: "deployer"}, "team-a/deployer", (*rules.Account)(nil)} {
		ctx := context.WithValue(t.Context(), access.AccountKey{}, value)
		if err := client.Resource(configMapKind.GVR).Namespace("x").Delete(ctx, "x", metav1.DeleteOptions{}); err == nil {
			t.Errorf("%#v: no error", value)
		}
	}
	if saw := s.take(); len(saw) > 0 {
		t.Errorf("requests: %v", saw)
	}
}

func TestWhatARefusalSays(t *testing.T) {
	account := &rules.Account{Namespace: "team-a", Name: "deployer"}
	secret := ident.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, GVR: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}}
	accounts := schema.GroupResource{Resource: "serviceaccounts"}
	denied := fmt.Errorf(`User %q cannot patch resource`, account.User())
	for _, c := range []struct {
		kind ident.Kind
		err  error
		want string
		not  string
	}{
		{configMapKind, apierrors.NewForbidden(accounts, "deployer", fmt.Errorf(`User "reconcel" cannot impersonate resource`)),
			"may not impersonate ServiceAccount team-a/deployer; apply what `reconcel rbac` prints (serviceaccounts", ""},
		{secret, apierrors.NewForbidden(secret.GVR.GroupResource(), "x", fmt.Errorf(`User "reconcel" cannot impersonate-on:serviceaccount:patch resource`)), "may not impersonate ServiceAccount team-a/deployer", "cannot impersonate"},
		{configMapKind, apierrors.NewForbidden(configMapKind.GVR.GroupResource(), "x", denied), `configmaps "x" is forbidden: User "system:`, "as ServiceAccount"},
		{secret, apierrors.NewForbidden(secret.GVR.GroupResource(), "x", denied), "as ServiceAccount team-a/deployer: the API server answered 403", "cannot patch"},
		{configMapKind, apierrors.NewForbidden(configMapKind.GVR.GroupResource(), "x", fmt.Errorf("exceeded quota")), "as ServiceAccount team-a/deployer: configmaps", ""},
		{configMapKind, apierrors.NewConflict(configMapKind.GVR.GroupResource(), "x", fmt.Errorf("changed")), "Operation cannot be fulfilled", "ServiceAccount"},
	} {
		w := access.Writer{Kind: c.kind}
		got := w.Explain(account, c.err)
		if !strings.Contains(got.Error(), c.want) || c.not != "" && strings.Contains(got.Error(), c.not) {
			t.Errorf("got %q, want %q and not %q", got, c.want, c.not)
		}
		if apierrors.ReasonForError(got) != apierrors.ReasonForError(c.err) {
			t.Errorf("%q is of another sort than before", got)
		}
	}
}

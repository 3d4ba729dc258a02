package rules

import (
	"strings"
	"testing"
)

const accountRule = `
- name: r
  for: {apiVersion: example.com/v1, kind: Primary}ACCOUNT
  children:
  - id: web
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: ns}}
  allow: {namespaces: [ns]}
`

func withAccount(name string) string {
	if name != "" {
		name = "\n  serviceAccountName: " + name
	}
	return strings.Replace(accountRule, "ACCOUNT", name, 1)
}

func TestAccountIsNoPartOfARendering(t *testing.T) {
	self := object{"metadata": object{"name": "p", "namespace": "ns", "uid": "u1"}}
	want := first(&one(t, withAccount(""), self, nil).Children[0])
	for _, name := range []string{"deployer", "team-a/deployer", "team-b/deployer"} {
		got := first(&one(t, withAccount(name), self, nil).Children[0])
		if got.Hash != want.Hash || body(t, got) != body(t, want) {
			t.Errorf("%s: got %s, want %s", name, body(t, got), body(t, want))
		}
	}
}

func TestAccountOfAPrimaryInNoNamespace(t *testing.T) {
	self := object{"metadata": object{"name": "p", "uid": "u1"}}
	r := one(t, withAccount("deployer"), self, nil)
	const want = `rules.yaml:6:23: rule "r": serviceAccountName: "deployer" needs the namespace of the primary, which has none: write namespace/deployer`
	if r.Err == nil || r.Err.Reason != RuleError || r.Err.Message != want {
		t.Errorf("got %+v, want %s", r.Err, want)
	}
	if r = one(t, withAccount("team-a/deployer"), self, nil); r.Err != nil {
		t.Errorf("a fixed account: %+v", r.Err)
	}
}

func TestAccountIn(t *testing.T) {
	for _, c := range []struct {
		account Account
		home    string
		want    string
	}{
		{Account{"team-a", "deployer"}, "", "system:serviceaccount:team-a:deployer"},
		{Account{"team-a", "deployer"}, "team-b", "system:serviceaccount:team-a:deployer"},
		{Account{"", "deployer"}, "team-b", "system:serviceaccount:team-b:deployer"},
		{Account{"", "deployer"}, "", ""},
		{Account{"", ""}, "team-b", ""},
		{Account{"team-a", ""}, "team-b", ""},
		{Account{"team-a", "x:y"}, "team-b", ""},
		{Account{"team:a", "x"}, "team-b", ""},
		{Account{"", "x"}, "kube-system:admin", ""},
	} {
		got, err := c.account.In(c.home)
		if (err == nil) != (c.want != "") || err == nil && got.User() != c.want {
			t.Errorf("%+v in %q: got %+v, %v", c.account, c.home, got, err)
		}
		if err != nil && got != (Account{}) {
			t.Errorf("%+v in %q: an error and an account: %+v", c.account, c.home, got)
		}
	}
}

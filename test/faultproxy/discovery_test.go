package faultproxy_test

import (
	"io"
	"strings"
	"testing"

	"reconcel/test/faultproxy"
)

func TestHiddenGroup(t *testing.T) {
	read := func(proxy *faultproxy.Proxy, path string) string {
		t.Helper()
		response, err := do(t, "GET", proxy.URL()+path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.Status[:3] + " " + string(body)
	}
	for absence, want := range map[faultproxy.Absence]string{faultproxy.GroupMissing: "404 404 page not found", faultproxy.GroupEmpty: `"resources":[]`} {
		t.Run(string(absence), func(t *testing.T) {
			api, proxy := start(t)
			api.body = `{"groups":[{"name":"a.example.com"},{"name":"b.example.com"}]}`
			lift := proxy.HideGroup("a.example.com", absence)
			if got := read(proxy, "/apis/a.example.com/v1"); !strings.Contains(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
			if got := read(proxy, "/apis"); strings.Contains(got, "a.example.com") != (absence == faultproxy.GroupEmpty) || !strings.Contains(got, "b.example.com") {
				t.Errorf("groups: got %s", got)
			}
			for _, path := range []string{"/apis/b.example.com/v1", "/apis/a.example.com/v1/things"} {
				if got := read(proxy, path); got != "200 "+api.body {
					t.Errorf("%s: got %s", path, got)
				}
			}
			lift()
			if got := read(proxy, "/apis/a.example.com/v1"); got != "200 "+api.body {
				t.Errorf("after the lift: got %s", got)
			}
		})
	}
}

package cli

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestOnlyLocalNamesAreAnswered rejects a foreign host name that resolves to this
// address, as in a DNS rebinding attack from a browser.
func TestOnlyLocalNamesAreAnswered(t *testing.T) {
	handler := onlyLocal(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for host, want := range map[string]int{
		"127.0.0.1:6060": http.StatusOK, "127.8.8.8": http.StatusOK, "localhost:6060": http.StatusOK, "localhost": http.StatusOK,
		"[::1]:6060": http.StatusOK, "[::1]": http.StatusOK,
		"evil.example.com:6060": http.StatusForbidden, "evil.example.com": http.StatusForbidden, "localhost.evil.example.com:6060": http.StatusForbidden,
		"127.0.0.1.evil.example.com": http.StatusForbidden, "10.0.0.1:6060": http.StatusForbidden, "": http.StatusForbidden,
	} {
		r := httptest.NewRequest(http.MethodGet, "/debug/rules", nil)
		r.Host = host
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("Host %q: %d, want %d", host, w.Code, want)
		}
	}
}

// TestDebugAddressIsLoopback rejects an address that other machines can reach.
func TestDebugAddressIsLoopback(t *testing.T) {
	s, err := listenDebug("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = s.listener.Close()
	if s, err := listenDebug("0.0.0.0:0"); err == nil {
		_ = s.listener.Close()
		t.Error("an address that others reach is listened on")
	}
}

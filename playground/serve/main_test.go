package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

func TestThePageIsServed(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"index.html": "<p>page", "reconcel.0123456789abcdef.wasm": "plain", "reconcel.0123456789abcdef.wasm.gz": "compressed"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const wasm = "/reconcel.0123456789abcdef.wasm"
	for _, test := range []struct {
		path, accept                         string
		body, kind, encoding, cache, varying string
	}{
		{"/", "gzip", "<p>page", "text/html; charset=utf-8", "", "no-cache", ""},
		{wasm, "gzip, br", "compressed", "application/wasm", "gzip", "public, max-age=31536000, immutable", "Accept-Encoding"},
		{wasm, "", "plain", "application/wasm", "", "public, max-age=31536000, immutable", "Accept-Encoding"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, test.path, http.NoBody)
		r.Header.Set("Accept-Encoding", test.accept)
		files(folder).ServeHTTP(w, r)
		h := w.Header()
		if w.Code != http.StatusOK || w.Body.String() != test.body || h.Get("Content-Type") != test.kind || h.Get("Content-Encoding") != test.encoding ||
			h.Get("Cache-Control") != test.cache || h.Get("Vary") != test.varying {
			t.Errorf("GET %s, Accept-Encoding %q: %d %q %v", test.path, test.accept, w.Code, w.Body, h)
		}
	}
	w := httptest.NewRecorder()
	files(folder).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/../main.go", http.NoBody))
	if w.Code == http.StatusOK {
		t.Error("a file outside of the folder is served")
	}
}

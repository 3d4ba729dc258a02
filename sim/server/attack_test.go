package server_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// raw returns a client of one version of HTTP that knows the certificate and no token.
func (s *served) raw(http2 bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	t := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, Protocols: protocols} //nolint:gosec // The token is what is tested.
	s.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t, Timeout: soon}
}

// request returns a request with the token. Its path is sent as it is.
func (s *served) request(method, path, kind string, body []byte) *http.Request {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, "https://"+s.address, bytes.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	path, r.URL.RawQuery, _ = strings.Cut(path, "?")
	r.URL.Opaque = "//" + s.address + path
	r.Header.Set("Authorization", "Bearer "+s.access.Token)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return r
}

// TestBadRequestsAreAnswered sends what no client should, in both versions of HTTP.
func TestBadRequestsAreAnswered(t *testing.T) {
	s := serve(t, 0)
	const maps = "/api/v1/namespaces/default/configmaps"
	good := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"good"}}`
	deep := strings.Repeat(`{"a":`, 200_000) + "1" + strings.Repeat("}", 200_000)
	for _, http2 := range []bool{false, true} {
		client := s.raw(http2)
		for _, test := range []struct {
			name, method, path, kind, body string
			want                           int
		}{
			{"a huge body", "POST", maps, "application/json", `{"data":"` + strings.Repeat("x", 3<<20) + `"}`, 413},
			{"a huge patch", "PATCH", maps + "/a", string(types.MergePatchType), strings.Repeat("x", 4<<20), 413},
			{"broken JSON", "POST", maps, "application/json", `{"apiVersion":`, 400},
			{"an array", "POST", maps, "application/json", `[1]`, 400},
			{"null", "POST", maps, "application/json", `null`, 400},
			{"no body", "POST", maps, "application/json", ``, 400},
			{"deep JSON", "POST", maps, "application/json", deep, 400},
			{"a name that is a number", "POST", maps, "application/json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":7}}`, 400},
			{"metadata that is a text", "POST", maps, "application/json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":"x"}`, 400},
			{"another kind", "POST", maps, "application/json", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`, 400},
			{"broken YAML", "POST", maps, "application/yaml", "a: [", 400},
			{"broken Protobuf", "POST", maps, "application/vnd.kubernetes.protobuf", "k8s\x00\xff\xff", 400},
			{"a form", "POST", maps, "application/x-www-form-urlencoded", "a=b", 415},
			{"a patch of no type", "PATCH", maps + "/a", "application/json", `{}`, 415},
			{"a patch that is broken", "PATCH", "/api/v1/namespaces/default", string(types.MergePatchType), `{`, 400},
			{"a JSON patch that is an object", "PATCH", "/api/v1/namespaces/default", string(types.JSONPatchType), `{}`, 400},
			{"a strategic patch that is an array", "PATCH", "/api/v1/namespaces/default", string(types.StrategicMergePatchType), `[]`, 400},
			{"a strict patch with a typo", "PATCH", "/api/v1/namespaces/default?fieldValidation=Strict", string(types.MergePatchType), `{"spek":{}}`, 422},
			{"a strict strategic patch with a typo", "PATCH", "/api/v1/namespaces/default?fieldValidation=Strict", string(types.StrategicMergePatchType), `{"spek":{}}`, 422},
			{"a strict patch", "PATCH", "/api/v1/namespaces/default?fieldValidation=Strict", string(types.MergePatchType), `{"metadata":{"labels":{"a":"b"}}}`, 200},
			{"an apply that is a text", "PATCH", maps + "/a?fieldManager=m", string(types.ApplyPatchType), `x`, 400},
			{"a broken selector", "GET", maps + "?labelSelector=a%20in%20(", "", "", 400},
			{"an unknown field selector", "GET", maps + "?fieldSelector=data.a=b", "", "", 400},
			{"an unknown kind", "GET", "/api/v1/namespaces/default/nothing", "", "", 404},
			{"an unknown group", "GET", "/apis/nobody.example.com/v1", "", "", 404},
			{"an unknown version", "GET", "/api/v7/pods", "", "", 404},
			{"an unknown path", "GET", "/metrics", "", "", 404},
			{"too many parts", "GET", "/api/v1/namespaces/default/pods/a/status/b", "", "", 404},
			{"no namespace", "GET", "/api/v1/namespaces//pods", "", "", 404},
			{"an encoded slash", "GET", "/api/v1/namespaces/default%2Fpods/a", "", "", 404},
			{"a namespace of dots", "GET", "/api/v1/namespaces/%2e%2e/pods/a", "", "", 404},
			{"a method that does not exist", "BREW", maps, "", "", 405},
			{"a POST to a name", "POST", maps + "/a", "application/json", good, 405},
			{"a good one", "POST", maps + "?dryRun=All", "application/json", good, 201},
		} {
			r, err := client.Do(s.request(test.method, test.path, test.kind, []byte(test.body)))
			if err != nil {
				t.Errorf("HTTP/2=%v, %s: %v", http2, test.name, err)
				continue
			}
			text, _ := io.ReadAll(io.LimitReader(r.Body, 300))
			_ = r.Body.Close()
			if r.StatusCode != test.want || (r.ProtoMajor == 2) != http2 {
				t.Errorf("%s, %s: the answer is %d, want %d: %s", r.Proto, test.name, r.StatusCode, test.want, text)
			}
		}
		for _, token := range []string{"", "Bearer", "Bearer x", "Bearer " + s.access.Token + "x", "Basic " + s.access.Token} {
			r := s.request("GET", "/api", "", nil)
			r.Header.Set("Authorization", token)
			answer, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusUnauthorized {
				t.Errorf("with %q, the answer is %s", token, answer.Status)
			}
		}
	}
}

// TestManyRequestsAtOnce sends 2000 writes at the same time. Each object is there afterwards.
func TestManyRequestsAtOnce(t *testing.T) {
	const clients, each = 10, 200 // A connection of Go's server has 250 streams; a client with more requests begins as many TLS handshakes.
	s := serve(t, 0)
	var all sync.WaitGroup
	for i := range clients {
		client := s.raw(true)
		create := func(j int) {
			body := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m%d-%d"}}`, i, j)
			r, err := client.Do(s.request("POST", "/api/v1/namespaces/default/configmaps", "application/json", body))
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
			if r.StatusCode != http.StatusCreated {
				t.Error(r.Status)
			}
		}
		create(0) // The connection that all others share.
		for j := range each - 1 {
			all.Go(func() { create(j + 1) })
		}
	}
	all.Wait()
	list, err := s.dynamic().Resource(configMaps).List(t.Context(), always)
	if err != nil || len(list.Items) != clients*each {
		t.Errorf("there are %d, %v", len(list.Items), err)
	}
}

// TestASlowReaderStopsNobody opens watches whose events are not read. Writes go on, and the watches end.
func TestASlowReaderStopsNobody(t *testing.T) {
	s := serve(t, 1000)
	var bodies []io.ReadCloser
	for _, http2 := range []bool{false, true} {
		client := s.raw(http2)
		client.Timeout = 0
		r, err := client.Do(s.request("GET", "/api/v1/configmaps?watch=1", "", nil))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		bodies = append(bodies, r.Body)
	}
	maps := s.cluster.Client("writer").Resource(configMaps).Namespace("default")
	u := configMap("big", strings.Repeat("x", 10_000))
	if _, err := maps.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range 10_000 {
		if _, err := maps.Patch(t.Context(), "big", types.MergePatchType, fmt.Appendf(nil, `{"data":{"n":"%d"}}`, i), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.eventually("nobody waits for a client that does not read", func() bool { return s.handling.Load() == 0 })
	for _, body := range bodies {
		events := 0
		for lines := bufio.NewReader(body); ; events++ {
			line, err := lines.ReadString('\n')
			if err != nil || strings.Contains(line, `"code":410`) {
				break
			}
		}
		if events >= 10_000 {
			t.Errorf("%d events were kept for a client that does not read", events)
		}
	}
}

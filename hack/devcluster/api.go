package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// api is a minimal Kubernetes client for starting a cluster. client-go would take
// longer to compile than everything else in this package.
type api struct {
	server string
	client *http.Client
}

func newAPI(server string, ca *authority) (*api, error) {
	pair, err := ca.user("devcluster", []string{masters})
	if err != nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(pair.cert, pair.key)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return &api{server: server, client: &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{
			Certificates: []tls.Certificate{cert}, RootCAs: pool, MinVersion: tls.VersionTLS12,
		}},
	}}, nil
}

// healthy requests a health endpoint of this server, or of another one with a
// certificate of the same authority.
func (a *api) healthy(ctx context.Context, url string) error {
	status, body, err := a.do(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if status == http.StatusOK {
		return nil
	}
	var failing []string
	for line := range strings.SplitSeq(string(body), "\n") {
		if name, ok := strings.CutPrefix(line, "[-]"); ok {
			name, _, _ = strings.Cut(name, " ")
			failing = append(failing, name)
		}
	}
	if len(failing) == 0 {
		return fmt.Errorf("its health endpoint answers %d", status)
	}
	return fmt.Errorf("its health check is waiting for %s", strings.Join(failing, ", "))
}

// get reads an object. found is false if it does not exist.
func (a *api) get(ctx context.Context, path string, into any) (found bool, err error) {
	status, body, err := a.do(ctx, http.MethodGet, a.server+path, nil)
	switch {
	case err != nil:
		return false, err
	case status == http.StatusNotFound:
		return false, nil
	case status != http.StatusOK:
		return false, fmt.Errorf("GET %s: %d: %s", path, status, body)
	default:
		return true, json.Unmarshal(body, into)
	}
}

// create creates an object unless it exists already.
func (a *api) create(ctx context.Context, path string, object any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return a.createManifest(ctx, path, text)
}

// createManifest creates the object of a manifest unless it exists already.
func (a *api) createManifest(ctx context.Context, path string, manifest []byte) error {
	status, body, err := a.do(ctx, http.MethodPost, a.server+path, manifest)
	if err != nil {
		return err
	}
	if status != http.StatusCreated && status != http.StatusConflict {
		return fmt.Errorf("POST %s: %d: %s", path, status, body)
	}
	return nil
}

func (a *api) do(ctx context.Context, method, url string, body []byte) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/yaml") // JSON is YAML, too.
	req.Header.Set("Accept", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

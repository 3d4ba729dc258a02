package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // Kubeconfigs name them as auth-provider.
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

// mostSecrets is the maximum size of a list of Secrets, in bytes.
const mostSecrets = 64 << 20

// contextName is the name of the only context in the kubeconfig for reconcel.
const contextName = "cluster"

// withheld stands for every value of a Secret, as base64.
const withheld = "d2l0aGhlbGQ="

// lend serves the cluster of the kubeconfig on a port of this machine, for reading only, and calls use with a
// kubeconfig for it. Nobody else knows the token that it has. When use returns, the port is closed.
func (s *server) lend(ctx context.Context, use func(kubeconfig string) error) error {
	where := clientcmd.NewDefaultClientConfigLoadingRules()
	where.ExplicitPath = s.kubeconfig
	if err := s.isElsewhere(where); err != nil {
		return err
	}
	client := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(where,
		&clientcmd.ConfigOverrides{CurrentContext: s.context})
	config, err := client.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return errors.New("no cluster: start reconcel-mcp with --kubeconfig or KUBECONFIG")
	}
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	namespace, _, err := client.Namespace()
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	identity, err := loopback()
	if err != nil {
		return err
	}
	token := rand.Text()
	handler, err := newReader(config, token)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serve := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{identity.certificate}, MinVersion: tls.VersionTLS13}}
	go func() { _ = serve.ServeTLS(listener, "", "") }() // It ends when the server is closed.
	defer serve.Close()
	folder, err := os.MkdirTemp("", "reconcel-mcp-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			contextName: {Server: "https://" + listener.Addr().String(), CertificateAuthorityData: identity.authority}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{contextName: {Token: token}},
		Contexts: map[string]*clientcmdapi.Context{
			contextName: {Cluster: contextName, AuthInfo: contextName, Namespace: namespace}},
		CurrentContext: contextName,
	}, file); err != nil {
		return err
	}
	return use(file)
}

// isElsewhere returns an error for a kubeconfig in the folder: whoever writes there could name programs in it, which
// client-go runs, or files, which it sends to a server of their choice.
func (s *server) isElsewhere(where *clientcmd.ClientConfigLoadingRules) error {
	for _, file := range append([]string{where.ExplicitPath}, where.Precedence...) {
		path, err := filepath.Abs(file)
		if file == "" || err != nil {
			continue
		}
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target
		}
		if in, err := filepath.Rel(s.folder, path); err == nil && filepath.IsLocal(in) {
			return fmt.Errorf("the kubeconfig %s is in the folder %s, where others may change it: move it out of there",
				path, s.folder)
		}
	}
	return nil
}

// An identity is the certificate of the ports that this process opens, and its authority as PEM.
type identity struct {
	certificate tls.Certificate
	authority   []byte
}

// loopback makes the identity, once: client-go sends tokens over TLS only.
var loopback = sync.OnceValues(func() (identity, error) {
	authority, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return identity{}, err
	}
	pair, err := tls.X509KeyPair(authority, key)
	return identity{pair, authority}, err
})

// A reader passes reads on to an API server.
type reader struct {
	token           string
	secrets, others http.Handler
}

func newReader(config *rest.Config, token string) (*reader, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // The API server limits requests itself.
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerURL(config.Host, "", schema.GroupVersion{}, rest.IsConfigTransportTLS(*config))
	if err != nil {
		return nil, err
	}
	secrets, others := forward(base, transport), forward(base, transport)
	secrets.ModifyResponse = withhold
	return &reader{token, secrets, others}, nil
}

// forward returns a handler that sends requests to the API server with this process's credentials.
func forward(base *url.URL, transport http.RoundTripper) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(base)
			for name := range r.Out.Header {
				if name == "Authorization" || strings.HasPrefix(name, "Impersonate-") {
					r.Out.Header.Del(name)
				}
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			refuse(w, http.StatusBadGateway, err.Error())
		},
	}
}

var (
	// readable are the paths of kinds, lists and objects, and of nothing behind an object but what describes it.
	readable = regexp.MustCompile(`^(/version|/api|/apis|/apis/[^/]+|/api/[^/]+|/apis/[^/]+/[^/]+|/openapi(/.*)?|` +
		`(/api/[^/]+|/apis/[^/]+/[^/]+)(/namespaces/[^/]+)?/[^/]+(/[^/]+)?(/status|/scale)?)$`)

	// outdated are the paths of watches before there was a parameter for them.
	outdated = regexp.MustCompile(`^(/api/[^/]+|/apis/[^/]+/[^/]+)/watch(/|$)`)

	ofSecrets = regexp.MustCompile(`^/api/[^/]+/(namespaces/[^/]+/)?secrets(/|$)`)
)

// ServeHTTP passes a read on. It refuses everything else.
func (r *reader) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	token := []byte(strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "))
	path := req.URL.Path
	switch {
	case subtle.ConstantTimeCompare(token, []byte(r.token)) != 1:
		refuse(w, http.StatusUnauthorized, "this port is for one program")
	case req.Method != http.MethodGet || req.Header.Get("Upgrade") != "":
		refuse(w, http.StatusForbidden, "reconcel-mcp only reads")
	case req.URL.RawPath != "" || path != cleaned(path) || !readable.MatchString(path) || outdated.MatchString(path):
		refuse(w, http.StatusForbidden, "reconcel-mcp reads objects and lists only")
	case !ofSecrets.MatchString(path):
		r.others.ServeHTTP(w, req)
	case req.URL.Query().Has("watch"):
		refuse(w, http.StatusForbidden, "reconcel-mcp does not watch Secrets")
	default:
		asJSON(req.Header)
		r.secrets.ServeHTTP(w, req)
	}
}

// asJSON asks for what withhold can read: objects or their metadata as JSON, compressed at most by the transport.
func asJSON(header http.Header) {
	accepted := []string{}
	for form := range strings.SplitSeq(strings.Join(header.Values("Accept"), ","), ",") {
		if form = strings.TrimSpace(form); strings.HasPrefix(form, "application/json;as=PartialObjectMetadata") {
			accepted = append(accepted, form)
		}
	}
	header.Set("Accept", strings.Join(append(accepted, "application/json"), ","))
	header.Del("Accept-Encoding")
}

// cleaned returns a path in the form that an API server resolves it to, but for a slash at its end.
func cleaned(path string) string { return (&url.URL{Path: "/"}).JoinPath(path).Path }

// refuse answers as an API server does.
func refuse(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{ // A client that has gone needs no answer.
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Reason: reasons[code], Code: int32(code), Message: message,
	})
}

var reasons = map[int]metav1.StatusReason{
	http.StatusUnauthorized: metav1.StatusReasonUnauthorized,
	http.StatusForbidden:    metav1.StatusReasonForbidden,
	http.StatusBadGateway:   metav1.StatusReasonServiceUnavailable,
}

// withhold takes the data out of an answer about Secrets.
func withhold(answer *http.Response) error {
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostSecrets+1))
	if err == nil && len(text) > mostSecrets {
		err = fmt.Errorf("the Secrets have more than %d MiB", mostSecrets>>20)
	}
	if err != nil {
		return err
	}
	content := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		return fmt.Errorf("the answer about Secrets is not JSON: %w", err)
	}
	withholdData(content)
	items, _ := content["items"].([]any)
	for _, item := range items {
		if secret, ok := item.(map[string]any); ok {
			withholdData(secret)
		}
	}
	if text, err = json.Marshal(content); err != nil {
		return err
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	answer.Header.Set("Content-Length", strconv.Itoa(len(text)))
	return nil
}

// withholdData replaces the values of a Secret, and those of its annotations but reconcel's: tools keep whole manifests
// in them. The names of keys stay.
func withholdData(secret map[string]any) {
	for field, value := range map[string]string{"data": withheld, "stringData": "withheld"} {
		values, _ := secret[field].(map[string]any)
		for key := range values {
			values[key] = value
		}
	}
	metadata, _ := secret["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for key := range annotations {
		if domain, _, _ := strings.Cut(key, "/"); domain != "reconcel.dev" && !strings.HasSuffix(domain, ".reconcel.dev") {
			annotations[key] = "withheld"
		}
	}
}

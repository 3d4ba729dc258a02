package server

import (
	"crypto/rand"
	"crypto/tls"
	"net"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

// An Access is how clients get access to a server: a certificate and a token, made anew each time.
type Access struct {
	Certificate tls.Certificate
	Token       string
	authority   []byte // PEM
}

// NewAccess returns the access to a server on loopback.
func NewAccess() (Access, error) {
	loopback := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	authority, key, err := cert.GenerateSelfSignedCertKey("localhost", loopback, nil)
	if err != nil {
		return Access{}, err
	}
	a := Access{Token: rand.Text(), authority: authority}
	a.Certificate, err = tls.X509KeyPair(authority, key)
	return a, err
}

// Kubeconfig returns the kubeconfig for a server at an address like 127.0.0.1:6443. Its cluster, user and context have
// the given name.
func (a Access) Kubeconfig(address, name string) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + address, CertificateAuthorityData: a.authority}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: a.Token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	config.CurrentContext = name
	return clientcmd.Write(*config)
}

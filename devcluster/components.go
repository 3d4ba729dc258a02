package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// The components, under the names that their binaries have.
const (
	etcdName              = "etcd"
	apiserverName         = "kube-apiserver"
	controllerManagerName = "kube-controller-manager"
	schedulerName         = "kube-scheduler"
	kwokName              = "kwok"
	kubectlName           = "kubectl"
)

// startOrder is also the order in which components are listed; they are stopped
// the other way round.
var startOrder = []string{etcdName, apiserverName, controllerManagerName, schedulerName, kwokName}

// component is what there is to know about one part of the control plane.
type component struct {
	name    string
	command command
	args    []string
	// ready returns nil, or what the component is still waiting for.
	ready func(ctx context.Context) error
}

// auditPolicy logs every request of every user once when it ends, and once more
// when it begins to stream, which is the only sign of a watch that still runs.
// Health checks are left out: how many there are depends on the clock.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  nonResourceURLs: ["/healthz*", "/livez*", "/readyz*"]
- level: Metadata
`

func (c *cluster) etcd() component {
	client, peer := "unix://"+c.path("etcd.sock"), "unix://"+c.path("etcd-peer.sock")
	return component{
		name: etcdName,
		args: []string{
			"--data-dir=" + c.path("etcd"),
			// Sockets in a private folder: no port to collide with, and no way
			// around the API server for the other users of this machine.
			"--listen-client-urls=" + client, "--listen-peer-urls=" + peer,
			// Has to be given and cannot be a socket, but nobody asks a lone
			// member for its address.
			"--advertise-client-urls=http://127.0.0.1:2379",
			"--unsafe-no-fsync",
			"--quota-backend-bytes=" + strconv.Itoa(8<<30),
			"--log-level=warn",
		},
		ready: func(ctx context.Context) error {
			conn, err := new(net.Dialer).DialContext(ctx, "unix", c.path("etcd.sock"))
			if err != nil {
				return err
			}
			return conn.Close()
		},
	}
}

func (c *cluster) apiserver() component {
	args := []string{
		"--etcd-servers=unix://" + c.path("etcd.sock"),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.ports.apiserver.number), "--permit-port-sharing",
		"--tls-cert-file=" + c.serverCert, "--tls-private-key-file=" + c.serverKey,
		"--client-ca-file=" + c.ca.certFile(),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.ca.serviceAccountFile(),
		"--service-account-signing-key-file=" + c.ca.serviceAccountFile(),
		"--service-cluster-ip-range=10.0.0.0/16",
		"--allow-privileged",
		// The endpoint of the Service "kubernetes" may not be a loopback
		// address: publishing it would fail every ten seconds.
		"--endpoint-reconciler-type=none",
		"--audit-policy-file=" + c.path("audit-policy.yaml"),
		"--audit-log-path=" + c.auditLog(),
		// Written before the request ends, and never rotated, so that counting
		// lines counts requests.
		"--audit-log-mode=blocking", "--audit-log-maxsize=0",
	}
	if !c.has(controllerManagerName) {
		// Nobody makes ServiceAccounts, and with this plugin no Pod could be
		// created without one.
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	return component{name: apiserverName, args: args, ready: func(ctx context.Context) error {
		return c.api.healthy(ctx, c.api.server+"/readyz")
	}}
}

func (c *cluster) controllerManager() component {
	args := []string{
		"--kubeconfig=" + c.userConfig("system:kube-controller-manager"),
		// Each controller under its own ServiceAccount, as in clusters made by
		// kubeadm: RBAC holds for them and the audit log tells them apart.
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + c.ca.serviceAccountFile(),
		"--root-ca-file=" + c.ca.certFile(),
		"--cluster-signing-cert-file=" + c.ca.certFile(), "--cluster-signing-key-file=" + c.ca.keyFile(),
		"--leader-elect=false",
		// Made for clusters with a thousand nodes to protect; here the limits
		// would be what a measurement measures.
		"--kube-api-qps=2000", "--kube-api-burst=4000",
		// A machine that stands still for a minute, as laptops and virtual machines
		// do, is no reason to call its node dead: kwok would never make the Pods
		// ready again.
		"--node-monitor-grace-period=24h",
		"--concurrent-deployment-syncs=10", "--concurrent-replicaset-syncs=10", "--concurrent-job-syncs=10",
	}
	args = append(args, c.serving(c.ports.controllerManager)...)
	if c.options.controllers != "" {
		args = append(args, "--controllers="+c.options.controllers)
	}
	return component{name: controllerManagerName, args: args, ready: func(ctx context.Context) error {
		if err := c.api.healthy(ctx, c.ports.controllerManager.url("/healthz")); err != nil {
			return err
		}
		found, err := c.api.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", &struct{}{})
		if err == nil && !found && !c.excludes("serviceaccount") {
			err = errors.New("ServiceAccount default/default does not exist yet, and no Pod can be created without it")
		}
		return err
	}}
}

// excludes reports whether the --controllers flag leaves a controller out, so
// that nobody waits for what it makes.
func (c *cluster) excludes(controller string) bool {
	if c.options.controllers == "" {
		return false
	}
	excluded := true
	for name := range strings.SplitSeq(c.options.controllers, ",") {
		switch name {
		case "*", controller, controller + "-controller":
			excluded = false
		case "-" + controller, "-" + controller + "-controller":
			return true
		}
	}
	return excluded
}

func (c *cluster) scheduler() component {
	args := []string{
		"--kubeconfig=" + c.userConfig("system:kube-scheduler"),
		"--leader-elect=false", "--kube-api-qps=2000", "--kube-api-burst=4000",
	}
	return component{
		name: schedulerName,
		args: append(args, c.serving(c.ports.scheduler)...),
		ready: func(ctx context.Context) error {
			return c.api.healthy(ctx, c.ports.scheduler.url("/readyz"))
		},
	}
}

// serving are the flags of a component that serves its health and metrics.
func (c *cluster) serving(p *port) []string {
	return []string{
		"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(p.number), "--permit-port-sharing",
		"--tls-cert-file=" + c.serverCert, "--tls-private-key-file=" + c.serverKey,
	}
}

func (c *cluster) kwok() component {
	return component{
		name: kwokName,
		args: []string{
			"--kubeconfig=" + c.userConfig("kwok"),
			"--config=" + c.path("kwok-stages.yaml"),
			"--manage-all-nodes",
			// No kubelet to be asked for logs.
			"--node-port=0", "--server-address=",
		},
		ready: func(ctx context.Context) error {
			for i := range c.options.nodes {
				if err := c.nodeReady(ctx, nodeName(i)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// nodeReady checks what the scheduler looks at.
func (c *cluster) nodeReady(ctx context.Context, name string) error {
	var node struct {
		Spec struct {
			Taints []struct{ Key string }
		}
		Status struct {
			Conditions []struct{ Type, Status string }
		}
	}
	found, err := c.api.get(ctx, "/api/v1/nodes/"+name, &node)
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("Node %s does not exist yet", name)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == "Ready" && condition.Status == "True" {
			if len(node.Spec.Taints) > 0 && c.has(controllerManagerName) && !c.excludes("node-lifecycle") {
				return fmt.Errorf("Node %s still has the taint %s", name, node.Spec.Taints[0].Key)
			}
			return nil
		}
	}
	return fmt.Errorf("Node %s is not Ready yet", name)
}

func nodeName(i int) string { return fmt.Sprintf("kwok-node-%d", i) }

func newNode(name string) any {
	type fields = map[string]any
	return fields{
		"apiVersion": "v1", "kind": "Node",
		"metadata": fields{
			"name":        name,
			"annotations": fields{"kwok.x-k8s.io/node": "fake"},
			"labels": fields{
				"type":                   "kwok",
				"kubernetes.io/hostname": name,
				"kubernetes.io/os":       "linux",
				"kubernetes.io/arch":     "amd64",
			},
		},
	}
}

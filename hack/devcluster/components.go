package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Components, by the names of their binaries.
const (
	etcdName              = "etcd"
	apiserverName         = "kube-apiserver"
	controllerManagerName = "kube-controller-manager"
	schedulerName         = "kube-scheduler"
	kwokName              = "kwok"
	kubectlName           = "kubectl"
)

// startOrder is also the order of status. Components stop in reverse order.
var startOrder = []string{etcdName, apiserverName, controllerManagerName, schedulerName, kwokName}

// component is one part of the control plane.
type component struct {
	name    string
	command command
	args    []string
	// ready returns nil, or what the component waits for.
	ready func(ctx context.Context) error
}

// auditPolicy logs each request once when it ends. It also logs the start of a
// stream, because an open watch has no other entry. It omits health checks, because
// their number depends on the time.
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
			// Use sockets in a private folder. They cannot collide with a port, and
			// other users of this machine cannot bypass the API server.
			"--listen-client-urls=" + client, "--listen-peer-urls=" + peer,
			// The flag is required and cannot be a socket. A single member never
			// uses the address.
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
		// The endpoint of the Service "kubernetes" cannot be a loopback address:
		// publishing it would fail every ten seconds.
		"--endpoint-reconciler-type=none",
		"--audit-policy-file=" + c.path("audit-policy.yaml"),
		"--audit-log-path=" + c.auditLog(),
		// Each line is written before its request ends, and the file is never
		// rotated. So the number of lines is the number of requests. The size is a
		// terabyte, because 0 means 100 MB up to Kubernetes 1.35.
		"--audit-log-mode=blocking", "--audit-log-maxsize=1000000",
	}
	if !c.has(controllerManagerName) {
		// Without the controller manager there are no ServiceAccounts, and this
		// plugin rejects Pods without one.
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	return component{name: apiserverName, args: args, ready: func(ctx context.Context) error {
		return c.api.healthy(ctx, c.api.server+"/readyz")
	}}
}

func (c *cluster) controllerManager() component {
	args := []string{
		"--kubeconfig=" + c.userConfig("system:kube-controller-manager"),
		// Run each controller with its own ServiceAccount, as kubeadm does. So RBAC
		// applies to controllers, and the audit log shows which one sent a request.
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + c.ca.serviceAccountFile(),
		"--root-ca-file=" + c.ca.certFile(),
		"--cluster-signing-cert-file=" + c.ca.certFile(), "--cluster-signing-key-file=" + c.ca.keyFile(),
		"--leader-elect=false",
		// The default limits protect clusters with a thousand nodes. Here they
		// would distort measurements.
		"--kube-api-qps=2000", "--kube-api-burst=4000",
		// A machine that is suspended for a minute, such as a laptop or a virtual
		// machine, must not lose its nodes: kwok would never make their Pods ready
		// again.
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

// excludes reports whether --controllers disables a controller, so that nothing
// waits for its objects.
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

// serving returns the flags of a component that serves health and metrics.
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
			// There is no kubelet that could serve logs.
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

// nodeReady checks the conditions of a node that the scheduler reads.
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

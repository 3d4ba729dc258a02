package sim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// These functions do what the API server does to a Service: pkg/registry/core/service of Kubernetes.

// editService edits a canonical Service in Go's type.
func editService(u *unstructured.Unstructured, edit func(*corev1.Service)) {
	s := typed[corev1.Service](u)
	edit(s)
	object := untyped(s)
	u.Object["spec"] = object["spec"]
	u.Object["status"] = object["status"]
}

// allocateAddress gives a Service a cluster IP.
func (c *Cluster) allocateAddress(s *corev1.Service) {
	if !needsClusterIP(s) {
		return
	}
	if s.Spec.ClusterIP == "" {
		c.addresses++
		s.Spec.ClusterIP = fmt.Sprintf("10.96.%d.%d", c.addresses/250, c.addresses%250+1)
	}
	if len(s.Spec.ClusterIPs) == 0 {
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
	}
	families, policy := []corev1.IPFamily{corev1.IPv4Protocol}, corev1.IPFamilyPolicySingleStack
	if isHeadless(s) && len(s.Spec.Selector) == 0 {
		families, policy = append(families, corev1.IPv6Protocol), corev1.IPFamilyPolicyRequireDualStack
	}
	preset(&s.Spec.IPFamilyPolicy, policy)
	if len(s.Spec.IPFamilies) == 0 {
		s.Spec.IPFamilies = families
	}
}

// updateService keeps what is allocated and the update does not mention, and follows a change of the type.
func (c *Cluster) updateService(u, old *unstructured.Unstructured) {
	was := typed[corev1.Service](old)
	editService(u, func(now *corev1.Service) {
		keepAllocated(now, was)
		if !needsClusterIP(was) {
			c.allocateAddress(now)
		}
		dropTypeDependent(now, was)
	})
}

func needsClusterIP(s *corev1.Service) bool { return s.Spec.Type != corev1.ServiceTypeExternalName }

func needsNodePort(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeNodePort || s.Spec.Type == corev1.ServiceTypeLoadBalancer
}

func allocatesNodePorts(s *corev1.Service) bool {
	return needsNodePort(s) && (s.Spec.Type == corev1.ServiceTypeNodePort ||
		ptr.Deref(s.Spec.AllocateLoadBalancerNodePorts, true))
}

func needsHealthCheckPort(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer &&
		s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// externallyAccessible reports whether a Service can have an external traffic policy.
func externallyAccessible(s *corev1.Service) bool {
	return needsNodePort(s) || s.Spec.Type == corev1.ServiceTypeClusterIP && len(s.Spec.ExternalIPs) > 0
}

// nodePorts returns the node ports of a Service.
func nodePorts(s *corev1.Service) (all []int32) {
	for _, p := range s.Spec.Ports {
		if p.NodePort != 0 {
			all = append(all, p.NodePort)
		}
	}
	return all
}

// keepAllocated keeps addresses and ports that an update does not mention.
func keepAllocated(now, was *corev1.Service) {
	if needsClusterIP(was) && needsClusterIP(now) {
		if now.Spec.ClusterIP == "" {
			now.Spec.ClusterIP = was.Spec.ClusterIP
		}
		if len(now.Spec.ClusterIPs) == 0 {
			now.Spec.ClusterIPs = was.Spec.ClusterIPs
		}
	}
	if allocatesNodePorts(was) && allocatesNodePorts(now) {
		byName := map[string]int32{}
		for _, p := range was.Spec.Ports {
			byName[p.Name] = p.NodePort
		}
		given := nodePorts(now)
		for i := range now.Spec.Ports {
			p := &now.Spec.Ports[i]
			if before := byName[p.Name]; p.NodePort == 0 && !slices.Contains(given, before) {
				p.NodePort = before
			}
		}
	}
	if needsHealthCheckPort(was) && needsHealthCheckPort(now) && now.Spec.HealthCheckNodePort == 0 {
		now.Spec.HealthCheckNodePort = was.Spec.HealthCheckNodePort
	}
	switch {
	case was.Spec.ClusterIP == now.Spec.ClusterIP:
		if len(now.Spec.ClusterIPs) == 0 {
			now.Spec.ClusterIPs = was.Spec.ClusterIPs
		}
	case slices.Equal(was.Spec.ClusterIPs, now.Spec.ClusterIPs): // A client that knows clusterIP alone changed it.
		now.Spec.ClusterIPs = nil
		if now.Spec.ClusterIP != "" {
			now.Spec.ClusterIPs = []string{now.Spec.ClusterIP}
		}
	}
}

// dropTypeDependent clears what the new type of a Service does not have, unless the update changes it, too.
func dropTypeDependent(now, was *corev1.Service) {
	if needsClusterIP(was) && !needsClusterIP(now) {
		if now.Spec.ClusterIP == was.Spec.ClusterIP && slices.Equal(now.Spec.ClusterIPs, was.Spec.ClusterIPs) {
			now.Spec.ClusterIP, now.Spec.ClusterIPs = "", nil
		}
		drop(&now.Spec.IPFamilies, was.Spec.IPFamilies)
		drop(&now.Spec.IPFamilyPolicy, was.Spec.IPFamilyPolicy)
		drop(&now.Spec.InternalTrafficPolicy, was.Spec.InternalTrafficPolicy)
	}
	if needsNodePort(was) && !needsNodePort(now) {
		before := nodePorts(was)
		if !slices.ContainsFunc(nodePorts(now), func(p int32) bool { return !slices.Contains(before, p) }) {
			for i := range now.Spec.Ports {
				now.Spec.Ports[i].NodePort = 0
			}
		}
	}
	if needsHealthCheckPort(was) && !needsHealthCheckPort(now) {
		drop(&now.Spec.HealthCheckNodePort, was.Spec.HealthCheckNodePort)
	}
	if was.Spec.Type == corev1.ServiceTypeLoadBalancer && now.Spec.Type != corev1.ServiceTypeLoadBalancer {
		drop(&now.Spec.AllocateLoadBalancerNodePorts, was.Spec.AllocateLoadBalancerNodePorts)
		drop(&now.Spec.LoadBalancerClass, was.Spec.LoadBalancerClass)
	}
	if externallyAccessible(was) && !externallyAccessible(now) {
		drop(&now.Spec.ExternalTrafficPolicy, was.Spec.ExternalTrafficPolicy)
	}
	if now.Spec.Type != corev1.ServiceTypeLoadBalancer {
		now.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
}

// drop clears a field that has its old value.
func drop[T any](f *T, was T) {
	var none T
	if equality.Semantic.DeepEqual(*f, was) {
		*f = none
	}
}

func isHeadless(s *corev1.Service) bool {
	return slices.Equal(s.Spec.ClusterIPs, []string{corev1.ClusterIPNone})
}

func changedService(now, was *corev1.Service) (errs field.ErrorList) {
	spec := field.NewPath("spec")
	if needsClusterIP(now) && needsClusterIP(was) && !(isHeadless(now) && isHeadless(was)) {
		errs = append(errs, changedAddresses(now, was, spec)...)
	}
	if now.Spec.Type == corev1.ServiceTypeLoadBalancer && was.Spec.Type == corev1.ServiceTypeLoadBalancer &&
		!ptr.Equal(now.Spec.LoadBalancerClass, was.Spec.LoadBalancerClass) {
		errs = append(errs, field.Invalid(spec.Child("loadBalancerClass"), now.Spec.LoadBalancerClass,
			"may not change once set"))
	}
	if needsHealthCheckPort(now) && needsHealthCheckPort(was) &&
		now.Spec.HealthCheckNodePort != was.Spec.HealthCheckNodePort {
		errs = append(errs, field.Forbidden(spec.Child("healthCheckNodePort"), cannotChange))
	}
	return errs
}

func changedAddresses(now, was *corev1.Service, spec *field.Path) (errs field.ErrorList) {
	for i, ip := range was.Spec.ClusterIPs {
		switch {
		case i >= len(now.Spec.ClusterIPs) && i == 0:
			errs = append(errs, field.Invalid(spec.Child("clusterIPs").Index(0), now.Spec.ClusterIPs,
				"primary clusterIP can not be unset"))
		case i >= len(now.Spec.ClusterIPs):
			if ptr.Deref(now.Spec.IPFamilyPolicy, "") != corev1.IPFamilyPolicySingleStack {
				errs = append(errs, field.Invalid(spec.Child("ipFamilyPolicy"), now.Spec.IPFamilyPolicy,
					"must be set to 'SingleStack' when releasing the secondary clusterIP"))
			}
		case ip != now.Spec.ClusterIPs[i]:
			errs = append(errs, field.Invalid(spec.Child("clusterIPs").Index(i), now.Spec.ClusterIPs, "may not change once set"))
		}
	}
	return errs
}

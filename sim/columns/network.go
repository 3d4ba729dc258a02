package columns

import (
	"cmp"
	"fmt"
	"net"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	externalIPs = cell{"The addresses outside of the cluster.", func(r *row) any {
		addresses := r.texts("spec.externalIPs")
		switch r.text("spec.type") {
		case "ExternalName":
			return r.text("spec.externalName")
		case "LoadBalancer":
			return cmp.Or(strings.Join(append(balancers(r), addresses...), ","), "<pending>")
		case "ClusterIP", "NodePort":
			return cmp.Or(strings.Join(addresses, ","), none)
		}
		return unknown
	}}
	servicePorts = made("spec.ports", none, func(r *row, _ any) any {
		var ports []string
		for _, port := range r.maps("spec.ports") {
			text := fmt.Sprint(port["port"])
			if node := port["nodePort"]; node != nil {
				text += fmt.Sprintf(":%v", node)
			}
			ports = append(ports, fmt.Sprintf("%s/%v", text, port["protocol"]))
		}
		return strings.Join(ports, ",")
	})
	endpoints = made("subsets", none, func(r *row, _ any) any {
		var all []string
		for _, subset := range r.maps("subsets") {
			addresses, ports := valuesAt(subset, "addresses", "ip"), valuesAt(subset, "ports", "port")
			for _, port := range ports {
				for _, address := range addresses {
					all = append(all, net.JoinHostPort(fmt.Sprint(address), fmt.Sprint(port)))
				}
			}
			if len(ports) == 0 {
				all = append(all, texts(addresses)...)
			}
		}
		return firstOf(3, all, ",")
	})
	sliceAddresses = made("endpoints.addresses", unset, func(r *row, _ any) any {
		return firstOf(3, r.texts("endpoints.addresses"), ",")
	})
	slicePorts = made("ports", unset, func(r *row, _ any) any {
		var all []string
		for _, port := range r.maps("ports") {
			switch {
			case port["port"] != nil:
				all = append(all, fmt.Sprint(port["port"]))
			case port["name"] != nil:
				all = append(all, fmt.Sprint(port["name"]))
			default:
				all = append(all, "*")
			}
		}
		return firstOf(3, all, ",")
	})
)

// balancers returns the addresses that load balancers have given.
func balancers(r *row) (addresses []string) {
	for _, ingress := range r.maps("status.loadBalancer.ingress") {
		ip, _ := ingress["ip"].(string)
		host, _ := ingress["hostname"].(string)
		if address := cmp.Or(ip, host); address != "" {
			addresses = append(addresses, address)
		}
	}
	return distinct(addresses)
}

var (
	// After three hosts, all other rules count as more, with or without a host.
	ingressHosts = cell{"The hosts of the rules.", func(r *row) any {
		const most = 3
		var hosts []string
		rules := r.maps("spec.rules")
		for _, rule := range rules {
			if len(hosts) == most {
				return fmt.Sprintf("%s + %d more...", strings.Join(hosts, ","), len(rules)-most)
			}
			if host, _ := rule["host"].(string); host != "" {
				hosts = append(hosts, host)
			}
		}
		return cmp.Or(strings.Join(hosts, ","), "*")
	}}
	ingressAddresses = cell{"The addresses of load balancers.", func(r *row) any {
		return strings.Join(balancers(r), ",")
	}}
	ingressPorts     = made("spec.tls", "80", func(*row, any) any { return "80, 443" })
	ingressClassName = cell{"The name, and whether it is the default.", func(r *row) any {
		if r.GetAnnotations()[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
			return r.GetName() + " (default)"
		}
		return r.GetName()
	}}
	ingressParameters = made("spec.parameters", none, func(r *row, _ any) any {
		kind := r.text("spec.parameters.kind")
		if group := r.value("spec.parameters.apiGroup"); group != nil {
			kind += fmt.Sprintf(".%s", group)
		}
		return kind + "/" + r.text("spec.parameters.name")
	})
	addressParent = made("spec.parentRef", none, func(r *row, _ any) any {
		gr := schema.GroupResource{Group: r.text("spec.parentRef.group"), Resource: r.text("spec.parentRef.resource")}
		parent := strings.ToLower(gr.String())
		if namespace := r.text("spec.parentRef.namespace"); namespace != "" {
			parent += "/" + namespace
		}
		return parent + "/" + r.text("spec.parentRef.name")
	})
)

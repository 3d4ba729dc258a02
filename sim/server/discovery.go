package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"

	"reconcel/rules/schema"
)

// shortNames are those of built-in resources. The schemas do not have them.
var shortNames = map[string]string{
	"componentstatuses": "cs", "configmaps": "cm", "endpoints": "ep", "events": "ev", "limitranges": "limits",
	"namespaces": "ns", "nodes": "no", "persistentvolumeclaims": "pvc", "persistentvolumes": "pv", "pods": "po",
	"replicationcontrollers": "rc", "resourcequotas": "quota", "serviceaccounts": "sa", "services": "svc",
	"customresourcedefinitions": "crd crds", "daemonsets": "ds", "deployments": "deploy", "replicasets": "rs",
	"statefulsets": "sts", "horizontalpodautoscalers": "hpa", "cronjobs": "cj", "certificatesigningrequests": "csr",
	"ingresses": "ing", "networkpolicies": "netpol", "poddisruptionbudgets": "pdb", "priorityclasses": "pc",
	"storageclasses": "sc", "ipaddresses": "ip", "volumeattributesclasses": "vac",
}

// inAll are the built-in resources that `kubectl get all` gets, and inExtensions those of api-extensions.
const (
	inAll = "pods replicationcontrollers services daemonsets deployments replicasets statefulsets " +
		"horizontalpodautoscalers cronjobs jobs"
	inExtensions = "customresourcedefinitions apiservices mutatingadmissionpolicies mutatingadmissionpolicybindings " +
		"mutatingwebhookconfigurations validatingadmissionpolicies validatingadmissionpolicybindings " +
		"validatingwebhookconfigurations"
)

// served returns the versions of each group, the preferred one first.
func (s *Server) served() map[string][]string {
	groups := map[string][]string{}
	for _, k := range s.Cluster.Kinds().All() {
		if !slices.Contains(groups[k.GVK.Group], k.GVK.Version) {
			groups[k.GVK.Group] = append(groups[k.GVK.Group], k.GVK.Version)
		}
	}
	for _, review := range reviews {
		groups[review.group] = []string{"v1"}
	}
	for _, versions := range groups {
		slices.SortFunc(versions, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
	}
	return groups
}

func (s *Server) serveVersions(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"},
		Versions: s.served()[""],
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0",
			ServerAddress: r.Host}}})
}

func (s *Server) serveGroups(w http.ResponseWriter, _ *http.Request) {
	groups := s.served()
	delete(groups, "")
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		list.Groups = append(list.Groups, groupOf(name, groups[name]))
	}
	writeJSON(w, http.StatusOK, list)
}

func groupOf(name string, versions []string) metav1.APIGroup {
	g := metav1.APIGroup{Name: name}
	for _, v := range versions {
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
	}
	g.PreferredVersion = g.Versions[0]
	return g
}

// serveResources serves the discovery of a group or of one of its versions.
func (s *Server) serveResources(w http.ResponseWriter, r *http.Request, at path) {
	versions := s.served()[at.Group]
	switch {
	case at.Version == "" && at.Group != "" && len(versions) > 0:
		g := groupOf(at.Group, versions)
		g.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
		writeJSON(w, http.StatusOK, g)
		return
	case !slices.Contains(versions, at.Version):
		http.NotFound(w, r)
		return
	}
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: at.GroupVersion.String()}
	for _, k := range s.Cluster.Kinds().All() {
		if k.GVK.GroupVersion() == at.GroupVersion {
			list.APIResources = append(list.APIResources, s.resources(k)...)
		}
	}
	for name, review := range reviews {
		if review.group == at.Group && at.Version == "v1" {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Kind: review.kind,
				SingularName: strings.ToLower(review.kind), Namespaced: review.namespaced, Verbs: metav1.Verbs{"create"}})
		}
	}
	slices.SortFunc(list.APIResources, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	writeJSON(w, http.StatusOK, list)
}

// resources returns the resource of a kind and its subresources.
func (s *Server) resources(k *schema.Kind) []metav1.APIResource {
	main := metav1.APIResource{Name: k.Resource, SingularName: strings.ToLower(k.GVK.Kind), Namespaced: k.Namespaced,
		Kind:  k.GVK.Kind,
		Verbs: metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}}
	switch {
	case k.Custom:
		main.Verbs = metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
		if definition := s.Cluster.Find(definitions, "", k.Resource+"."+k.GVK.Group); definition != nil {
			if name, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "singular"); name != "" {
				main.SingularName = name
			}
			main.ShortNames, _, _ = unstructured.NestedStringSlice(definition.Object, "spec", "names", "shortNames")
			main.Categories, _, _ = unstructured.NestedStringSlice(definition.Object, "spec", "names", "categories")
			if definition.GetDeletionTimestamp() != nil {
				main.Verbs = metav1.Verbs{"delete", "deletecollection", "get", "list", "watch"}
			}
		}
	case k.Resource == "namespaces":
		main.Verbs = slices.DeleteFunc(main.Verbs, func(verb string) bool { return verb == "deletecollection" })
	case k.Resource == "componentstatuses":
		main.Verbs = metav1.Verbs{"get", "list"}
	}
	if !k.Custom {
		main.ShortNames = strings.Fields(shortNames[k.Resource])
		for category, names := range map[string]string{"all": inAll, "api-extensions": inExtensions} {
			if slices.Contains(strings.Fields(names), k.Resource) {
				main.Categories = append(main.Categories, category)
			}
		}
	}
	all := []metav1.APIResource{main}
	part := metav1.APIResource{Namespaced: k.Namespaced, Kind: k.GVK.Kind, Verbs: metav1.Verbs{"get", "patch", "update"}}
	if k.Status {
		part.Name = k.Resource + "/status"
		all = append(all, part)
	}
	if k.Scale {
		part.Name, part.Group, part.Version, part.Kind = k.Resource+"/scale", "autoscaling", "v1", "Scale"
		all = append(all, part)
	}
	return all
}

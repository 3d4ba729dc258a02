//go:build integration

package examples

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// account is the ServiceAccount that the process runs as, with the roles that reconcel
// rbac prints for the rules.
type account struct {
	user       string // in the API server's notation
	config     *rest.Config
	kubeconfig string
	granted    []access
}

// access is a verb on a resource, as in an entry of a role.
type access struct{ verb, group, resource string }

func (a access) String() string { return strings.TrimSpace(a.verb + " " + a.resource + " " + a.group) }

// newAccount creates an account that has the unique name of the test's namespace.
// ClusterRoles must not collide with those of another test.
func (w *world) newAccount() *account {
	w.Helper()
	a := &account{user: "system:serviceaccount:" + w.Namespace + ":" + w.Namespace}
	for _, u := range w.parse(fmt.Sprintf("{apiVersion: v1, kind: ServiceAccount, metadata: {name: %[1]s, namespace: %[1]s}}", w.Namespace)) {
		w.create(u)
	}
	for _, u := range w.roles() {
		withhold(u, w.withheld)
		w.create(u)
		if w.isDeputys(u) {
			w.deputy.granted = append(w.deputy.granted, accesses(u)...)
			continue
		}
		a.granted = append(a.granted, accesses(u)...)
	}
	w.admitDeputy()
	a.config = &rest.Config{Host: w.Cluster.Config().Host, BearerToken: w.token(), QPS: -1}
	a.config.TLSClientConfig.CAData, a.config.TLSClientConfig.CAFile = w.Cluster.Config().CAData, w.Cluster.Config().CAFile
	a.kubeconfig = w.writeKubeconfig(a.config)
	for _, one := range []*account{a, w.deputy} {
		for _, need := range one.granted {
			w.await(one, need)
		}
	}
	return a
}

// roles returns the roles that reconcel rbac prints for the rules of the example.
func (w *world) roles() []*unstructured.Unstructured {
	w.Helper()
	args := []string{"rbac", "--crd", "../../crds", "--namespace", w.Namespace, "--name", w.Namespace}
	args = append(args, w.followed()...)
	for _, file := range w.files {
		args = append(args, "--rules", file)
	}
	cmd := exec.Command(w.binary, args...)
	cmd.Env = e2e.Environment()
	out, err := cmd.Output()
	if err != nil {
		w.Fatalf("reconcel %v: %v", args, err)
	}
	return w.parse(string(out))
}

// withhold removes one access from a role.
func withhold(role *unstructured.Unstructured, a access) {
	rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
	var rest []any
	for _, r := range rules {
		entry := r.(map[string]any)
		for _, resource := range entry["resources"].([]any) {
			one := maps.Clone(entry)
			one["resources"] = []any{resource}
			one["verbs"] = slices.DeleteFunc(slices.Clone(entry["verbs"].([]any)), func(verb any) bool {
				return a == access{verb.(string), entry["apiGroups"].([]any)[0].(string), resource.(string)}
			})
			if len(one["verbs"].([]any)) > 0 {
				rest = append(rest, one)
			}
		}
	}
	if len(rules) > 0 {
		role.Object["rules"] = rest
	}
}

// accesses lists the permissions of a role, and none for other objects.
func accesses(role *unstructured.Unstructured) (all []access) {
	rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
	for _, r := range rules {
		entry := &unstructured.Unstructured{Object: r.(map[string]any)}
		groups, _, _ := unstructured.NestedStringSlice(entry.Object, "apiGroups")
		resources, _, _ := unstructured.NestedStringSlice(entry.Object, "resources")
		verbs, _, _ := unstructured.NestedStringSlice(entry.Object, "verbs")
		for _, resource := range resources {
			for _, verb := range verbs {
				all = append(all, access{verb, groups[0], resource})
			}
		}
	}
	return all
}

func (w *world) token() string {
	w.Helper()
	request := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": map[string]any{"name": w.Namespace},
	}}
	accounts := w.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Namespace(w.Namespace)
	made, err := accounts.Create(w.Context(), request, metav1.CreateOptions{}, "token")
	if err != nil {
		w.Fatal(err)
	}
	token, _, _ := unstructured.NestedString(made.Object, "status", "token")
	return token
}

func (w *world) writeKubeconfig(config *rest.Config) string {
	w.Helper()
	path := filepath.Join(w.TempDir(), w.Namespace)
	err := clientcmd.WriteToFile(api.Config{
		Clusters:  map[string]*api.Cluster{"": {Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}},
		AuthInfos: map[string]*api.AuthInfo{"": {Token: config.BearerToken}}, Contexts: map[string]*api.Context{"": {}},
	}, path)
	if err != nil {
		w.Fatal(err)
	}
	return path
}

// await waits until the API server grants the account an access: changed roles take
// effect with a delay.
func (w *world) await(a *account, need access) {
	w.Helper()
	w.eventually(a.user+" to be allowed to "+need.String(), func() error {
		if !w.allowed(a, need) {
			return errors.New("it is not")
		}
		return nil
	})
}

// allowed asks the API server whether the account has an access.
func (w *world) allowed(a *account, need access) bool {
	w.Helper()
	resource, subresource, _ := strings.Cut(need.resource, "/")
	attributes := map[string]any{"verb": need.verb, "group": need.group, "resource": resource, "subresource": subresource, "namespace": w.Namespace}
	switch need.resource { // Some permissions cover only objects of one name.
	case "configmaps":
		attributes["name"] = w.Namespace + "-inventory"
		if need.verb == "patch" || need.verb == "delete" {
			attributes["name"] = w.Namespace + "-bundle-fan-in"
		}
	case "leases":
		attributes["name"] = w.Namespace
	case "clusterroles", "roles":
		attributes["name"] = w.Namespace + "-cleanup"
	case "serviceaccounts":
		if need.verb == "impersonate" {
			attributes["name"] = deputyName
		}
	}
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
		"spec": map[string]any{"user": a.user, "resourceAttributes": attributes},
	}}
	answer, err := w.Resource(review.GroupVersionKind()).Create(w.Context(), review, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed
}

// plainLists makes a process list objects as older API servers require. With newer ones,
// client-go streams lists through a watch.
const plainLists = "KUBE_FEATURE_WatchListClient=false"

// followsOtherRules starts the process with the rules under other names, which changes
// its inventory. It also uses leader election.
func (w *world) followsOtherRules() {
	w.Helper()
	w.environment = []string{plainLists, "RECONCEL_LEADER_ELECT=true"}
	w.startWith("rules:\n- name: ", "rules:\n- name: other-")
	w.environment = nil
}

// mayDoWhatItNeeds checks that no request of the account was forbidden, and that the
// account used all its permissions.
func (w *world) mayDoWhatItNeeds() {
	w.Helper()
	if w.Cluster.Borrowed() {
		w.Log("a borrowed cluster has no audit log: what was allowed and forbidden is not looked at")
		return
	}
	w.FlushAudit()
	if refused := w.refused(); len(refused) > 0 {
		w.Errorf("%d requests were forbidden: %v", len(refused), devcluster.Tally(refused))
	}
	for _, a := range slices.Concat(w.unused(w.account), w.unused(w.deputy)) {
		if !w.mayBeUnused(a) {
			w.Errorf("it was allowed to %s, and never did", a)
		}
	}
}

// mayBeUnused reports whether the tests need not use an access.
func (w *world) mayBeUnused(a access) bool {
	kept := a.verb == "delete" && slices.Contains(w.kept, a.resource)
	repeated := a == access{"patch", "events.k8s.io", "events"} // A repeated Event.
	patched := a.verb == "get" && slices.Contains(w.patched, a.resource)
	// The permissions to clean up after rules for the cluster.
	bundles := a == access{"update", "rbac.authorization.k8s.io", "roles"} && !w.namespaced && w.name != "fan-in"
	return kept || repeated || patched || bundles
}

// refused returns the forbidden requests of the account.
func (w *world) refused() []devcluster.Request {
	w.Helper()
	return w.asked(func(r devcluster.Request) bool {
		// A quota or a terminating namespace also causes a 403.
		byAdmission := strings.Contains(r.Message, "exceeded quota") || strings.Contains(r.Message, "is being terminated")
		return r.Code == 403 && !byAdmission
	})
}

func (w *world) asked(match func(devcluster.Request) bool) []devcluster.Request {
	w.Helper()
	found, err := w.Cluster.Requests(func(r devcluster.Request) bool { return r.User == w.account.user && match(r) })
	if err != nil {
		w.Fatal(err)
	}
	return found
}

// unused returns the permissions that an account has not used. The process uses its own
// account, and acts as the deputy through impersonation.
func (w *world) unused(by *account) []access {
	w.Helper()
	used := map[access]bool{}
	for _, r := range w.asked(func(r devcluster.Request) bool { return r.Resource != "" }) {
		if r.As != "" {
			used[access{"impersonate", "", "serviceaccounts"}] = true
		}
		if (r.As != "" || by == w.deputy) && r.As != by.user {
			continue
		}
		resource := r.Resource
		if r.Subresource != "" {
			resource += "/" + r.Subresource
		}
		used[access{r.Verb, r.Group, resource}] = true
		if r.Verb == "patch" && r.Code == 201 {
			used[access{"create", r.Group, resource}] = true // An apply that created an object.
		}
	}
	return slices.DeleteFunc(slices.Clone(by.granted), func(a access) bool { return used[a] })
}

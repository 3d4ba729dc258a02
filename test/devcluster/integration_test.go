//go:build integration

package devcluster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"reconcel/test/devcluster"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestDeploymentBecomesAvailable(t *testing.T) {
	client, namespace := newNamespace(t, devcluster.Shared(t))
	labels := map[string]string{"app": "web"}
	replicas := int32(3)
	_, err := client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	devcluster.Eventually(t, func() error {
		got, err := client.AppsV1().Deployments(namespace).Get(t.Context(), "web", metav1.GetOptions{})
		if err == nil && got.Status.AvailableReplicas != replicas {
			err = fmt.Errorf("%d of %d Pods are available", got.Status.AvailableReplicas, replicas)
		}
		return err
	})
}

func TestOwnedObjectGoesWithItsOwner(t *testing.T) {
	client, namespace := newNamespace(t, devcluster.Shared(t))
	owner := createConfigMap(t, client, namespace, "owner")
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}}
	if _, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), owned, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().ConfigMaps(namespace).Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	devcluster.Eventually(t, func() error {
		_, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), "owned", metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		default:
			return errors.New("the owned ConfigMap is still there")
		}
	})
}

func TestAuditLogTellsUsersApart(t *testing.T) {
	cluster := devcluster.Shared(t)
	if cluster.Borrowed() {
		t.Skip("a borrowed cluster has no audit log")
	}
	client, namespace := newNamespace(t, cluster)
	controller := kubernetes.NewForConfigOrDie(cluster.UserConfig(t, "reconcel"))
	from := time.Now()
	for i := range 20 {
		createConfigMap(t, controller, namespace, fmt.Sprintf("controller-%d", i))
	}
	to := time.Now()
	for i := range 3 {
		createConfigMap(t, controller, namespace, fmt.Sprintf("later-%d", i))
		createConfigMap(t, client, namespace, fmt.Sprintf("driver-%d", i))
	}
	count := func(match func(devcluster.Request) bool) int {
		requests, err := cluster.Requests(func(r devcluster.Request) bool {
			return r.Namespace == namespace && r.Resource == "configmaps" && r.IsWrite() && match(r)
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(requests)
	}
	devcluster.Eventually(t, func() error {
		early := count(func(r devcluster.Request) bool { return r.User == "reconcel" && r.Between(from, to) })
		late := count(func(r devcluster.Request) bool { return r.User == "reconcel" && !r.Received.Before(to) })
		// Another user writes the default ConfigMap of a namespace.
		driver := count(func(r devcluster.Request) bool { return r.User == "admin" && r.Code == 201 })
		if early != 20 || late != 3 || driver != 3 {
			return fmt.Errorf("the log has %d and %d writes of the controller and %d of the driver, want 20, 3 and 3", early, late, driver)
		}
		return nil
	})
}

func TestUsersHaveTheRightsOfTheirGroups(t *testing.T) {
	cluster := devcluster.Start(t, devcluster.Options{Users: []string{"nobody:some-team"}, Without: []string{devcluster.Kwok}})
	if cluster.Borrowed() {
		t.Skip("a borrowed cluster has no users")
	}
	nobody := kubernetes.NewForConfigOrDie(cluster.UserConfig(t, "nobody"))
	_, err := nobody.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a user without a role may list Secrets: got %v, want forbidden", err)
	}
	status, err := cluster.Status()
	if err != nil || strings.Contains(status, devcluster.Kwok) {
		t.Errorf("kwok was to be left out: %v\n%s", err, status)
	}
}

func TestRestartKeepsData(t *testing.T) {
	cluster := ownCluster(t)
	client, namespace := newNamespace(t, cluster)
	for _, component := range []string{devcluster.APIServer, devcluster.Etcd} {
		t.Run(component, func(t *testing.T) {
			name := "before-" + component
			want := createConfigMap(t, client, namespace, name)
			if err := cluster.Restart(component); err != nil {
				t.Fatal(err)
			}
			got, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got.UID != want.UID {
				t.Errorf("the object came back as another one: UID %s, was %s", got.UID, want.UID)
			}
		})
	}
}

func TestPausedAPIServerAnswersAfterResume(t *testing.T) {
	cluster := ownCluster(t)
	client := kubernetes.NewForConfigOrDie(withTimeout(cluster.Config(), time.Second))
	if err := cluster.Pause(devcluster.APIServer); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Discovery().ServerVersion(); err == nil {
		t.Error("a paused API server answered")
	}
	if err := cluster.Resume(devcluster.APIServer); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Discovery().ServerVersion(); err != nil {
		t.Errorf("after resume: %v", err)
	}
}

func TestBorrowedCluster(t *testing.T) {
	shared := devcluster.Shared(t)
	t.Setenv("DEVCLUSTER_KUBECONFIG", shared.Kubeconfig())
	t.Setenv("KUBECONFIG", "/nonexistent")
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../../crds"})
	if !cluster.Borrowed() || cluster.Kubeconfig() != shared.Kubeconfig() {
		t.Fatalf("got an own cluster, with kubeconfig %s", cluster.Kubeconfig())
	}
	out, err := cluster.Kubectl("get", "namespaces", "--output=name")
	if err != nil || !strings.Contains(out, "namespace/default") {
		t.Errorf("kubectl: %v\n%s", err, out)
	}
	if out, err := cluster.Kubectl("get", "foos"); err != nil {
		t.Errorf("its CRDs: %v\n%s", err, out)
	}
	if err := cluster.Stop(devcluster.Etcd); !errors.Is(err, devcluster.ErrBorrowed) {
		t.Errorf("stop: got %v, want a refusal", err)
	}
}

// ownCluster is the shared cluster for a test that may break it: tests of one package run
// one after the other.
func ownCluster(t *testing.T) *devcluster.Cluster {
	t.Helper()
	cluster := devcluster.Shared(t)
	if cluster.Borrowed() {
		t.Skip("a borrowed cluster is not ours to break")
	}
	return cluster
}

func newNamespace(t *testing.T, cluster *devcluster.Cluster) (client kubernetes.Interface, name string) {
	t.Helper()
	client = kubernetes.NewForConfigOrDie(cluster.Config())
	created, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	devcluster.Eventually(t, func() error {
		_, err := client.CoreV1().ServiceAccounts(created.Name).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	return client, created.Name
}

func createConfigMap(t *testing.T, client kubernetes.Interface, namespace, name string) *corev1.ConfigMap {
	t.Helper()
	created, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func withTimeout(config *rest.Config, timeout time.Duration) *rest.Config {
	config.Timeout = timeout
	return config
}

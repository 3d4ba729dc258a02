//go:build integration

package examples

import (
	"errors"
	"fmt"
)

// bluegreenStory starts a version whose Pods cannot run: the Service must stay where it is.
func bluegreenStory(w *world) {
	const v1alpha1 = "platform.example.com/v1alpha1"
	shop := w.primary("BlueGreenDeployment", "shop")
	old := w.exists("apps/v1", "ReplicaSet", "shop-2174135228aaff1a")
	serves := func(version string) {
		w.Helper()
		w.shows("v1", "Service", "shop", "spec.selector.version", version)
	}
	w.patch(shop, `{"spec":{"template":{"spec":{"nodeSelector":{"nowhere":"yes"}}}}}`)
	w.reports(v1alpha1, "BlueGreenDeployment", "shop", "Switched", "False", "Starting")
	w.eventually("both versions to be there", func() error { return w.counted([]children{{"ReplicaSet", 2, nil}}) })
	w.whileDown(func() {})
	w.settled()
	serves("2174135228aaff1a")
	w.patch(shop, `{"spec":{"replicas":2}}`)
	w.shows("apps/v1", "ReplicaSet", "shop-2174135228aaff1a", "status.availableReplicas", "2")
	w.same(old)

	w.whileDown(func() {
		w.patch(shop, `{"spec":{"template":{"spec":{"nodeSelector":null,"terminationGracePeriodSeconds":5}}}}`)
	})
	w.gone("apps/v1", "ReplicaSet", "shop-2174135228aaff1a")
	w.agree()
	w.eventually("the Service to lead to Pods that run", func() error {
		slices := w.found("discovery.k8s.io/v1", "EndpointSlice", "kubernetes.io/service-name=shop")
		if len(slices) != 1 || field(&slices[0], "endpoints.1.conditions.ready") != true {
			return fmt.Errorf("it leads to %v", slices)
		}
		return nil
	})
}

// databaseStory changes the password: the server learns it first.
func databaseStory(w *world) {
	user := w.primary("DatabaseUser", "orders")
	beside := w.at("databases") + "/" + w.Namespace + "-orders"
	before := w.exists("v1", "Secret", "orders-connection")
	login := w.exists("batch/v1", "Job", beside)
	w.whileDown(func() {
		w.patch(w.exists("v1", "Secret", beside), `{"metadata":{"annotations":{"reconcel.dev/rotate":"1"}}}`)
	})
	w.eventually("the user to have another password", func() error {
		if field(w.get("v1", "Secret", "orders-connection"), "data.password") == field(before, "data.password") {
			return errors.New("it is the same")
		}
		return nil
	})
	if again := w.exists("batch/v1", "Job", beside); again.GetUID() == login.GetUID() || condition(again, "Complete") != nil {
		w.Errorf("the server does not know the password: %v", field(again, "status"))
	}
	w.agree()

	w.patch(w.primary("DatabaseServer", "main"), `{"spec":{"users":["elsewhere"]}}`)
	w.reports("platform.example.com/v1alpha1", "DatabaseUser", user.GetName(), "Stalled", "True", "NotAllowed")
	w.patch(w.primary("DatabaseServer", "main"), `{"spec":{"users":["*"]}}`)
	w.agree()
}

//go:build integration

package examples

import "fmt"

const platform = "platform.example.com/"

// asleep is the merge patch that lets a Deployment sleep, or wakes it up.
func asleep(value string) string {
	return `{"metadata":{"annotations":{"` + platform + `asleep":"` + value + `"}}}`
}

// sleepsAsAsked returns an error until the Deployment sleeps and remembers its replicas, or neither.
func sleepsAsAsked(w *world) error {
	live, err := w.live(w.primary("Deployment", "web"))
	if err != nil {
		return err
	}
	all, replicas := live.GetAnnotations(), field(live, "spec.replicas")
	sleeps, remembers := all[platform+"asleep"] == "true", all[platform+"replicas-before"] != ""
	if sleeps != remembers || sleeps != (fmt.Sprint(replicas) == "0") {
		return fmt.Errorf("%s has %v replicas and the annotations %v", describe(live), replicas, all)
	}
	return nil
}

// replicasAre returns a check that the Deployment has this number of replicas.
func replicasAre(want int) func(*world) error {
	return func(w *world) error {
		live, err := w.live(w.primary("Deployment", "web"))
		if err == nil && fmt.Sprint(field(live, "spec.replicas")) != fmt.Sprint(want) {
			return fmt.Errorf("%s has %v replicas, want %d", describe(live), field(live, "spec.replicas"), want)
		}
		return err
	}
}

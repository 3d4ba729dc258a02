package main

import (
	"encoding/json"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/sample-controller/pkg/apis/samplecontroller/v1alpha1"
)

func example() *v1alpha1.Foo {
	replicas := int32(2)
	return &v1alpha1.Foo{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "1"},
		Spec:       v1alpha1.FooSpec{DeploymentName: "web", Replicas: &replicas},
	}
}

// live is a Deployment as the server returns it: with defaults and with other labels.
func live() *appsv1.Deployment {
	d := newDeployment(example())
	d.ResourceVersion = "7"
	d.Labels = map[string]string{"app": "nginx", "controller": "web", "team": "a"}
	limit := int32(10)
	d.Spec.RevisionHistoryLimit = &limit
	d.Spec.Template.Spec.Containers[0].ImagePullPolicy = "Always"
	return d
}

func TestDefaultsOfTheServerAreNoDifference(t *testing.T) {
	if !matches(live(), newDeployment(example())) {
		t.Error("a Deployment with defaults does not match")
	}
}

func TestAppliedConfigurationIsTheDeployment(t *testing.T) {
	want := newDeployment(example())
	text, err := json.Marshal(configurationOf(want))
	if err != nil {
		t.Fatal(err)
	}
	got := &appsv1.Deployment{}
	if err := json.Unmarshal(text, got); err != nil {
		t.Fatal(err)
	}
	got.TypeMeta = want.TypeMeta
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDriftIsRepaired(t *testing.T) {
	changes := map[string]func(*appsv1.Deployment){
		"replicas": func(d *appsv1.Deployment) { other := int32(5); d.Spec.Replicas = &other },
		"image":    func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "other" },
		"label":    func(d *appsv1.Deployment) { d.Labels = map[string]string{"team": "a"} },
		"labels":   func(d *appsv1.Deployment) { d.Labels = nil },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			drifted, desired := live(), newDeployment(example())
			change(drifted)
			if matches(drifted, desired) {
				t.Fatal("the drift is not seen")
			}
			team := drifted.Labels["team"]
			repaired := corrected(drifted, desired)
			if !matches(repaired, desired) {
				t.Error("the corrected Deployment does not match")
			}
			if repaired.ResourceVersion != "7" || repaired.Labels["team"] != team {
				t.Errorf("the resourceVersion or a label of others is lost: %v", repaired.ObjectMeta)
			}
		})
	}
}

package stories

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// conditionRules give each Foo a condition for each zone that a ConfigMap names. Another
// rule does the same for zones of another ConfigMap. NAMESPACE stands for the namespace of the story.
const conditionRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: zones-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  lookups:
  - {id: zones, apiVersion: v1, kind: ConfigMap, name: zones}
  conditions:
  - type: Known
    when: exists(zones)
    message: ${self.spec.deploymentName}
  - forEach:
      zone: zones.data.zones.split(",").filter(z, z != "" && size(z) <= int(zones.data.?longest.orValue("10")))
    type: Zone-${zone.split("=")[0]}
    when: int(zone.split("=")[1]) > 0
    message: weight ${zone.split("=")[1]}
- name: more-zones-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  lookups:
  - {id: more, apiVersion: v1, kind: ConfigMap, name: more}
  conditions:
  - forEach: {zone: 'more.data.zones.split(",").filter(z, z != "")'}
    type: Zone-${zone}
    when: true
`

// tellConditions tells how conditions follow the elements of a list: only a list that is
// known removes them.
func tellConditions(s *Stage) {
	s.Helper()
	foos, configs := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos"), s.resource("", "v1", "configmaps")
	create := func(name string, data map[string]any) {
		s.Helper()
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": name}, "data": data}}
		if _, err := configs.Create(s.Context, o, metav1.CreateOptions{}); err != nil {
			s.Fatal(err)
		}
	}
	remove := func(name string) {
		s.Helper()
		if err := configs.Delete(s.Context, name, metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
	}
	set := func(name string, data map[string]any) {
		s.Helper()
		body, err := json.Marshal(map[string]any{"data": data})
		if err != nil {
			s.Fatal(err)
		}
		if _, err := configs.Patch(s.Context, name, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
			s.Fatal(err)
		}
	}
	// rename changes the Foo, and what Known says.
	rename := func(name string) {
		s.Helper()
		body := fmt.Sprintf(`{"spec":{"deploymentName":%q}}`, name)
		if _, err := foos.Patch(s.Context, "foo", types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
			s.Fatal(err)
		}
	}
	// claims has another writer set these conditions, and no others.
	claims := func(conditions string) {
		s.Helper()
		body := `{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo","metadata":{"name":"foo"},"status":{"conditions":[` + conditions + `]}}`
		if _, err := foos.Patch(s.Context, "foo", types.ApplyPatchType, []byte(body),
			metav1.PatchOptions{FieldManager: "someone"}, "status"); err != nil {
			s.Fatal(err)
		}
	}
	// becomes waits until the Foo has exactly these conditions.
	becomes := func(what string, want ...string) {
		s.Helper()
		slices.Sort(want)
		s.Eventually(what, func() error {
			foo, err := foos.Get(s.Context, "foo", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got := shownConditions(foo); !slices.Equal(got, want) {
				return fmt.Errorf("the conditions are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			return nil
		})
	}
	const (
		theirs = "Zone-theirs True Theirs"
		aIsUp  = "Zone-a True Zone_a weight 1"
		cIsUp  = "Zone-c True Zone_c weight 2"
		dIsUp  = "Zone-d True Zone_d weight 1"
	)
	create("more", map[string]any{"zones": ""})
	_, err := foos.Create(s.Context, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": map[string]any{"name": "foo"},
		"spec": map[string]any{"deploymentName": "one", "replicas": int64(1)},
	}}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	becomes("no zones while they are unknown", "Ready True", "Known False NotKnown one")
	claims(`{"type":"Zone-theirs","status":"True","reason":"Theirs","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}`)
	create("zones", map[string]any{"zones": "a=1,b=0,c=x"})
	becomes("three zones, and one fails", "Ready False", "Stalled True", "Known True Known one", theirs,
		aIsUp, "Zone-b False NotZone_b weight 0", "Zone-c Unknown RuleError")
	set("zones", map[string]any{"zones": "a=1,c=2,d=1"})
	becomes("one zone to go and one to come", "Ready True", "Known True Known one", theirs, aIsUp, cIsUp, dIsUp)

	remove("zones")
	becomes("the zones to stay while the list is unknown", "Ready True", "Known False NotKnown one", theirs, aIsUp, cIsUp,
		dIsUp)
	s.Restart()
	rename("two")
	becomes("the zones to stay after a restart", "Ready True", "Known False NotKnown two", theirs, aIsUp, cIsUp, dIsUp)
	create("zones", map[string]any{"zones": "a=1,c=2"})
	becomes("a zone to go when the list is known", "Ready True", "Known True Known two", theirs, aIsUp, cIsUp)

	set("zones", map[string]any{"zones": "c=2", "longest": "many"})
	becomes("the zones to stay when the list fails", "Ready False", "Stalled True", "Known True Known two", theirs, aIsUp,
		cIsUp)
	s.Restart()
	rename("three")
	becomes("the zones to stay after another restart", "Ready False", "Stalled True", "Known True Known three", theirs,
		aIsUp, cIsUp)
	claims("")
	becomes("the condition of another writer not to be kept", "Ready False", "Stalled True", "Known True Known three",
		aIsUp, cIsUp)
	set("zones", map[string]any{"zones": "c=2,e f=1", "longest": nil})
	becomes("the zones to stay when a type is invalid", "Ready False", "Stalled True", "Known True Known three", aIsUp,
		cIsUp)
	set("zones", map[string]any{"zones": "c=2"})
	becomes("a zone to go when the list is right", "Ready True", "Known True Known three", cIsUp)

	set("more", map[string]any{"zones": "c"})
	becomes("two rules to set one condition", "Ready False", "Stalled True", "Known True Known three",
		"Zone-c Unknown RuleError")
	set("more", map[string]any{"zones": "f"})
	becomes("each rule to set its own", "Ready True", "Known True Known three", cIsUp, "Zone-f True Zone_f")
	remove("more")
	rename("four")
	becomes("the zone of an unknown list to stay", "Ready True", "Known True Known four", cIsUp, "Zone-f True Zone_f")
	create("more", map[string]any{"zones": ""})
	becomes("it to go, although nothing else changes", "Ready True", "Known True Known four", cIsUp)
	set("zones", map[string]any{"zones": ""})
	becomes("no zones", "Ready True", "Known True Known four")
}

// shownConditions returns the conditions of an object, sorted. It leaves out what they say
// about errors.
func shownConditions(u *unstructured.Unstructured) (all []string) {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range list {
		entry, _ := c.(map[string]any)
		shown := fmt.Sprintf("%v %v %v %v", entry["type"], entry["status"], entry["reason"], entry["message"])
		switch {
		case entry["type"] == "Ready" || entry["type"] == "Stalled" || entry["type"] == "Reconciling":
			shown = fmt.Sprintf("%v %v", entry["type"], entry["status"])
		case entry["status"] == "Unknown":
			shown = fmt.Sprintf("%v %v %v", entry["type"], entry["status"], entry["reason"])
		}
		all = append(all, strings.TrimSpace(shown))
	}
	slices.Sort(all)
	return all
}

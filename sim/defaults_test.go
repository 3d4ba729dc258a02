package sim_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// unset are the fields of built-in kinds that a control plane defaults and the in-memory
// cluster leaves out. They do not matter to rules, or come from components that do not
// run here.
var unset = regexp.MustCompile(`^(` + strings.Join([]string{
	// Pods and Pod templates.
	`.*\.livenessProbe\..*`,
	`Pod\.spec\.(enableServiceLinks|preemptionPolicy|priority|serviceAccount|serviceAccountName|tolerations)`,
	`Pod\.status\.qosClass`,
	// Derived from the UID of a Job.
	`Job\.(metadata\.labels|spec\.selector|spec\.template\.metadata(\.labels)?)`,
	// These depend on a Service's type and on the network.
	`Service\.spec\.(externalTrafficPolicy|internalTrafficPolicy|ipFamilies|ipFamilyPolicy)`,
	`DaemonSet\.metadata\.annotations`,
	`LimitRange\.spec\.limits\.default(Request)?`,
	`PersistentVolumeClaim\.metadata\.finalizers`,
	`HorizontalPodAutoscaler\.spec\.targetCPUUtilizationPercentage`,
}, "|") + `)$`)

// missingPaths returns the fields that the control plane has set and the in-memory
// cluster has not, except for those in unset.
func missingPaths(at string, theirs, ours any) (paths []string) {
	switch t := theirs.(type) {
	case map[string]any:
		o, ok := ours.(map[string]any)
		if !ok {
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(t)) {
			path := at + "." + key
			if value, there := o[key]; there {
				paths = append(paths, missingPaths(path, t[key], value)...)
			} else if !unset.MatchString(path) {
				paths = append(paths, path)
			}
		}
	case []any:
		o, ok := ours.([]any)
		if !ok || len(o) != len(t) {
			return nil
		}
		for i := range t {
			paths = append(paths, missingPaths(at, t[i], o[i])...)
		}
	}
	return paths
}

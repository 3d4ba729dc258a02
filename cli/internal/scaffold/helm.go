package scaffold

import (
	"slices"
	"strings"
)

// withoutHelm removes what Helm writes about itself, and checksums of other files of the
// chart, which would never change again. It returns the checksums.
func withoutHelm(o map[string]any) (checksums []string) {
	selected := map[string]bool{}
	everywhere(place{value: o}, func(key string, p place) {
		if m, isMap := p.value.(map[string]any); isMap && (key == "matchLabels" || key == "selector") {
			for label := range m {
				selected[label] = true
			}
		}
	})
	everywhere(place{value: o}, func(key string, p place) {
		m, isMap := p.value.(map[string]any)
		if !isMap || key != "labels" && key != "annotations" {
			return
		}
		for name, value := range m {
			checksum := key == "annotations" && strings.HasPrefix(name, "checksum/")
			own := name == "helm.sh/chart" || name == "app.kubernetes.io/managed-by" && value == "Helm" ||
				strings.HasPrefix(name, "meta.helm.sh/")
			if checksum || own && !selected[name] {
				delete(m, name)
			}
			if checksum {
				checksums = append(checksums, name)
			}
		}
	})
	return checksums
}

// checksums returns the annotations with checksums that were left out.
func (a *application) checksums() (all []string) {
	for _, o := range a.objects {
		all = append(all, o.checksums...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

package lint

import (
	"fmt"
	"slices"
	"strings"

	"reconcel/rules/source"
)

// The names of resources without a domain, as core/helper/helpers.go of Kubernetes 1.37
// lists them. Others are named as example.com/gpu.
var (
	ofContainers = []string{"cpu", "memory", "ephemeral-storage"}
	ofQuotas     = append(ofObjects, "requests.storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
		"limits.cpu", "limits.memory", "limits.ephemeral-storage", "cpu", "memory", "ephemeral-storage")
	ofObjects = []string{"pods", "services", "services.nodeports", "services.loadbalancers", "replicationcontrollers",
		"resourcequotas", "secrets", "configmaps", "persistentvolumeclaims"}
	ofAny = append(slices.Clone(ofQuotas), "storage")
)

// limitKeys are the fields of a limit whose keys are resources.
var limitKeys = []string{"max", "min", "default", "defaultRequest", "maxLimitRequestRatio"}

// limitedResources returns the names of resources in a LimitRange, of the limits of
// containers and Pods or of the others.
func limitedResources(isOfContainers func(limit value) bool) func(*child) []value {
	return func(c *child) []value {
		if c.gk != core("LimitRange") {
			return nil
		}
		return eachItem(c.template.at("spec", "limits"), func(limit value) []value {
			var out []value
			for _, key := range limitKeys {
				if isOfContainers(limit) {
					out = append(out, keysIn(limit.at(key))...)
				}
			}
			return out
		})
	}
}

func limitsContainers(limit value) bool {
	return limit.at("type").is("Container") || limit.at("type").is("Pod")
}

func limitsOthers(limit value) bool { return !limitsContainers(limit) }

// quotaResources returns the names of resources in a ResourceQuota.
func quotaResources(c *child) []value {
	if c.gk != core("ResourceQuota") {
		return nil
	}
	return keysIn(c.template.at("spec", "hard"))
}

// resourceIn tests literal names of resources.
func resourceIn(known []string) func(value) string {
	return literal(func(s string) string {
		huge := strings.TrimPrefix(s, "requests.")
		if strings.Contains(s, "/") || strings.HasPrefix(huge, "hugepages-") || slices.Contains(known, s) {
			return ""
		}
		return fmt.Sprintf("%q is not a resource%s", s, source.DidYouMean(strings.ToLower(s), known))
	})
}

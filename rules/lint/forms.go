package lint

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/cron"
	"reconcel/rules/source"
)

// A form is what the API server requires of the text or number of a field.
type form struct {
	source string // where Kubernetes 1.37 checks it: a file in pkg/apis and a function
	// fields returns the values of a child that must have the form.
	fields func(*child) []value
	// wrong says what is wrong with a literal value, or "".
	wrong func(value) string
}

// forms are what the check ValueForm knows.
var forms = []form{
	{"batch/validation/validation.go: validateScheduleFormat", func(c *child) []value {
		if c.gk != kindIn("batch", "CronJob") {
			return nil
		}
		return []value{c.template.at("spec", "schedule")}
	}, literal(cronMistake)},
	{"core/validation/validation.go: validateContainerPorts, ValidateService, validateHTTPGetAction", ports,
		between(1, 65535)},
	{"core/validation/validation.go: ValidateNonnegativeField, in the validation of each kind", counts,
		between(0, 1<<31-1)},
	{"apps/validation/validation.go: ValidatePositiveIntOrPercent", shares, literal(func(s string) string {
		if percent.MatchString(s) {
			return ""
		}
		return fmt.Sprintf("%q is neither a number nor a percentage, such as 25%%; a number has no quotes", s)
	})},
	{"core/validation/validation.go: ValidateNonnegativeQuantity", eachContainer(func(c value) []value {
		var out []value
		for _, list := range []string{"requests", "limits"} {
			for _, e := range c.at("resources", list).entries() {
				out = append(out, e.value)
			}
		}
		return out
	}), func(v value) string {
		if q, known := v.quantity(); known && q.Sign() < 0 {
			return q.String() + " is negative"
		}
		return ""
	}},
	{"networking/validation/validation.go: validateIngressRules", func(c *child) []value { return c.ingress("host") },
		literal(func(s string) string {
			_, err := netip.ParseAddr(s)
			switch {
			case s == "":
				return ""
			case err == nil:
				return fmt.Sprintf("%q is an address, not a DNS name", s)
			case len(validation.IsDNS1123Subdomain(s)) > 0 && len(validation.IsWildcardDNS1123Subdomain(s)) > 0:
				return fmt.Sprintf("%q is not a DNS name, such as www.example.com", s)
			}
			return ""
		})},
	{"networking/validation/validation.go: validateHTTPIngressPath", func(c *child) []value { return c.ingress("path") },
		literal(func(s string) string {
			if s == "" || strings.HasPrefix(s, "/") {
				return ""
			}
			return fmt.Sprintf("%q does not begin with /", s)
		})},
	{"core/validation/validation.go: ValidateEnv", eachContainer(func(c value) []value {
		return eachItem(c.at("env"), func(e value) []value { return []value{e.at("name")} })
	}), literal(func(s string) string {
		if strings.Contains(s, "=") {
			return fmt.Sprintf("%q has a =: write the value in value", s)
		}
		return ""
	})},
	{"core/validation/validation.go: validateContainerCommon, ValidateVolumes", eachPod(func(p value) []value {
		var out []value
		for _, list := range []string{"initContainers", "containers", "volumes"} {
			out = append(out, eachItem(p.at(list), func(c value) []value { return []value{c.at("name")} })...)
		}
		return out
	}), literal(func(s string) string {
		if len(validation.IsDNS1123Label(s)) == 0 {
			return ""
		}
		return fmt.Sprintf("%q is not a name of at most 63 lower-case letters, digits and -", s)
	})},
	{"core/validation/validation.go: ValidatePodTemplateSpec", func(c *child) []value {
		p := c.pod()
		if p == nil || c.gk == core("Pod") { // The labels of an object are checked already.
			return nil
		}
		return values(p.template.at("metadata", "labels"))
	}, literal(labelValueMistake)},
	{"core/validation/validation.go: ValidatePodTemplateSpec, of keys", func(c *child) []value {
		if p := c.pod(); p != nil && c.gk != core("Pod") {
			return keysIn(p.template.at("metadata", "labels"))
		}
		return nil
	}, literal(labelKeyMistake)},
	{"meta/v1/validation/validation.go: ValidateLabelSelector", func(c *child) []value { return values(c.selector()) },
		literal(labelValueMistake)},
	{"meta/v1/validation/validation.go: ValidateLabelSelector, of keys",
		func(c *child) []value { return keysIn(c.selector()) }, literal(labelKeyMistake)},
	{"core/validation/validation.go: validateContainerPorts, of names",
		eachContainer(func(c value) []value { return fieldOfEach(c.at("ports"), "name") }), literal(func(s string) string {
			if len(validation.IsValidPortName(s)) == 0 {
				return ""
			}
			return fmt.Sprintf("%q is not the name of a port: it has at most 15 lower-case letters, digits and -, with a letter",
				s)
		})},
	{"core/validation/validation.go: validateServicePort", func(c *child) []value {
		if c.gk != core("Service") {
			return nil
		}
		return fieldOfEach(c.template.at("spec", "ports"), "name")
	}, literal(func(s string) string {
		if len(validation.IsDNS1123Label(s)) == 0 {
			return ""
		}
		return fmt.Sprintf("%q is not a name of at most 63 lower-case letters, digits and -", s)
	})},
	{"core/validation/validation.go: ValidatePositiveQuantityValue", func(c *child) []value {
		var out []value
		for _, claim := range c.claims() {
			out = append(out, claim.at("resources", "requests", "storage"))
		}
		return out
	}, func(v value) string {
		if q, known := v.quantity(); known && q.Sign() <= 0 {
			return q.String() + " is not more than 0"
		}
		return ""
	}},
	{"core/validation/validation.go: validatePodSpecSecurityContext, ValidateSecurityContext",
		eachPod(func(p value) []value {
			var out []value
			for _, part := range append(p.at("containers").items(), append(p.at("initContainers").items(), p)...) {
				for _, key := range []string{"runAsUser", "runAsGroup", "fsGroup"} {
					out = append(out, part.at("securityContext", key))
				}
			}
			return out
		}), between(0, 1<<31-1)},
	{"core/validation/validation.go: validateConfigMapVolumeSource, validateSecretVolumeSource",
		eachPod(func(p value) []value {
			var out []value
			for _, v := range p.at("volumes").items() {
				for _, kind := range []string{"configMap", "secret", "projected", "downwardAPI"} {
					out = append(append(out, v.at(kind, "defaultMode")), fieldOfEach(v.at(kind, "items"), "mode")...)
				}
			}
			return out
		}), func(v value) string {
			if i, known := v.integer(); known && (i < 0 || i > 0o777) {
				return fmt.Sprintf("%d is not between 0 and 0777, which is 511: write modes with a 0 in front", i)
			}
			return ""
		}},
	{"core/validation/validation.go: validateWeightedPodAffinityTerms, ValidatePreferredSchedulingTerms",
		eachPod(func(p value) []value {
			var out []value
			for _, kind := range []string{"nodeAffinity", "podAffinity", "podAntiAffinity"} {
				out = append(out, fieldOfEach(p.at("affinity", kind, "preferredDuringSchedulingIgnoredDuringExecution"),
					"weight")...)
			}
			return out
		}), between(1, 100)},
	{"core/validation/validation.go: ValidateContainerResourceName", eachContainer(func(c value) []value {
		return append(keysIn(c.at("resources", "requests")), keysIn(c.at("resources", "limits"))...)
	}), resourceIn(ofContainers)},
	{"core/validation/validation.go: validateLimitRangeResourceName, of containers and Pods",
		limitedResources(limitsContainers), resourceIn(ofContainers)},
	{"core/validation/validation.go: validateLimitRangeResourceName", limitedResources(limitsOthers), resourceIn(ofAny)},
	{"core/validation/validation.go: ValidateResourceQuotaResourceName", quotaResources, resourceIn(ofQuotas)},
	{"autoscaling/validation/validation.go: validateMetricTarget", func(c *child) []value {
		if c.gk != kindIn("autoscaling", "HorizontalPodAutoscaler") {
			return nil
		}
		var out []value
		for _, m := range c.template.at("spec", "metrics").items() {
			for _, kind := range []string{"resource", "containerResource", "pods", "object", "external"} {
				out = append(out, m.at(kind, "target", "type"))
			}
		}
		return out
	}, literal(func(s string) string {
		types := []string{"AverageValue", "Utilization", "Value"}
		if slices.Contains(types, s) {
			return ""
		}
		return fmt.Sprintf("%q is not one of %s", s, strings.Join(types, ", "))
	})},
}

func labelValueMistake(s string) string {
	if len(validation.IsValidLabelValue(s)) == 0 {
		return ""
	}
	return fmt.Sprintf("%q cannot be the value of a label: it has at most 63 letters, digits, -, _ and .", s)
}

func labelKeyMistake(s string) string {
	if len(validation.IsQualifiedName(s)) == 0 {
		return ""
	}
	return fmt.Sprintf("%q cannot be the key of a label", s)
}

var percent = regexp.MustCompile(`^[0-9]+%$`)

// valueForms finds literal values that do not have the form of their field.
func (c *child) valueForms() {
	for _, f := range forms {
		for _, v := range f.fields(c) {
			if !v.given() {
				continue
			}
			if wrong := f.wrong(v); wrong != "" {
				c.find(ValueForm, posOf(v), "%s: %s", v.where, wrong)
			}
		}
	}
}

// literal applies a test to literal texts.
func literal(wrong func(string) string) func(value) string {
	return func(v value) string {
		s, isText := v.node.Value.(string)
		if !isText {
			return ""
		}
		return wrong(s)
	}
}

// between tests literal integers.
func between(least, most int64) func(value) string {
	return func(v value) string {
		if i, known := v.integer(); known && (i < least || i > most) {
			return fmt.Sprintf("%d is not between %d and %d", i, least, most)
		}
		return ""
	}
}

// cronMistake returns what is wrong with the schedule of a CronJob, or "".
func cronMistake(s string) string {
	if every, ok := strings.CutPrefix(s, "@every "); ok {
		if _, err := time.ParseDuration(every); err != nil {
			return fmt.Sprintf("%q is not a duration, such as 1h30m", every)
		}
		return ""
	}
	if strings.Contains(s, "TZ=") {
		return "a time zone belongs into timeZone"
	}
	if _, err := cron.Parse(s); err != nil {
		return err.Error()
	}
	return ""
}

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

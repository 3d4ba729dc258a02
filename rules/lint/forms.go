package lint

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// A form is what the API server requires of the text or number of a field.
type form struct {
	source string // where Kubernetes 1.36 checks it: a file in pkg/apis and a function
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
	{"core/validation/validation.go: validateContainerPorts, ValidateService, validateHTTPGetAction", ports, between(1, 65535)},
	{"core/validation/validation.go: ValidateNonnegativeField, in the validation of each kind", counts, between(0, 1<<31-1)},
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
	{"networking/validation/validation.go: validateIngressRules", func(c *child) []value { return c.ingress("host") }, literal(func(s string) string {
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
	{"networking/validation/validation.go: validateHTTPIngressPath", func(c *child) []value { return c.ingress("path") }, literal(func(s string) string {
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
		var out []value
		for _, e := range p.template.at("metadata", "labels").entries() {
			out = append(out, e.value)
		}
		return out
	}, literal(func(s string) string {
		if len(validation.IsValidLabelValue(s)) == 0 {
			return ""
		}
		return fmt.Sprintf("%q cannot be the value of a label: it has at most 63 letters, digits, -, _ and .", s)
	})},
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

// ports are the fields that hold the number of a port.
func ports(c *child) []value {
	var out []value
	if c.gk == core("Service") {
		for _, p := range c.template.at("spec", "ports").items() {
			out = append(out, p.at("port"), p.at("targetPort"))
		}
	}
	if p := c.pod(); p != nil {
		for _, container := range p.containers() {
			for _, p := range container.at("ports").items() {
				out = append(out, p.at("containerPort"))
			}
			for _, keys := range probed {
				out = append(out, container.at(keys...))
			}
		}
	}
	for _, b := range c.backends() {
		out = append(out, b.at("service", "port", "number"))
	}
	return out
}

// counted are fields of a workload's spec, and of a probe, that cannot be negative.
var (
	counted = []string{"replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds", "parallelism", "completions",
		"backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished", "startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"}
	probeCounts = []string{"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"}
)

func counts(c *child) []value {
	p := c.pod()
	if p == nil {
		return nil
	}
	out := []value{p.spec.at("terminationGracePeriodSeconds")}
	for _, key := range counted {
		out = append(out, c.template.at("spec", key), c.template.at("spec", "jobTemplate", "spec", key))
	}
	for _, container := range p.containers() {
		for _, probe := range probeNames {
			for _, key := range probeCounts {
				out = append(out, container.at(probe, key))
			}
		}
	}
	return out
}

// shares are the fields that hold a number or a percentage of Pods.
func shares(c *child) []value {
	spec := c.template.at("spec")
	switch c.gk {
	case kindIn("policy", "PodDisruptionBudget"):
		return []value{spec.at("minAvailable"), spec.at("maxUnavailable")}
	case kindIn("apps", "Deployment"):
		return []value{spec.at("strategy", "rollingUpdate", "maxSurge"), spec.at("strategy", "rollingUpdate", "maxUnavailable")}
	case kindIn("apps", "DaemonSet"), kindIn("apps", "StatefulSet"):
		return []value{spec.at("updateStrategy", "rollingUpdate", "maxSurge"), spec.at("updateStrategy", "rollingUpdate", "maxUnavailable")}
	}
	return nil
}

// ingress returns the hosts or paths of an Ingress.
func (c *child) ingress(key string) []value {
	if c.gk != kindIn("networking.k8s.io", "Ingress") {
		return nil
	}
	var out []value
	for _, r := range c.template.at("spec", "rules").items() {
		if key == "host" {
			out = append(out, r.at(key))
			continue
		}
		for _, path := range r.at("http", "paths").items() {
			out = append(out, path.at(key))
		}
	}
	return out
}

package lint

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"reconcel/rules/source"
)

// A fact is what the API server requires of an object beyond its schema.
type fact struct {
	says   string // as a message ends
	source string // where Kubernetes 1.37 checks it: a file in pkg/apis and a function
	// wrong returns the values of a child that surely contradict the fact.
	wrong func(*child) []value
}

// facts are what the check APIRule knows.
var facts = []fact{
	{"a container needs an image", "core/validation/validation.go: validateContainerCommon",
		eachContainer(func(c value) []value {
			return one(c.at("image"), c.lacks("image") || c.at("image").isEmptyText())
		})},
	{"a Job needs restartPolicy OnFailure or Never", "batch/validation/validation.go: validateJobSpec",
		func(c *child) []value {
			spec := c.podOf("batch")
			return one(spec.at("restartPolicy"), spec.lacks("restartPolicy") || spec.at("restartPolicy").is("Always"))
		}},
	{"the restartPolicy of such a workload is always Always",
		"apps/validation/validation.go: ValidatePodTemplateSpecForReplicaSet", func(c *child) []value {
			policy := c.podOf("apps").at("restartPolicy")
			return one(policy, policy.is("Never") || policy.is("OnFailure"))
		}},
	{"rollingUpdate is not allowed with the type Recreate", "apps/validation/validation.go: ValidateDeploymentStrategy",
		func(c *child) []value {
			strategy := c.template.at("spec", "strategy")
			return one(strategy.at("rollingUpdate"), c.gk == kindIn("apps", "Deployment") &&
				strategy.at("type").is("Recreate") &&
				strategy.at("rollingUpdate").given())
		}},
	{"a variable has a value or a valueFrom, not both", "core/validation/validation.go: validateEnvVarValueFrom",
		eachContainer(func(c value) []value {
			return eachItem(c.at("env"), func(e value) []value {
				return one(e.at("valueFrom"), e.at("value").given() && !e.at("value").isEmptyText() && e.at("valueFrom").given())
			})
		})},
	{"a volume has one source", "core/validation/validation.go: validateVolumeSource", eachPod(func(p value) []value {
		return eachItem(p.at("volumes"), func(v value) []value { return one(v, v.count("name") > 1) })
	})},
	{"a probe has one of exec, grpc, httpGet and tcpSocket", "core/validation/validation.go: validateHandler",
		eachContainer(func(c value) []value {
			var out []value
			for _, name := range probeNames {
				probe := c.at(name)
				handlers := 0
				for _, h := range []string{"exec", "grpc", "httpGet", "tcpSocket"} {
					if !probe.at(h).absent() {
						handlers++
					}
				}
				out = append(out, one(probe, probe.isMap() && (handlers == 0 ||
					handlers > 1 && probe.known("exec", "grpc", "httpGet", "tcpSocket")))...)
			}
			return out
		})},
	{"a budget has minAvailable or maxUnavailable, not both",
		"policy/validation/validation.go: ValidatePodDisruptionBudgetSpec", func(c *child) []value {
			spec := c.template.at("spec")
			return one(spec.at("maxUnavailable"), c.gk == kindIn("policy", "PodDisruptionBudget") &&
				spec.at("minAvailable").given() && spec.at("maxUnavailable").given())
		}},
	{"a request is at most its limit", "core/validation/validation.go: validateContainerResourceRequirements",
		eachContainer(func(c value) []value {
			var out []value
			for _, e := range c.at("resources", "requests").entries() {
				request, known := e.value.quantity()
				limit, too := c.at("resources", "limits", e.key.Value).quantity()
				out = append(out, one(e.value, known && too && request.Cmp(limit) > 0)...)
			}
			return out
		})},
	{"with several ports, each one needs a name", "core/validation/validation.go: ValidateService",
		func(c *child) []value {
			ports := c.template.at("spec", "ports")
			if c.gk != core("Service") || !ports.complete() || len(ports.items()) < 2 {
				return nil
			}
			return eachItem(ports, func(p value) []value { return one(p, p.at("name").absent()) })
		}},
	{"a Service has ports, unless it is headless or of the type ExternalName",
		"core/validation/validation.go: ValidateService", func(c *child) []value {
			spec := c.template.at("spec")
			own := spec.known("ports", "clusterIP", "type") && !spec.at("clusterIP").is("None") &&
				!spec.at("type").is("ExternalName")
			return one(spec, c.gk == core("Service") && !c.ignores("spec", "ports") && spec.isMap() && spec.lacks("ports") &&
				own)
		}},
	{"a Service of this type cannot be headless", "core/validation/validation.go: ValidateService",
		func(c *child) []value {
			spec := c.template.at("spec")
			reachable := spec.at("type").is("NodePort") || spec.at("type").is("LoadBalancer")
			return one(spec.at("clusterIP"), c.gk == core("Service") && reachable && spec.at("clusterIP").is("None"))
		}},
	{"a claim needs accessModes", "core/validation/validation.go: ValidatePersistentVolumeClaimSpec",
		func(c *child) []value {
			return where(c.claims(), func(claim value) bool { return claim.isMap() && claim.lacks("accessModes") })
		}},
	{"a claim requests storage", "core/validation/validation.go: ValidatePersistentVolumeClaimSpec",
		func(c *child) []value {
			return where(c.claims(), func(claim value) bool {
				requests := claim.at("resources", "requests")
				return claim.isMap() && (requests.absent() && claim.lacks("resources") ||
					requests.isMap() && requests.lacks("storage"))
			})
		}},
	{"the successThreshold of a liveness or startup probe is 1",
		"core/validation/validation.go: validateLivenessProbe, validateStartupProbe", eachContainer(func(c value) []value {
			thresholds := []value{c.at("livenessProbe", "successThreshold"), c.at("startupProbe", "successThreshold")}
			return where(thresholds, func(v value) bool {
				i, known := v.integer()
				return known && i > 1
			})
		})},
	{"the name is used twice", "core/validation/validation.go: validateContainerPorts, validateInitContainers, " +
		"ValidateService", func(c *child) []value {
		var out []value
		if c.gk == core("Service") {
			out = twice(c.template.at("spec", "ports"))
		}
		if p := c.pod(); p != nil {
			out = append(out, shared(p.spec.at("containers"), p.spec.at("initContainers"))...)
			for _, container := range p.containers() {
				out = append(out, twice(container.at("ports"))...)
			}
		}
		return out
	}},
}

// Facts returns what the check APIRule knows, with the place where Kubernetes checks it.
func Facts() []string {
	out := make([]string, len(facts))
	for i, f := range facts {
		out[i] = f.says + " (" + f.source + ")"
	}
	return out
}

var probeNames = []string{"livenessProbe", "readinessProbe", "startupProbe"}

// apiRules finds values that contradict a fact.
func (c *child) apiRules() {
	for _, f := range facts {
		for _, v := range f.wrong(c) {
			c.find(APIRule, posOf(v), "%s: %s", v.where, f.says)
		}
	}
}

// one returns a value if it is wrong.
func one(v value, wrong bool) []value {
	if !wrong {
		return nil
	}
	return []value{v}
}

// where returns the values that are wrong.
func where(all []value, wrong func(value) bool) []value {
	return slices.DeleteFunc(all, func(v value) bool { return !wrong(v) })
}

// claims returns the specs of the PersistentVolumeClaims of a child.
func (c *child) claims() []value {
	switch c.gk {
	case core("PersistentVolumeClaim"):
		return []value{c.template.at("spec")}
	case kindIn("apps", "StatefulSet"):
		var out []value
		for _, claim := range c.template.at("spec", "volumeClaimTemplates").items() {
			out = append(out, claim.at("spec"))
		}
		return out
	}
	return nil
}

// eachPod applies a test to the spec of the Pod of a child. If others may write to it,
// nothing is certain.
func eachPod(wrong func(spec value) []value) func(*child) []value {
	return func(c *child) []value {
		if p := c.pod(); p != nil && !p.open {
			return wrong(p.spec)
		}
		return nil
	}
}

// eachContainer applies a test to each container.
func eachContainer(wrong func(container value) []value) func(*child) []value {
	return func(c *child) []value {
		p := c.pod()
		if p == nil || p.open {
			return nil
		}
		var out []value
		for _, container := range p.containers() {
			out = append(out, wrong(container)...)
		}
		return out
	}
}

// eachItem applies a test to each element of a list that is a map.
func eachItem(list value, wrong func(item value) []value) []value {
	var out []value
	for _, item := range list.items() {
		if item.isMap() {
			out = append(out, wrong(item)...)
		}
	}
	return out
}

// podOf returns the spec of the Pod if the kind belongs to a group. Otherwise it is
// unknown.
func (c *child) podOf(group string) value {
	if p := c.pod(); p != nil && !p.open && c.gk.Group == group {
		return p.spec
	}
	return value{r: c.in, unknown: true}
}

// twice returns the names of elements of a list that an earlier element has.
func twice(list value) []value {
	seen := map[string]bool{}
	return where(fieldOfEach(list, "name"), func(name value) bool {
		text, literal := name.text()
		again := literal && seen[text]
		seen[text] = seen[text] || literal
		return again
	})
}

// shared returns the names of elements of a list that an element of another list has.
func shared(list, other value) []value {
	return where(fieldOfEach(list, "name"), func(name value) bool {
		text, literal := name.text()
		return literal && slices.ContainsFunc(other.items(), func(o value) bool { return o.at("name").is(text) })
	})
}

// given reports whether a value is surely there.
func (v value) given() bool { return !v.unknown && !v.absent() }

// lacks reports whether a map surely has no such field, not even misspelt: that is
// another mistake.
func (v value) lacks(key string) bool {
	return v.at(key).absent() && !slices.ContainsFunc(v.entries(), func(e entry) bool {
		return source.Nearest(e.key.Value, []string{key}) == key
	})
}

// isEmptyText reports whether a value is "".
func (v value) isEmptyText() bool {
	return v.given() && v.node.Value == ""
}

// known reports whether none of the fields depends on an expression.
func (v value) known(keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return v.at(key).unknown })
}

// count returns the number of fields that are surely there, besides one.
func (v value) count(besides string) int {
	n := 0
	for _, e := range v.entries() {
		if e.key.Value != besides && e.value.given() {
			n++
		}
	}
	return n
}

// quantity returns a literal quantity.
func (v value) quantity() (resource.Quantity, bool) {
	text, literal := v.text()
	if !literal {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(strings.TrimSpace(text))
	return q, err == nil
}

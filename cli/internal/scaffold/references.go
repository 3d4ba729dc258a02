package scaffold

import (
	"regexp"
	"slices"
	"strings"
)

// A reference is a field of a kind that names another object.
type reference struct{ pattern, kind string }

// podReferences are those of a Pod.
var podReferences = append([]reference{
	{"serviceAccountName", "ServiceAccount"},
	{"serviceAccount", "ServiceAccount"},
	{"priorityClassName", "PriorityClass"},
	{"runtimeClassName", "RuntimeClass"},
	{"imagePullSecrets.*.name", "Secret"},
	{"volumes.*.configMap.name", "ConfigMap"},
	{"volumes.*.secret.secretName", "Secret"},
	{"volumes.*.persistentVolumeClaim.claimName", "PersistentVolumeClaim"},
	{"volumes.*.projected.sources.*.configMap.name", "ConfigMap"},
	{"volumes.*.projected.sources.*.secret.name", "Secret"},
}, append(containerReferences("containers"), containerReferences("initContainers")...)...)

func containerReferences(list string) []reference {
	return []reference{
		{list + ".*.envFrom.*.configMapRef.name", "ConfigMap"},
		{list + ".*.envFrom.*.secretRef.name", "Secret"},
		{list + ".*.env.*.valueFrom.configMapKeyRef.name", "ConfigMap"},
		{list + ".*.env.*.valueFrom.secretKeyRef.name", "Secret"},
	}
}

// kindReferences are those of other kinds.
var kindReferences = map[string][]reference{
	"StatefulSet": {{"spec.serviceName", "Service"}},
	"Ingress": {
		{"spec.defaultBackend.service.name", "Service"},
		{"spec.rules.*.http.paths.*.backend.service.name", "Service"},
		{"spec.tls.*.secretName", "Secret"},
		{"spec.ingressClassName", "IngressClass"},
	},
	"ServiceAccount": {{"secrets.*.name", "Secret"}, {"imagePullSecrets.*.name", "Secret"}},
	"PersistentVolumeClaim": {
		{"spec.storageClassName", "StorageClass"},
		{"spec.volumeName", "PersistentVolume"},
	},
	"PersistentVolume":               {{"spec.storageClassName", "StorageClass"}},
	"APIService":                     {{"spec.service.name", "Service"}},
	"ValidatingWebhookConfiguration": {{"webhooks.*.clientConfig.service.name", "Service"}},
	"MutatingWebhookConfiguration":   {{"webhooks.*.clientConfig.service.name", "Service"}},
	"ValidatingAdmissionPolicyBinding": {
		{"spec.policyName", "ValidatingAdmissionPolicy"},
	},
}

// namedKinds are fields with the kind and the name of an object.
var namedKinds = map[string][]string{
	"HorizontalPodAutoscaler": {"spec.scaleTargetRef"},
	"VerticalPodAutoscaler":   {"spec.targetRef"},
	"RoleBinding":             {"roleRef", "subjects.*"},
	"ClusterRoleBinding":      {"roleRef", "subjects.*"},
}

// refer writes references to other objects as references to their children.
func (t *templater) refer() {
	for _, o := range t.app.objects {
		if pod, has := podPath(o.gvk.GroupKind()); has {
			for _, r := range podReferences {
				each(o.template, pod+r.pattern, func(p place) { t.referTo(r.kind, p) })
			}
		}
		for _, r := range kindReferences[o.gvk.Kind] {
			each(o.template, r.pattern, func(p place) { t.referTo(r.kind, p) })
		}
		for _, pattern := range namedKinds[o.gvk.Kind] {
			each(o.template, pattern, func(named place) {
				m, _ := named.value.(map[string]any)
				each(m, "name", func(p place) { t.referTo(textAt(m, "kind"), p) })
			})
		}
		everywhere(place{value: o.template}, func(key string, p place) {
			if key == "namespace" && p.value == t.app.namespace && t.app.namespace != "" {
				p.set(expression(selfNamespace))
			}
		})
	}
}

// referTo writes the name of an object of a kind as a reference to its child. Without such
// a child, it is written like any name.
func (t *templater) referTo(kind string, p place) {
	name, isText := p.value.(string)
	if !isText {
		return
	}
	if target := t.app.find(kind, name); target != nil {
		p.set(expression("${" + target.id + ".metadata.name}"))
		return
	}
	if written, named := t.app.nameOf(name); named {
		p.set(written)
	}
}

// find returns the object of a kind with a name, or nil.
func (a *application) find(kind, name string) *object {
	for _, o := range a.objects {
		if o.gvk.Kind == kind && o.name == name {
			return o
		}
	}
	return nil
}

// hostPattern matches the name of a Service in a text, with what stands before and behind it.
const hostPattern = `(^|://|[@=,.\s"'])NAME(:[0-9]{2,5}(?:[^0-9A-Za-z.-]|$)|\.NAMESPACE(?:[^0-9A-Za-z-]|$)|\.\$\(\w*(?i:namespace)\)|/|$)`

// hostNames are in the names of variables and settings whose value may be the name of a Service.
const hostNames = `(?i:host|addr|url|uri|server|service|endpoint|broker|upstream|domain|proxy)`

var hostVariable = regexp.MustCompile(hostNames)

// settingPattern matches a line that gives a setting the name of a Service.
const settingPattern = `(?m)^[ \t]*[\w.-]*` + hostNames + `[\w.-]*[ \t]*[=:][ \t]*(NAME)[ \t]*$`

// connect writes the addresses of Services in variables, arguments and configuration.
func (t *templater) connect() {
	for _, o := range t.app.objects {
		if pod, has := podPath(o.gvk.GroupKind()); has {
			for _, list := range containers {
				each(o.template, pod+list+".*.env.*", t.connectVariable)
				for _, field := range []string{"args", "command"} {
					each(o.template, pod+list+".*."+field+".*", t.connectText)
				}
			}
		}
		if o.gvk.Kind == "ConfigMap" {
			each(o.template, "data.*", t.connectText)
		}
	}
}

func (t *templater) connectVariable(p place) {
	variable, _ := p.value.(map[string]any)
	each(variable, "value", func(p place) {
		if text, _ := p.value.(string); hostVariable.MatchString(textAt(variable, "name")) {
			if target := t.app.find("Service", text); target != nil {
				p.set(expression("${" + target.id + ".metadata.name}"))
				return
			}
		}
		t.connectText(p)
	})
}

// connectText replaces the names of Services that are parts of addresses.
func (t *templater) connectText(p place) {
	text, isText := p.value.(string)
	if !isText {
		return
	}
	parts := []any{text} // texts, and expressions between them
	for _, service := range t.app.objects {
		if service.gvk.Kind == "Service" {
			parts = t.replaceHost(service, parts)
		}
	}
	if len(parts) == 1 {
		return
	}
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			b.WriteString(escaped(part))
		case expression:
			b.WriteString(string(part))
		}
	}
	p.set(expression(b.String()))
}

// replaceHost replaces the name of one Service in texts.
func (t *templater) replaceHost(service *object, parts []any) (out []any) {
	namespace := "." + t.app.namespaceOf(service)
	for _, part := range parts {
		text, isText := part.(string)
		if !isText {
			out = append(out, part)
			continue
		}
		end := 0
		for _, begin := range t.mentions(service, text) {
			out = append(out, text[end:begin], expression("${"+service.id+".metadata.name}"))
			end = begin + len(service.name)
			if strings.HasPrefix(text[end:], namespace) && service.namespace == "" {
				out = append(out, ".", expression(selfNamespace))
				end += len(namespace)
			}
		}
		out = append(out, text[end:])
	}
	return out
}

// mentions returns where the name of a Service is in a text.
func (t *templater) mentions(service *object, text string) (begins []int) {
	names := strings.NewReplacer("NAMESPACE", regexp.QuoteMeta(t.app.namespaceOf(service)), "NAME",
		regexp.QuoteMeta(service.name))
	host := regexp.MustCompile(names.Replace(hostPattern))
	for from := 0; ; {
		m := host.FindStringSubmatchIndex(text[from:])
		if m == nil {
			break
		}
		before, behind := text[from+m[2]:from+m[3]], text[from+m[4]:from+m[5]]
		isPath, isQualified := behind == "" || behind == "/", strings.HasPrefix(behind, ".")
		if (!isPath || before == "://") && (before != "." || isQualified) {
			begins = append(begins, from+m[3])
		}
		from += m[4]
	}
	for _, m := range regexp.MustCompile(names.Replace(settingPattern)).FindAllStringSubmatchIndex(text, -1) {
		begins = append(begins, m[2])
	}
	slices.Sort(begins)
	return slices.Compact(begins)
}

// namespaceOf returns the namespace that an object has in the manifests.
func (a *application) namespaceOf(o *object) string {
	if o.namespace != "" {
		return o.namespace
	}
	if a.namespace != "" {
		return a.namespace
	}
	return defaultNamespace
}

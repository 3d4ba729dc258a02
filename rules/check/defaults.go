package check

import (
	"reflect"
	"slices"
	"strings"
)

// metadataThere are the fields of metadata that every stored object has. Rules do
// not read the namespace of a cluster-scoped object by mistake.
var metadataThere = map[string]bool{
	"name": true, "namespace": true, "uid": true, "resourceVersion": true, "generation": true, "creationTimestamp": true,
}

// filledIn are the optional fields of Kubernetes' own kinds that the API server
// defaults. The schemas do not show these defaults, which are set by Go code.
var filledIn = map[string]string{
	"apps.v1.DeploymentSpec":  "replicas strategy revisionHistoryLimit progressDeadlineSeconds",
	"apps.v1.StatefulSetSpec": "replicas podManagementPolicy updateStrategy revisionHistoryLimit",
	"apps.v1.ReplicaSetSpec":  "replicas",
	"apps.v1.DaemonSetSpec":   "updateStrategy revisionHistoryLimit",
	"batch.v1.JobSpec":        "parallelism backoffLimit completionMode suspend selector podReplacementPolicy",
	"batch.v1.CronJobSpec":    "concurrencyPolicy suspend successfulJobsHistoryLimit failedJobsHistoryLimit",
	"core.v1.ServiceSpec":     "type sessionAffinity internalTrafficPolicy",
	"core.v1.ServicePort":     "protocol targetPort",
	"core.v1.PodSpec": "restartPolicy dnsPolicy schedulerName terminationGracePeriodSeconds securityContext " +
		"serviceAccountName " +
		"enableServiceLinks preemptionPolicy priority",
	"core.v1.Container":                        "image imagePullPolicy terminationMessagePath terminationMessagePolicy",
	"core.v1.PersistentVolumeClaimSpec":        "accessModes resources volumeMode",
	"core.v1.PersistentVolumeSpec":             "accessModes capacity persistentVolumeReclaimPolicy volumeMode",
	"core.v1.NamespaceSpec":                    "finalizers",
	"core.v1.Secret":                           "type",
	"networking.v1.NetworkPolicySpec":          "policyTypes",
	"core.v1.NamespaceStatus":                  "phase",
	"storage.v1.StorageClass":                  "reclaimPolicy volumeBindingMode",
	"rbac.v1.RoleRef":                          "apiGroup",
	"core.v1.PersistentVolumeClaimStatus":      "phase",
	"discovery.v1.EndpointPort":                "protocol",
	"core.v1.VolumeResourceRequirements":       "requests",
	"apps.v1.RollingUpdateStatefulSetStrategy": "partition",
}

// surelyHas reports whether every stored object has a field although its schema
// does not require it.
func (o *object) surelyHas(field string) bool {
	if o.whole && (field == "metadata" || field == "apiVersion" || field == "kind") {
		return true
	}
	if embedded, _ := o.schema.resolved.Extensions.GetBool("x-kubernetes-embedded-resource"); embedded &&
		(field == "apiVersion" || field == "kind") {
		return true
	}
	name := strings.TrimPrefix(o.name, mark)
	if strings.HasSuffix(name, ".meta.v1.ObjectMeta") || strings.HasSuffix(name, ".metadata") {
		return metadataThere[field]
	}
	return slices.Contains(strings.Fields(filledIn[strings.TrimPrefix(name, "io.k8s.api.")]), field)
}

// zeroes are the required fields of Kubernetes' own kinds that may be missing,
// because Go's zero value is valid.
var zeroes = map[string]string{
	"apps.v1.ControllerRevision":            "revision",
	"batch.v1.PodFailurePolicy":             "rules",
	"core.v1.Event":                         "involvedObject",
	"core.v1.HTTPHeader":                    "value",
	"core.v1.ISCSIVolumeSource":             "lun",
	"core.v1.ISCSIPersistentVolumeSource":   "lun",
	"core.v1.LimitRangeSpec":                "limits",
	"core.v1.SleepAction":                   "seconds",
	"core.v1.Sysctl":                        "value",
	"resource.v1.DeviceClass":               "spec",
	"resource.v1.ResourceClaim":             "spec",
	"resource.v1.ResourceClaimTemplate":     "spec",
	"resource.v1.ResourceClaimTemplateSpec": "spec",
	"storage.v1.CSIDriver":                  "spec",
	"storage.v1.CSINodeSpec":                "drivers",
	"storage.v1.TokenRequest":               "audience",
}

func mayBeZero(definition, field string) bool {
	return zeroes[strings.TrimPrefix(definition, "io.k8s.api.")] == field
}

// needs reports whether a field must be given. In the schemas of Kubernetes' own
// kinds, Go's zero values are defaults: such a struct is needed if one of its fields
// is.
func (u *universe) needs(p *fieldSchema, key string, f *fieldSchema) bool {
	required := slices.Contains(p.Required, key)
	s := p.Properties[key]
	switch {
	case s.Default == nil:
		return required && !(p.own && mayBeZero(p.name, key))
	case !p.own || !isZero(s.Default):
		return false
	case required && (f.is == boolean || mayBeZero(p.name, key)):
		return false
	case required:
		return true
	}
	return f.is == fielded && p.own && key != "status" && u.hasNeeds(f)
}

func (u *universe) hasNeeds(p *fieldSchema) bool {
	for key, s := range p.Properties {
		if u.needs(p, key, u.at(&s, p)) {
			return true
		}
	}
	return false
}

func isZero(v any) bool {
	if m, ok := v.(map[string]any); ok {
		return len(m) == 0
	}
	return reflect.ValueOf(v).IsZero()
}

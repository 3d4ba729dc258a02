package columns

// These columns are the same in all kinds with a template of Pods.
var (
	containers = wide(text("Containers", joined("spec.template.spec.containers.name", "")))
	images     = wide(text("Images", joined("spec.template.spec.containers.image", "")))
	matching   = wide(text("Selector", selector("spec.selector")))
)

// These kinds have the same columns as another.
var (
	event = []column{text("Last Seen", lastSeen), text("Type", value("type")), text("Reason", value("reason")),
		text("Object", eventObject), wide(text("Subobject", eventField)), wide(text("Source", eventSource)),
		text("Message", eventMessage), wide(text("First Seen", firstSeen)), wide(text("Count", eventCount)),
		wide(name)}
	replicas = []column{name, integer("Desired", number("spec.replicas")), integer("Current", number("status.replicas")),
		integer("Ready", number("status.readyReplicas")), age, containers, images}
	roleBinding = []column{name, text("Role", pair("roleRef.kind", "roleRef.name", "")), age,
		wide(text("Users", subjects("User"))), wide(text("Groups", subjects("Group"))),
		wide(text("ServiceAccounts", subjects("ServiceAccount")))}
	policyBinding = []column{name, text("PolicyName", value("spec.policyName")), text("ParamRef", paramRef), age}
	webhooks      = []column{name, integer("Webhooks", size("webhooks")), age}
	paramKind     = text("ParamKind", pair("spec.paramKind.apiVersion", "spec.paramKind.kind", unset))
)

// builtin has the columns of the built-in kinds, by group and kind. LimitRange, Role, ClusterRole and
// CSIStorageCapacity have no columns of their own.
var builtin = map[string]map[string][]column{
	"": {
		"ConfigMap": {name, text("Data", size("data", "binaryData")), age},
		"Endpoints": {name, text("Endpoints", endpoints), age},
		"Event":     event,
		"Namespace": {name, text("Status", value("status.phase")), age},
		"Node": {name, text("Status", nodeStatus), text("Roles", nodeRoles), age,
			text("Version", value("status.nodeInfo.kubeletVersion")),
			wide(text("Internal-IP", nodeAddress("InternalIP"))), wide(text("External-IP", nodeAddress("ExternalIP"))),
			wide(text("OS-Image", nonEmpty("status.nodeInfo.osImage", unknown))), wide(text("Kernel-Version", nodeKernel)),
			wide(text("Container-Runtime", nonEmpty("status.nodeInfo.containerRuntimeVersion", unknown)))},
		"PersistentVolume": {name, text("Capacity", quantity("spec.capacity.storage", "0")),
			text("Access Modes", accessModes("spec.accessModes")),
			text("Reclaim Policy", value("spec.persistentVolumeReclaimPolicy")), text("Status", volumePhase),
			text("Claim", pair("spec.claimRef.namespace", "spec.claimRef.name", "")), text("StorageClass", storageClass),
			text("VolumeAttributesClass", orElse("spec.volumeAttributesClassName", unset)),
			text("Reason", value("status.reason")), age, wide(text("VolumeMode", orElse("spec.volumeMode", unset)))},
		"PersistentVolumeClaim": {name, text("Status", volumePhase), text("Volume", value("spec.volumeName")),
			text("Capacity", ifBound(quantity("status.capacity.storage", "0"))),
			text("Access Modes", ifBound(accessModes("status.accessModes"))), text("StorageClass", storageClass),
			text("VolumeAttributesClass", orElse("spec.volumeAttributesClassName", unset)), age,
			wide(text("VolumeMode", orElse("spec.volumeMode", unset)))},
		"Pod": {name, text("Ready", podReady), text("Status", podStatus), text("Restarts", podRestarts), age,
			wide(text("IP", nonEmpty("status.podIPs.ip", none))), wide(text("Node", nonEmpty("spec.nodeName", none))),
			wide(text("Nominated Node", nonEmpty("status.nominatedNodeName", none))),
			wide(text("Readiness Gates", readinessGates))},
		"PodTemplate": {name, text("Containers", joined("template.spec.containers.name", "")),
			text("Images", joined("template.spec.containers.image", "")), text("Pod Labels", pairs("template.metadata.labels"))},
		"ReplicationController": with(replicas, wide(text("Selector", pairs("spec.selector")))),
		"ResourceQuota":         {name, text("Request", quota(isRequest)), text("Limit", quota(isLimit)), age},
		"Secret":                {name, text("Type", value("type")), text("Data", size("data")), age},
		"Service": {name, text("Type", value("spec.type")), text("Cluster-IP", orElse("spec.clusterIPs", none)),
			text("External-IP", externalIPs), text("Port(s)", servicePorts), age,
			wide(text("Selector", pairs("spec.selector")))},
		"ServiceAccount": {name, age},
	},
	"admissionregistration.k8s.io": {
		"MutatingAdmissionPolicy":          {name, integer("Mutations", size("spec.mutations")), paramKind, age},
		"MutatingAdmissionPolicyBinding":   policyBinding,
		"MutatingWebhookConfiguration":     webhooks,
		"ValidatingAdmissionPolicy":        {name, integer("Validations", size("spec.validations")), paramKind, age},
		"ValidatingAdmissionPolicyBinding": policyBinding,
		"ValidatingWebhookConfiguration":   webhooks,
	},
	"apiextensions.k8s.io": {
		"CustomResourceDefinition": {name, text("Scope", value("spec.scope")), text("Versions", servedVersions),
			createdAt, wide(text("Group", value("spec.group"))), wide(text("Kind", value("spec.names.kind"))),
			wide(text("ShortNames", joined("spec.names.shortNames", ""))), wide(boolean("Established", established))},
	},
	"apiregistration.k8s.io": {
		"APIService": {name, text("Service", pair("spec.service.namespace", "spec.service.name", "Local")),
			text("Available", apiAvailable), age},
	},
	"apps": {
		"ControllerRevision": {name, text("Controller", controller), text("Revision", number("revision")), age},
		"DaemonSet": {name, integer("Desired", number("status.desiredNumberScheduled")),
			integer("Current", number("status.currentNumberScheduled")), integer("Ready", number("status.numberReady")),
			integer("Up-to-date", number("status.updatedNumberScheduled")),
			integer("Available", number("status.numberAvailable")),
			text("Node Selector", pairs("spec.template.spec.nodeSelector")), age, containers, images, matching},
		"Deployment": {name, text("Ready", ratio("status.readyReplicas", "spec.replicas")),
			text("Up-to-date", number("status.updatedReplicas")), text("Available", number("status.availableReplicas")), age,
			containers, images, matching},
		"ReplicaSet":  with(replicas, matching),
		"StatefulSet": {name, text("Ready", ratio("status.readyReplicas", "spec.replicas")), age, containers, images},
	},
	"autoscaling": {
		"HorizontalPodAutoscaler": {name, text("Reference", pair("spec.scaleTargetRef.kind", "spec.scaleTargetRef.name", "")),
			text("Targets", metrics), text("MinPods", textOr("spec.minReplicas", unset)),
			text("MaxPods", number("spec.maxReplicas")), text("Replicas", number("status.currentReplicas")), age},
		"Scale": {text("Name", value("metadata.name")), integer("Desired", number("spec.replicas")),
			integer("Available", number("status.replicas")), age},
	},
	"batch": {
		"CronJob": {name, text("Schedule", value("spec.schedule")), text("Timezone", orElse("spec.timeZone", none)),
			boolean("Suspend", suspended), integer("Active", size("status.active")),
			text("Last Schedule", sinceOr("status.lastScheduleTime", none)), age,
			wide(text("Containers", joined("spec.jobTemplate.spec.template.spec.containers.name", ""))),
			wide(text("Images", joined("spec.jobTemplate.spec.template.spec.containers.image", ""))),
			wide(text("Selector", selector("spec.jobTemplate.spec.selector")))},
		"Job": {name, text("Status", jobStatus), text("Completions", completions), text("Duration", jobDuration), age,
			containers, images, matching},
	},
	"certificates.k8s.io": {
		"CertificateSigningRequest": {name, age, text("SignerName", nonEmpty("spec.signerName", none)),
			text("Requestor", value("spec.username")), text("RequestedDuration", requestedDuration),
			text("Condition", requestCondition)},
		"ClusterTrustBundle": {name, text("SignerName", nonEmpty("spec.signerName", none))},
		"PodCertificateRequest": {name, text("PodName", value("spec.podName")),
			text("ServiceAccountName", value("spec.serviceAccountName")), text("NodeName", value("spec.nodeName")),
			text("SignerName", value("spec.signerName")),
			text("State", lastCondition("Pending", "Issued", "Denied", "Failed")),
			text("UnverifiedUserAnnotations", pairs("spec.unverifiedUserAnnotations"))},
	},
	"coordination.k8s.io": {"Lease": {name, text("Holder", value("spec.holderIdentity")), age}},
	"discovery.k8s.io": {
		"EndpointSlice": {name, text("AddressType", value("addressType")), text("Ports", slicePorts),
			text("Endpoints", sliceAddresses), age},
	},
	"events.k8s.io": {"Event": event},
	"flowcontrol.apiserver.k8s.io": {
		"FlowSchema": {name, text("PriorityLevel", value("spec.priorityLevelConfiguration.name")),
			text("MatchingPrecedence", number("spec.matchingPrecedence")),
			text("DistinguisherMethod", orElse("spec.distinguisherMethod.type", none)), age, text("MissingPL", dangling)},
		"PriorityLevelConfiguration": {name, text("Type", value("spec.type")),
			text("NominalConcurrencyShares", orElse("spec.limited.nominalConcurrencyShares", none)),
			text("Queues", orElse("spec.limited.limitResponse.queuing.queues", none)),
			text("HandSize", orElse("spec.limited.limitResponse.queuing.handSize", none)),
			text("QueueLengthLimit", orElse("spec.limited.limitResponse.queuing.queueLengthLimit", none)), age},
	},
	"networking.k8s.io": {
		"Ingress": {name, text("Class", orElse("spec.ingressClassName", none)), text("Hosts", ingressHosts),
			text("Address", ingressAddresses), text("Ports", ingressPorts), age},
		"IngressClass": {naming(text("Name", ingressClassName)), text("Controller", value("spec.controller")),
			text("Parameters", ingressParameters), age},
		"IPAddress":     {name, text("ParentRef", addressParent)},
		"NetworkPolicy": {name, text("Pod-Selector", selector("spec.podSelector")), age},
		"ServiceCIDR":   {name, text("CIDRs", joined("spec.cidrs", "")), age},
	},
	"node.k8s.io": {"RuntimeClass": {name, text("Handler", value("handler")), age}},
	"policy": {
		"PodDisruptionBudget": {name, text("Min Available", textOr("spec.minAvailable", "N/A")),
			text("Max Unavailable", textOr("spec.maxUnavailable", "N/A")),
			integer("Allowed Disruptions", number("status.disruptionsAllowed")), age},
	},
	"rbac.authorization.k8s.io": {"ClusterRoleBinding": roleBinding, "RoleBinding": roleBinding},
	"resource.k8s.io": {
		"DeviceClass": {name, age},
		"DeviceTaintRule": {name, text("Key", value("spec.taint.key")), text("Value", value("spec.taint.value")),
			text("Effect", value("spec.taint.effect")), text("TimeAdded", sinceOr("spec.taint.timeAdded", "")), age},
		"ResourceClaim":         {name, text("State", claimState), age},
		"ResourceClaimTemplate": {name, age},
		"ResourceSlice": {name, text("Node", value("spec.nodeName")), text("Driver", value("spec.driver")),
			text("Pool", value("spec.pool.name")), age},
	},
	"scheduling.k8s.io": {
		"PriorityClass": {name, integer("Value", number("value")), boolean("Global-Default", orElse("globalDefault", false)),
			age, text("PreemptionPolicy", value("preemptionPolicy"))},
	},
	"storage.k8s.io": {
		"CSIDriver": {name, boolean("AttachRequired", orElse("spec.attachRequired", true)),
			boolean("PodInfoOnMount", orElse("spec.podInfoOnMount", false)),
			boolean("StorageCapacity", orElse("spec.storageCapacity", false)),
			text("TokenRequests", joined("spec.tokenRequests.audience", unset)),
			boolean("RequiresRepublish", orElse("spec.requiresRepublish", false)),
			text("Modes", joined("spec.volumeLifecycleModes", none)), age},
		"CSINode": {name, integer("Drivers", size("spec.drivers")), age},
		"StorageClass": {naming(text("Name", storageClassName)), text("Provisioner", value("provisioner")),
			text("ReclaimPolicy", orElse("reclaimPolicy", "Delete")),
			text("VolumeBindingMode", orElse("volumeBindingMode", "Immediate")),
			text("AllowVolumeExpansion", orElse("allowVolumeExpansion", false)), age},
		"VolumeAttachment": {name, naming(text("Attacher", value("spec.attacher"))),
			text("PV", value("spec.source.persistentVolumeName")), text("Node", value("spec.nodeName")),
			boolean("Attached", orElse("status.attached", false)), age},
		"VolumeAttributesClass": {name, text("DriverName", value("driverName")), age},
	},
	"storagemigration.k8s.io": {
		"StorageVersionMigration": {text("Name", value("metadata.name")), text("Resource", migratedResource),
			text("Status", lastCondition("Unknown", "Running", "Failed", "Succeeded"))},
	},
}

func with(columns []column, more ...column) []column {
	return append(columns[:len(columns):len(columns)], more...)
}

// Package sim is a cluster in memory for testing rules. Rules and the engine cannot tell it
// from a Kubernetes API server in the points below.
//
//	cluster, err := sim.New(sim.Options{Kinds: kinds, Clock: clock})
//	client := cluster.Client("reconcel") // a dynamic.Interface
//
// Everything happens inside of calls, in a fixed order and with the same result each time:
// uids, resource versions and generated names are counted or hashed, and the time is that of
// the clock. Only controllers (garbage collection, the deletion of a namespace) wait for a
// call of Collect, so that tests decide when they run.
//
// # What is the same
//
//   - Server-side apply, with the types of the schema and by the code of the API server:
//     managedFields, conflicts with their causes, co-ownership, removal of fields, applies
//     that only create, preconditions on uid and resourceVersion, and the 500 without a
//     reason for a field that is not in the schema.
//   - Create, update, and the four kinds of patches, with the same managedFields; optimistic
//     concurrency; writes without a change keep the resourceVersion; dry runs.
//   - Subresources status and scale. A write of the object does not change its status, and a
//     write of the status nothing else. A Scale has the selector, and its fields have the paths
//     that the CRD names.
//   - metadata.generation, and which kinds have it.
//   - Immutable fields of built-in kinds, with 422. What may change depends on the state of a Pod, Job or claim.
//   - The type of a Service: a change of it allocates or clears the cluster IP, node ports and load balancer.
//   - Custom resources: pruning, defaults, and validation by the schema of the CRD, with 422. This includes
//     x-kubernetes-validations, x-kubernetes-list-type and x-kubernetes-embedded-resource. The code is that of the
//     API server. A change may keep what was invalid before. After a change of the CRD, reads have the fields and the
//     defaults of the new schema, and what is stored stays until the next write.
//   - A CustomResourceDefinition is validated, with its schemas, rules and their estimated cost. Its names are
//     accepted at once.
//   - A CRD that is deleted deletes its objects first.
//   - Finalizers and deletionTimestamp; preconditions and propagation policies of deletes;
//     owner references and garbage collection; namespaces.
//   - Built-in kinds are stored as Go's types have them: canonical quantities and base64, no
//     unknown fields, the stringData of a Secret in data. Fields that rules are likely to read
//     are defaulted: the specs of workloads, Jobs, autoscalers and claims, the type of a
//     Service or Secret, the address families and the internal traffic policy of a Service, the protocol and target
//     of ports, the restartPolicy of Pods, the imagePullPolicy of containers.
//
// # What is different
//
//   - Other fields of built-in kinds have no defaults, such as the times of probes. Values are
//     not validated, except metadata, types and immutable fields. A Service gets a cluster IP,
//     and a Pod, claim and Namespace a phase. A Job gets no selector.
//   - An object of Put keeps its uid, its generation and a creationTimestamp in the past.
//   - Some mistakes in the schema of a CRD are rejected in other words, and its webhook for
//     conversion, selectableFields and deprecationWarning are not validated.
//   - Webhooks of a CRD are not called. Conversion between versions changes the apiVersion alone.
//   - There are no workload controllers, scheduler or kubelets. MarkReady sets the status that
//     they would set: a Pod runs, or has completed if its restartPolicy is not Always. A Pod is deleted at once.
//     A Deployment has no ReplicaSets.
//   - The paths of the scale subresource are spec.replicas and status.replicas for a custom kind
//     that is known from the OpenAPI document of a cluster alone.
//   - Clients have no watches: see Since. Package server has them. There are no RBAC, quotas, or admission plugins
//     other than the namespace lifecycle.
//
// # How this is tested
//
// The tests send stories, which are sequences of requests, to this cluster and to a real
// control plane, and compare every response and object. The responses of the control plane
// are recorded in testdata/answers, so that most tests need none.
package sim

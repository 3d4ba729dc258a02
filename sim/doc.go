// Package sim is a cluster in memory, faithful enough to test rules on: what
// rules and the engine can tell of a Kubernetes API server is the same here.
//
//	cluster, err := sim.New(sim.Options{Kinds: kinds, Clock: clock})
//	client := cluster.Client("reconcel") // a dynamic.Interface
//
// Everything happens in the call that asks for it, in one order, and with the
// same result each time: uids, resource versions and generated names are
// counted or hashed, never random, and the time is what the clock says. Only
// what controllers do (garbage collection, the end of a namespace) waits for a
// call of Collect, so that a test decides how late they are.
//
// # What is the same
//
//   - Server-side apply with the types of the kind's schema, by the code that the
//     API server uses: managedFields, conflicts with their causes, co-ownership,
//     removal of fields, the apply that only creates, guards by uid and
//     resourceVersion, and the 500 without a reason for a field that is not in
//     the schema.
//   - Create, update, merge patch and JSON patch, with the same managedFields;
//     optimistic concurrency; a write that changes nothing keeps the
//     resourceVersion; dry runs.
//   - Subresources status and scale. The status of an object does not change
//     through the object, nor the rest of it through its status.
//   - generation, and which kinds have one.
//   - What cannot be changed of built-in kinds, with 422.
//   - Custom resources: pruning, defaults and validation as the CRD says, with
//     422.
//   - Finalizers and deletionTimestamp; preconditions and propagation policies
//     of a delete; owner references and their garbage collection; namespaces.
//   - Built-in kinds are stored as Kubernetes' own types have them: quantities
//     and base64 in their canonical form, unknown fields dropped, stringData of
//     a Secret moved into data. What rules are likely to read is defaulted: the
//     specs of workloads, Jobs, autoscalers and claims, the type of a Service or
//     Secret, the protocol and target of ports, the restartPolicy of Pods.
//
// # What is not
//
//   - Other fields of built-in kinds are not defaulted, those of a container for
//     one, nor are their values validated beyond metadata, types and what of an
//     object cannot be changed (a Job's template, say). A Service gets a cluster
//     IP, a Pod, a claim and a Namespace their first phase; a Job gets no
//     selector.
//   - x-kubernetes-validations, x-kubernetes-list-type (where no apply is
//     concerned) and webhooks of a CRD are not evaluated. Versions of a kind
//     are converted by changing the apiVersion alone.
//   - Nothing runs: there are no workload controllers, scheduler or kubelets.
//     MarkReady does what they would. A Pod is deleted at once, there being
//     nobody to stop it.
//   - The scale subresource is about spec.replicas and status.replicas for all
//     kinds, whatever a CRD says.
//   - No watches, strategic merge patches, RBAC, quotas or admission plugins
//     other than the namespace lifecycle.
//
// # How this is known
//
// The tests tell stories, sequences of requests, to this cluster and to a real
// control plane, and compare every answer and object. The answers of the latter
// are in testdata/answers, so that most of it is tested without one.
package sim

// Package deploy makes the objects by which reconcel runs in a cluster: the
// permissions that rules need, and the workload that follows the rules.
//
// # Permissions
//
// Needs derives from compiled rules which requests the engine makes, kind by
// kind, and gives each permission its reason. There is no wildcard, and nothing
// that the engine does not ask for:
//
//   - What rules are for is listed and watched. Where rules have children, or a
//     selector, one object is read before anything is deleted or left.
//   - Children are listed and watched, read before they are deleted, made and
//     changed by server-side apply (patch, and create for what does not exist),
//     and deleted when a rule does not render them any more.
//   - What rules look up is listed and watched.
//   - Status is applied through the subresource where the kind has one.
//   - What a rule writes into its primary, a patch or a finalizer, is a patch.
//
// Discovery and OpenAPI, which the engine reads as well, are open to every
// authenticated client (the ClusterRole system:discovery of Kubernetes).
//
// The engine watches all namespaces, so that what rules need is given in a
// ClusterRole, whatever the rules say of namespaces. Only its own objects have a
// Role. Where only some namespaces are to be followed (Options.Namespaced) the
// same permissions are given in a Role in each of them, and nothing is made that
// belongs to the whole cluster.
//
// What is derived belongs to the rules as they are. A kind that they do not
// render any more, or a finalizer of a rule that is gone, is cleared away under
// the permissions that were needed before: these have to stay until that is done.
//
// # Accounts
//
// What rules write as a ServiceAccount is needed by the account and not by the
// engine, which may act as exactly the accounts that are named. An account gets a
// ClusterRole, as what it is bound in is decided apart from what it may do: in the
// namespaces that rules name if they write nowhere else, in all namespaces
// otherwise. The account of each namespace is bound by whoever the namespace
// belongs to.
//
// # Owner references
//
// Children carry owner references with blockOwnerDeletion. The admission plugin
// OwnerReferencesPermissionEnforcement, which Kubernetes has off and OpenShift
// on, demands for them update on the subresource finalizers of the owner. The
// engine never makes that request, so it is allowed on demand only
// (EnforcedOwners).
//
// # Admission
//
// Policies makes a ValidatingAdmissionPolicy for each rule, by which whoever makes
// or changes a primary must hold the rights that stand behind what the rule does
// for it. Who that was cannot be told later: only at admission there is somebody
// to ask about.
//
//   - Who creates a primary must be allowed to create its children, those of
//     finalize among them; to patch them too where they may be adopted.
//   - Who changes one must be allowed to create, patch and delete them: another
//     name is another object, and a list that has shrunk deletes.
//   - Both must be allowed to read what is looked up, since it shows in status and
//     children.
//   - Where a child is a primary of other rules, what they do is asked of the
//     author too. The engine makes such a child, and is asked for nothing.
//   - Who deletes a primary is asked for nothing, as with Kubernetes' own owners.
//
// All is asked of a rule as it stands: when is not known to a policy. What is in a
// computed namespace is asked for in all, unless the rule allows none but the
// primary's own.
//
// # Manifests
//
// The workload stands in manifests/, as YAML with comments, which are for whoever
// reads the result. Values are put into the parsed documents, never into text.
package deploy

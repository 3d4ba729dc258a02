// Package deploy generates the objects that run reconcel in a cluster: the RBAC
// permissions that rules need, and the workload that runs the rules.
//
// # Permissions
//
// Needs derives the engine's requests from compiled rules, kind by kind, and gives
// a reason for each permission. There are no wildcards and no unused permissions:
//
//   - Primaries are listed and watched. If rules have children or a selector, the
//     engine also reads a primary before it deletes or orphans anything.
//   - Children are listed, watched, and read before they are deleted. They are
//     created and changed by server-side apply (patch, and create for missing
//     objects), and deleted when a rule no longer renders them.
//   - Lookups are listed and watched.
//   - Status is applied through the subresource if the kind has one.
//   - Patches and finalizers of primaries are written with patch.
//
// The engine also reads discovery and OpenAPI. Kubernetes permits these to every
// authenticated client with the ClusterRole system:discovery.
//
// The engine watches all namespaces, so the permissions for rules are in a
// ClusterRole, even if the rules restrict their namespaces. Only the engine's own
// objects have a Role. With Options.Namespaced, each watched namespace gets a Role
// with the same permissions, and nothing cluster-wide is generated.
//
// The permissions match the current rules. The cleanup of a kind that rules no
// longer render, or of a removed rule's finalizer, needs the earlier permissions.
// The engine's process keeps them in the cleanup roles until the cleanup is
// complete, see CleanupNeeds and BundleNeeds.
//
// # Accounts
//
// If rules write as a ServiceAccount, that ServiceAccount needs the permissions to
// write. The engine may impersonate exactly the named ServiceAccounts. Each of them
// gets a ClusterRole, because its bindings are independent of its permissions. It
// is bound in the namespaces that the rules name if they write nowhere else, and
// in all namespaces otherwise. If each namespace has its own ServiceAccount, the
// owner of the namespace creates the binding.
//
// # Owner references
//
// Children have owner references with blockOwnerDeletion. The admission plugin
// OwnerReferencesPermissionEnforcement then requires update on the finalizers
// subresource of the owner. It is off by default in Kubernetes and on in OpenShift.
// The engine never sends that request, so Needs adds the permission only with
// EnforcedOwners.
//
// # Admission
//
// Policies generates a ValidatingAdmissionPolicy for each rule. It requires the
// author of a primary to hold the permissions for the rule's actions. The author is
// known only at admission, so the engine cannot check this later.
//
//   - A user who creates a primary needs permission to create its children,
//     including those of finalize, and to patch children that may be adopted.
//   - A user who changes a primary needs permission to create, patch and delete its
//     children: a new name is a new object, and a shorter list deletes objects.
//   - Both need permission to read lookups, because their contents appear in the
//     status and in children.
//   - If a child is a primary of other rules, the author needs the permissions for
//     those rules too. The engine creates such a child, and its own requests are
//     not checked.
//   - A user who deletes a primary needs no further permission, as with owners in
//     Kubernetes.
//
// A policy checks all parts of a rule, because it cannot evaluate a rule's "when".
// Objects in a computed namespace need the permission in all namespaces, unless the
// rule allows only the primary's own namespace.
//
// # Manifests
//
// The workload is in manifests/, as YAML with comments for readers of the
// generated files. Values are inserted into the parsed documents, not into text.
package deploy

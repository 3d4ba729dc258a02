package leader

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Resource is the resource of a Lease.
var Resource = coordinationv1.SchemeGroupVersion.WithResource("leases")

// A Record is what a Lease says about the leader.
type Record struct {
	Holder  string    // empty: the last holder has released the Lease
	Renewed time.Time // zero: not known
	Expires time.Time
}

// RecordOf reads a Lease. The API server validates its fields, so a malformed one
// counts as released.
func RecordOf(lease *unstructured.Unstructured) Record {
	var typed coordinationv1.Lease
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(lease.Object, &typed)
	r := resourcelock.LeaseSpecToLeaderElectionRecord(&typed.Spec)
	renewed := r.RenewTime.Time
	return Record{r.HolderIdentity, renewed, renewed.Add(time.Duration(r.LeaseDurationSeconds) * time.Second)}
}

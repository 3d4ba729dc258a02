package expr

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel/library"
)

// A meter charges by length the calls that CEL charges one unit: those whose types are
// known only at run time, and those of other libraries.
type meter struct{ library library.CostEstimator }

// quantityCost is the cost of a call for each argument that is a quantity.
const quantityCost = 10

// CallCost returns the cost of a call, or nil for CEL's own estimate.
func (m *meter) CallCost(function, overloadID string, args []ref.Val, result ref.Val) *uint64 {
	quantities := uint64(0)
	for _, arg := range args {
		if _, ok := quantityOf(arg); ok {
			quantities += quantityCost
		}
	}
	if quantities > 0 {
		return &quantities
	}
	if cost := m.library.CallCost(function, overloadID, args, result); cost != nil {
		return cost
	}
	cost := uint64(1 + byteLength(result)/10)
	product := uint64(1)
	for _, arg := range args {
		n := uint64(byteLength(arg))
		if l, ok := arg.(traits.Lister); ok && function == operators.In {
			n = uint64(sizeOf(l)) * 10
		}
		cost += n / 10
		product *= 1 + n/10
	}
	if function == overloads.Matches || function == overloads.Contains {
		cost = product
	}
	if overloadID != "" && cost < 10 {
		return nil
	}
	return &cost
}

// byteLength is the length of text and bytes.
func byteLength(v ref.Val) int {
	if b, ok := v.(types.Bytes); ok {
		return len(b)
	}
	return len(textOf(v))
}

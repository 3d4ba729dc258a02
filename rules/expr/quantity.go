package expr

import (
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// Kubernetes' library of quantities has no way back to text, and no sum of a list.

// maxDigits bounds the digits of a quantity, and with them the time that every later
// use of it takes. The API server stores 28 at most.
const maxDigits = 100

func quantityFunctions() []cel.EnvOption {
	q := apiservercel.QuantityType
	return []cel.EnvOption{
		cel.Function("string", cel.Overload("quantity_to_string", []*cel.Type{q}, cel.StringType,
			cel.UnaryBinding(quantityText))),
		cel.Function("sum", cel.MemberOverload("list_quantity_sum_quantity", []*cel.Type{cel.ListType(q)}, q,
			cel.UnaryBinding(sumQuantities))),
	}
}

// quantityOf returns the quantity that a value is. Kubernetes' library makes both values
// and pointers.
func quantityOf(v ref.Val) (*resource.Quantity, bool) {
	switch v := v.(type) {
	case apiservercel.Quantity:
		return v.Quantity, true
	case *apiservercel.Quantity:
		return v.Quantity, true
	}
	return nil, false
}

// quantityText returns the canonical form of a quantity. It works on a copy, because
// evaluations share constants, and Quantity.String writes into its receiver.
func quantityText(v ref.Val) ref.Val {
	q, ok := quantityOf(v)
	if !ok {
		return noOverload()
	}
	own := q.DeepCopy()
	number, suffix := own.CanonicalizeBytes(nil)
	return types.String(string(number) + string(suffix))
}

// sumQuantities has the format of the first quantity that is not zero, as add() does.
func sumQuantities(v ref.Val) ref.Val {
	list, ok := v.(traits.Lister)
	if !ok {
		return noOverload()
	}
	var sum resource.Quantity
	for it := list.Iterator(); it.HasNext() == types.True; {
		q, ok := quantityOf(it.Next())
		if !ok {
			return noOverload()
		}
		sum.Add(*q)
	}
	return apiservercel.Quantity{Quantity: &sum}
}

// sumValues adds up a list whose type may be known only now. CEL would take the overload
// for whole numbers.
func sumValues(sum func(operands) ref.Val) func(operands) ref.Val {
	return func(a operands) ref.Val {
		if list, ok := a[0].(traits.Lister); ok && sizeOf(list) > 0 {
			if _, ok := quantityOf(list.Get(types.IntZero)); ok {
				return sumQuantities(list)
			}
		}
		return sum(a)
	}
}

// digitsOf returns how many digits a number may have, with those of its exponent: 1e9999
// has ten thousand.
func digitsOf(s string) int {
	digits := len(s)
	if i := strings.LastIndexAny(s, "eE"); i >= 0 {
		if exponent, err := strconv.Atoi(s[i+1:]); err == nil {
			digits += max(exponent, -exponent)
		}
	}
	return digits
}

// quantityWork is the work of reading a number with all its digits.
func quantityWork(a operands) int {
	digits := min(digitsOf(textOf(a[0])), MaxWork)
	return digits * digits / 64
}

// readQuantity rejects quantities with too many digits.
func readQuantity(read func(operands) ref.Val) func(operands) ref.Val {
	return func(a operands) ref.Val {
		v := read(a)
		if _, ok := quantityOf(v); ok && digitsOf(textOf(a[0])) > maxDigits {
			return failf("quantity(): the number has more than %d digits", maxDigits)
		}
		return v
	}
}

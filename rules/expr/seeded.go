package expr

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// These functions give what kro gives for the same arguments, so that objects keep their
// names and ports when rules take the place of a ResourceGraphDefinition.

const seededAlphabet = "0123456789abcdefghijklmnopqrstuvwxyz"

func seededFunctions() []cel.EnvOption {
	str, integer := cel.StringType, cel.IntType
	return []cel.EnvOption{
		cel.Function("random.seededString", cel.Overload("random_seededString", []*cel.Type{integer, str}, str,
			cel.BinaryBinding(seededString))),
		cel.Function("random.seededInt", cel.Overload("random_seededInt", []*cel.Type{integer, integer, str}, integer,
			cel.FunctionBinding(seededInt))),
	}
}

// seededString takes each character from four bytes of a hash. So the characters repeat
// after eight.
func seededString(n, seed ref.Val) ref.Val {
	length, ok := n.(types.Int)
	if !ok || length < 1 || length > maxRandom {
		return failf("random.seededString(): the length must be between 1 and %d", maxRandom)
	}
	sum := sha256.Sum256([]byte(textOf(seed)))
	out := make([]byte, length)
	for i := range out {
		four := sum[i*4%len(sum):]
		out[i] = seededAlphabet[binary.BigEndian.Uint32(four)%uint32(len(seededAlphabet))]
	}
	return types.String(out)
}

func seededInt(args ...ref.Val) ref.Val {
	least, isInt := args[0].(types.Int)
	end, isIntToo := args[1].(types.Int)
	if !isInt || !isIntToo {
		return noOverload()
	}
	if least >= end {
		return failf("random.seededInt(): the first number must be less than the second")
	}
	sum := sha256.Sum256([]byte(textOf(args[2])))
	// The difference of any two numbers fits an unsigned one.
	return least + types.Int(binary.BigEndian.Uint64(sum[:])%uint64(end-least))
}

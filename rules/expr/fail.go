package expr

import (
	"errors"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Fail is the function that fails with a message. Its result fits wherever it stands: it never returns one.
const Fail = "fail"

// maxSaid is the maximum length of the message in bytes. Each object of a rule may have one.
const maxSaid = 1024

// An authored is the message of fail().
type authored string

func (a authored) Error() string { return string(a) }

func failFunction() cel.EnvOption {
	return cel.Function(Fail, cel.Overload("fail_string", []*cel.Type{cel.StringType}, cel.TypeParamType("T"),
		cel.UnaryBinding(fail)))
}

var errSilent = errors.New("fail() needs a message")

// fail implements fail(message).
func fail(v ref.Val) ref.Val {
	said := strings.TrimSpace(textOf(v))
	if said == "" {
		return failf("%s", errSilent)
	}
	if len(said) > maxSaid {
		said = strings.ToValidUTF8(said[:maxSaid], "") + "…"
	}
	return types.WrapErr(authored(said))
}

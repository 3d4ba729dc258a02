package expr

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/internal/yamltext"
)

// functionLibrary declares reconcel's own functions. All are pure.
type functionLibrary struct{}

// ProgramOptions is empty.
func (functionLibrary) ProgramOptions() []cel.ProgramOption { return nil }

// CompileOptions declares the functions.
func (functionLibrary) CompileOptions() []cel.EnvOption {
	str, dyn := cel.StringType, cel.DynType
	anyMap := cel.MapType(str, dyn)
	opts := []cel.EnvOption{
		unaryFunction("json.marshal", dyn, str, marshalJSON),
		unaryFunction("json.unmarshal", str, dyn, unmarshalJSON),
		unaryFunction("yaml.marshal", dyn, str, marshalYAML),
		unaryFunction("yaml.unmarshal", str, dyn, unmarshalYAML),
		unaryFunction("json.tryUnmarshal", str, cel.OptionalType(dyn), orAbsent(unmarshalJSON)),
		unaryFunction("yaml.tryUnmarshal", str, cel.OptionalType(dyn), orAbsent(unmarshalYAML)),
		unaryFunction("url.escape", str, str, escapeURL),
		failFunction(),
		cel.Function(fileFunction, cel.Overload(fileFunction, []*cel.Type{str}, str)),
		unaryFunction("certificates", str, cel.ListType(anyMap), certificates),
		hashFunction("hash.sha256", sha256.New),
		hashFunction("hash.md5", md5.New),
		hashFunction("hash.fnv64a", func() hash.Hash { return fnv.New64a() }),
		binaryFunction("merge", []*cel.Type{anyMap, anyMap}, anyMap,
			func(a, b ref.Val) ref.Val { return mergeMaps(a, b, shallow) }),
		binaryFunction("deepMerge", []*cel.Type{anyMap, anyMap}, anyMap,
			func(a, b ref.Val) ref.Val { return mergeMaps(a, b, deep) }),
		cel.Function(MergeApply, cel.Overload("mergeApply_3", []*cel.Type{str, anyMap, anyMap}, anyMap,
			cel.FunctionBinding(mergeApply))),
		cel.Function("mergeBy", cel.Overload("mergeBy_3", []*cel.Type{cel.ListType(dyn), cel.ListType(dyn), str},
			cel.ListType(dyn), cel.FunctionBinding(mergeLists))),
		binaryFunction("randomString", []*cel.Type{str, cel.IntType}, str, randomString),
	}
	opts = append(opts, shortNameFunction())
	return slices.Concat(opts, quantityFunctions(), indexFunctions(), seededFunctions(), timeFunctions(), dataFunctions(),
		idFunctions(), selectorFunctions())
}

func unaryFunction(name string, arg, result *cel.Type, f func(ref.Val) ref.Val) cel.EnvOption {
	id := strings.ReplaceAll(name, ".", "_")
	return cel.Function(name, cel.Overload(id, []*cel.Type{arg}, result, cel.UnaryBinding(f)))
}

func binaryFunction(name string, args []*cel.Type, result *cel.Type, f func(a, b ref.Val) ref.Val) cel.EnvOption {
	return cel.Function(name, cel.Overload(name+"_2", args, result, cel.BinaryBinding(f)))
}

func hashFunction(name string, algorithm func() hash.Hash) cel.EnvOption {
	return unaryFunction(name, cel.StringType, cel.StringType, func(v ref.Val) ref.Val {
		h := algorithm()
		_, _ = h.Write([]byte(textOf(v))) // Write never fails.
		return types.String(hex.EncodeToString(h.Sum(nil)))
	})
}

func marshalJSON(v ref.Val) ref.Val {
	out, err := appendLimited(v)
	if err != nil {
		return failf("json.marshal(): %s", err)
	}
	return types.String(out)
}

func marshalYAML(v ref.Val) ref.Val {
	out, err := appendLimited(v)
	if err != nil {
		return failf("yaml.marshal(): %s", err)
	}
	out, err = yamltext.FromJSON(out)
	if err != nil {
		return failf("yaml.marshal(): the value has no YAML form")
	}
	return types.String(out)
}

func appendLimited(v ref.Val) ([]byte, error) {
	out, err := (&Appender{Limit: maxOutput}).Append(nil, v)
	if len(out) > maxOutput {
		err = failure(fmt.Sprintf("the result is larger than %d KiB", maxOutput>>10))
	}
	return out, err
}

// unmarshalJSON keeps whole numbers as integers.
func unmarshalJSON(v ref.Val) ref.Val {
	var out any
	if err := utiljson.Unmarshal([]byte(textOf(v)), &out); err != nil {
		return failf("json.unmarshal(): the text is not JSON") // The error could quote it.
	}
	return types.DefaultTypeAdapter.NativeToValue(out)
}

// orAbsent returns a function whose result is absent where f fails.
func orAbsent(f func(ref.Val) ref.Val) func(ref.Val) ref.Val {
	return func(v ref.Val) ref.Val {
		out := f(v)
		if types.IsError(out) {
			return types.OptionalNone
		}
		return types.OptionalOf(out)
	}
}

// alphabet is that of Kubernetes' generated names: without vowels, so that names
// form no words, and without characters that look alike.
const alphabet = "bcdfghjklmnpqrstvwxz2456789"

const maxRandom = 253

// randomString returns n characters that depend on the seed alone.
func randomString(seed, n ref.Val) ref.Val {
	length, ok := n.(types.Int)
	if !ok || length < 0 || length > maxRandom {
		return failf("randomString(): the length must be between 0 and %d", maxRandom)
	}
	return types.String(hashText(textOf(seed), int(length)))
}

func hashText(seed string, n int) string {
	out := make([]byte, 0, n)
	for block := uint64(0); len(out) < n; block++ {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(seed), block))
		for _, b := range sum {
			// Skipping the remaining values keeps all characters equally likely.
			if int(b) < 256/len(alphabet)*len(alphabet) && len(out) < n {
				out = append(out, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(out)
}

const (
	maxName    = 63
	nameSuffix = 8
	// CEL functions have a fixed number of arguments. shortName takes more as a list.
	maxParts = 6
)

func shortNameFunction() cel.EnvOption {
	binding := cel.FunctionBinding(func(args ...ref.Val) ref.Val { return shortName(args) })
	overloads := []cel.FunctionOpt{
		cel.Overload("shortName_list", []*cel.Type{cel.ListType(cel.StringType)}, cel.StringType,
			cel.UnaryBinding(func(v ref.Val) ref.Val { return shortNameOf(v) })),
		cel.Overload("shortName_1", []*cel.Type{cel.StringType}, cel.StringType,
			cel.UnaryBinding(func(v ref.Val) ref.Val { return shortName([]ref.Val{v}) })),
		cel.Overload("shortName_2", []*cel.Type{cel.StringType, cel.StringType}, cel.StringType,
			cel.BinaryBinding(func(a, b ref.Val) ref.Val { return shortName([]ref.Val{a, b}) })),
	}
	args := []*cel.Type{cel.StringType, cel.StringType}
	for n := 3; n <= maxParts; n++ {
		args = append(args[:n-1:n-1], cel.StringType)
		overloads = append(overloads, cel.Overload("shortName_"+string(rune('0'+n)), args, cel.StringType, binding))
	}
	return cel.Function("shortName", overloads...)
}

func shortNameOf(v ref.Val) ref.Val {
	list, ok := v.(traits.Lister)
	if !ok {
		return failf("shortName() needs texts")
	}
	var parts []ref.Val
	for it := list.Iterator(); it.HasNext() == types.True; {
		parts = append(parts, it.Next())
	}
	return shortName(parts)
}

// shortName joins its parts with dashes. It cuts a name that is too long for a label,
// and appends a hash of all parts, so that different parts give different names.
func shortName(parts []ref.Val) ref.Val {
	texts := make([]string, len(parts))
	for i, p := range parts {
		s, ok := p.(types.String)
		if !ok {
			return failf("shortName() needs texts")
		}
		texts[i] = string(s)
	}
	name := strings.Join(texts, "-")
	if len(name) <= maxName {
		return types.String(name)
	}
	// The hash includes the borders of parts: ("a-b","c") is not ("a","b-c").
	head := strings.TrimRight(name[:maxName-nameSuffix-1], "-._")
	return types.String(head + "-" + hashText(strings.Join(texts, "\x00"), nameSuffix))
}

const hexDigits = "0123456789ABCDEF"

// escapeURL escapes all but the characters that RFC 3986 calls unreserved. The result
// stands for the same text in all parts of a URL: a user name, a password, a segment of
// the path, a key or value of the query.
func escapeURL(v ref.Val) ref.Val {
	s := textOf(v)
	out := make([]byte, 0, escapedLength(s))
	for _, c := range []byte(s) {
		if isUnreserved(c) {
			out = append(out, c)
		} else {
			out = append(out, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return types.String(out)
}

func escapedLength(s string) int {
	n := len(s)
	for _, c := range []byte(s) {
		if !isUnreserved(c) {
			n += 2
		}
	}
	return n
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

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

// A Function is a function that expressions can call, for editors.
type Function struct {
	Name  string
	Usage []string // how it can be called, like "string.split(string): list of string"
}

// Functions returns the functions that are called without a value before them, sorted
// by name.
func Functions() []Function {
	return functionsWhere(func(o *decls.OverloadDecl) bool { return !o.IsMemberFunction() }, "")
}

// Methods returns the functions that are called on a value of a type, sorted by name.
func Methods(t *types.Type) []Function {
	on := ""
	switch t.Kind() {
	case types.ListKind:
		on = "list"
	case types.MapKind, types.StructKind:
		on = "map"
	case types.OpaqueKind:
		on = "optional"
	case types.DynKind:
		on = "any"
	}
	return functionsWhere(func(o *decls.OverloadDecl) bool { return o.IsMemberFunction() && accepts(o.ArgTypes()[0], t) },
		on)
}

// Overloads returns the declarations of a function or operator, in the order of their names.
func Overloads(function string) []*decls.OverloadDecl {
	b, err := base()
	if err != nil || b.declared[function] == nil {
		return nil
	}
	return slices.SortedFunc(slices.Values(b.declared[function].OverloadDecls()), func(a, b *decls.OverloadDecl) int {
		return strings.Compare(a.ID(), b.ID())
	})
}

// accepts reports whether a function for one type may be called on a value of another.
func accepts(receiver, t *types.Type) bool {
	switch {
	case t.Kind() == types.DynKind || receiver.Kind() == types.TypeParamKind || receiver.Kind() == types.DynKind:
		return true
	case receiver.Kind() == types.OpaqueKind:
		return receiver.TypeName() == t.TypeName()
	case t.Kind() == types.StructKind:
		return receiver.Kind() == types.MapKind
	}
	return receiver.Kind() == t.Kind()
}

// functionsWhere returns the functions with an overload that is meant, and the macros
// that are called on such a value.
func functionsWhere(meant func(*decls.OverloadDecl) bool, on string) []Function {
	b, err := base()
	if err != nil {
		return nil
	}
	found := map[string][]string{}
	for _, name := range b.functions {
		for _, o := range b.declared[name].OverloadDecls() {
			if meant(o) {
				found[name] = append(found[name], usageOf(name, o))
			}
		}
	}
	for name, usage := range usages {
		target, _, _ := strings.Cut(usage, "."+name+"(")
		if target == usage || strings.HasPrefix(usage, name+"(") {
			target = ""
		}
		if target == on || on == "any" && target != "" || on == "map" && target == "list" {
			found[name] = append(found[name], usage)
		}
	}
	var all []Function
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, Function{name, found[name]})
	}
	return all
}

func usageOf(name string, o *decls.OverloadDecl) string {
	var args []string
	for _, a := range o.ArgTypes() {
		args = append(args, TypeName(a))
	}
	call := name
	if o.IsMemberFunction() {
		call = args[0] + "." + name
		args = args[1:]
	}
	return call + "(" + strings.Join(args, ", ") + "): " + TypeName(o.ResultType())
}

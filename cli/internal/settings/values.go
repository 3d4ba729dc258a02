package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// A Value is the value of a flag, with an error message in plain words.
type Value[T any] struct {
	Value T
	kind  string   // shown in help and messages
	words []string // all values, if they are a few words
	parse func(string) (T, error)
}

// String implements pflag.Value.
func (v *Value[T]) String() string {
	if s, ok := any(&v.Value).(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprint(v.Value)
}

// Type implements pflag.Value. Help shows it.
func (v *Value[T]) Type() string { return v.kind }

// Set implements pflag.Value.
func (v *Value[T]) Set(s string) error {
	parsed, err := v.parse(s)
	if err == nil {
		v.Value = parsed
	}
	return err
}

// Choices returns all values that the flag accepts, or nil if they are no list.
func (v *Value[T]) Choices() []string { return v.words }

// Types whose values reconcel.yaml may hold as something other than a string.
const (
	typeNumber   = "number"
	typeDuration = "duration"
)

// Choice returns a value that is one of a few words. The first is the default.
func Choice(words ...string) *Value[string] {
	return &Value[string]{words[0], strings.Join(words, "|"), words, func(s string) (string, error) {
		if !slices.Contains(words, s) {
			return "", fmt.Errorf("expected %s", strings.Join(words, " or "))
		}
		return s, nil
	}}
}

// Count returns a whole number with a minimum.
func Count(initial, least int) *Value[int] {
	return &Value[int]{initial, typeNumber, nil, func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < least {
			return 0, fmt.Errorf("expected a whole number of at least %d", least)
		}
		return n, nil
	}}
}

// Percentage returns a whole number from 0 to 100, 0 by default.
func Percentage() *Value[int] {
	return &Value[int]{0, typeNumber, nil, func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > 100 {
			return 0, errors.New("expected a whole number from 0 to 100")
		}
		return n, nil
	}}
}

// Amount returns a whole number or a percentage from 0% to 100%.
func Amount(initial string) *Value[intstr.IntOrString] {
	return &Value[intstr.IntOrString]{intstr.Parse(initial), "number|percentage", nil,
		func(s string) (intstr.IntOrString, error) {
			n := intstr.Parse(s)
			of100, err := intstr.GetScaledValueFromIntOrPercent(&n, 100, true)
			if err != nil || of100 < 0 || n.Type == intstr.String && of100 > 100 {
				return n, errors.New("expected a whole number, or a percentage like 10%")
			}
			return n, nil
		}}
}

// Rate returns a number per second, 0 by default.
func Rate() *Value[float32] {
	return &Value[float32]{0, typeNumber, nil, func(s string) (float32, error) {
		f, err := strconv.ParseFloat(s, 32)
		if err != nil || f < 0 || math.IsNaN(f) || math.IsInf(f, 0) {
			return 0, errors.New("expected a number of at least 0")
		}
		return float32(f), nil
	}}
}

// Port returns the number of a TCP port, 0 by default.
func Port() *Value[int] {
	return &Value[int]{0, typeNumber, nil, func(s string) (int, error) {
		n, err := strconv.ParseUint(s, 10, 16)
		if err != nil {
			return 0, errors.New("expected a port from 0 to 65535")
		}
		return int(n), nil
	}}
}

// Span is a duration that is not negative, or Never.
type Span time.Duration

// Never is the duration without an end.
const Never Span = -1

// String omits zero minutes and seconds: 12h, not 12h0m0s.
func (d Span) String() string {
	if d == Never {
		return "never"
	}
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "h0m0s") {
		return strings.TrimSuffix(s, "0m0s")
	}
	return s
}

// Duration returns a duration that is not negative.
func Duration(initial time.Duration) *Value[Span] {
	return &Value[Span]{Span(initial), typeDuration, nil, func(s string) (Span, error) {
		t, err := time.ParseDuration(s)
		if err != nil || t < 0 {
			return 0, errors.New("expected a duration such as 12h or 90s, or 0")
		}
		return Span(t), nil
	}}
}

// DurationOrNever returns a duration that is not negative, or Never.
func DurationOrNever(initial time.Duration) *Value[Span] {
	v := Duration(initial)
	v.kind, v.parse = "duration|never", func(s string) (Span, error) {
		t, err := time.ParseDuration(s)
		switch {
		case s == Never.String():
			return Never, nil
		case err != nil || t < 0:
			return 0, errors.New("expected a duration such as 500ms, or never")
		}
		return Span(t), nil
	}
	return v
}

// LogLevel returns a level of slog, info by default.
func LogLevel() *Value[string] {
	level := Choice("debug", "info", "warn", "error")
	level.Value = "info"
	return level
}

// Level converts a level for slog.
func Level(of *Value[string]) (l slog.Level) {
	_ = l.UnmarshalText([]byte(of.Value)) // It is already validated.
	return l
}

// Off is the address that disables a listener.
const Off = "off"

// Address returns an address to listen on, or Off.
func Address(initial string) *Value[string] {
	return &Value[string]{initial, "address", nil, func(s string) (string, error) {
		if _, err := hostOf(s); s != Off && err != nil {
			return "", errors.New("expected an address such as 127.0.0.1:8080 or :8080, or off")
		}
		return s, nil
	}}
}

// Loopback returns an address that only this machine can reach, Off by default.
func Loopback() *Value[string] {
	return &Value[string]{Off, "address", nil, func(s string) (string, error) {
		host, err := hostOf(s)
		switch {
		case s == Off:
		case err != nil:
			return "", errors.New("expected an address such as 127.0.0.1:6060, or off")
		case !IsLoopback(host):
			return "", errors.New("expected a loopback address such as 127.0.0.1:6060 (kubectl port-forward reaches it from " +
				"elsewhere)")
		}
		return s, nil
	}}
}

// hostOf returns the host of an address. Its port must be a number or a known name.
func hostOf(address string) (host string, err error) {
	host, port, err := net.SplitHostPort(address)
	if err == nil && port == "" {
		err = errors.New("no port")
	}
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	return host, err
}

// IsLoopback reports whether a host is a loopback address.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

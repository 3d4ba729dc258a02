package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Flag values that know what is wrong with a text. Type is what help and
// messages call the value.

// choice is one of a few words.
type choice struct {
	text    string
	allowed []string
}

func (c *choice) String() string { return c.text }
func (c *choice) Type() string   { return strings.Join(c.allowed, "|") }
func (c *choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("expected %s", strings.Join(c.allowed, " or "))
	}
	c.text = s
	return nil
}

// outputFormat is the flag -o.
type outputFormat choice

func (f *outputFormat) flag(flags *pflag.FlagSet) {
	flags.VarP((*choice)(f), "output", "o", "format of the result")
}

// count is a whole number of at least min.
type count struct {
	n, min int
}

func (c *count) String() string { return strconv.Itoa(c.n) }
func (c *count) Type() string   { return typeNumber }
func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < c.min {
		return fmt.Errorf("expected a whole number of at least %d", c.min)
	}
	c.n = n
	return nil
}

// rate is a number per second; 0 is no limit.
type rate float32

func (r *rate) String() string { return strconv.FormatFloat(float64(*r), 'g', -1, 32) }
func (r *rate) Type() string   { return typeNumber }
func (r *rate) Set(s string) error {
	f, err := strconv.ParseFloat(s, 32)
	if err != nil || f < 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		return errors.New("expected a number of at least 0")
	}
	*r = rate(f)
	return nil
}

// span is a duration that is not negative.
type span time.Duration

func (d *span) String() string {
	s := time.Duration(*d).String()
	if strings.HasSuffix(s, "h0m0s") {
		s = strings.TrimSuffix(s, "0m0s") // 12h0m0s is nothing that people write.
	}
	return s
}
func (d *span) Type() string { return typeDuration }
func (d *span) Set(s string) error {
	t, err := time.ParseDuration(s)
	if err != nil || t < 0 {
		return errors.New("expected a duration such as 12h or 90s, or 0")
	}
	*d = span(t)
	return nil
}

// level is a log level.
type level slog.Level

func (l *level) String() string { return strings.ToLower(slog.Level(*l).String()) }
func (l *level) Type() string   { return "debug|info|warn|error" }
func (l *level) Set(s string) error {
	names := strings.Split(l.Type(), "|")
	if !slices.Contains(names, s) {
		return fmt.Errorf("expected %s", strings.Join(names, " or "))
	}
	var parsed slog.Level
	if err := parsed.UnmarshalText([]byte(s)); err != nil {
		return err
	}
	*l = level(parsed)
	return nil
}

// The types of settings whose value is no text in reconcel.yaml.
const (
	typeNumber   = "number"
	typeDuration = "duration"
	typeList     = "stringSlice"
)

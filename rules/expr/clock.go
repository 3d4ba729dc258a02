package expr

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"reconcel/rules/cron"
)

// A Clock is the time at which a rule is evaluated. Expressions cannot read it: they ask
// whether a moment has come. The clock remembers the next moment that may change an answer.
type Clock struct{ now, next time.Time }

// ClockAt returns a clock that shows a time.
func ClockAt(now time.Time) Clock { return Clock{now: now} }

// Next returns the first moment that may change an answer, or the zero time.
func (c *Clock) Next() time.Time { return c.next }

// await remembers a moment to come.
func (c *Clock) await(moment time.Time) {
	if c.next.IsZero() || moment.Before(c.next) {
		c.next = moment
	}
}

// ClockVariable is the name of the *Clock that the functions of time read. Expressions
// cannot name it.
const ClockVariable = "@clock"

// The functions of time.
const (
	elapsedFunction = "elapsed"
	cronFunction    = "cron"
)

// checkConstants returns what is wrong with the constant arguments of a call.
func (c *guardedCall) checkConstants() error {
	for i, arg := range c.args {
		constant, ok := arg.(interpreter.InterpretableConst)
		if !ok {
			continue
		}
		text, ok := constant.Value().(types.String)
		if !ok {
			continue
		}
		switch {
		case c.Function() == Fail && strings.TrimSpace(string(text)) == "":
			return errSilent
		case c.Function() == cronFunction && i == 0:
			if _, err := cron.Parse(string(text)); err != nil {
				return fmt.Errorf("cron(): %w", err)
			}
		case c.Function() == elapsedFunction && i == 1:
			if _, err := time.ParseDuration(string(text)); err != nil {
				return fmt.Errorf("elapsed(): %q is not a duration, such as 1h30m", string(text))
			}
		case takesTimeZone(c.Function()) && i == 1, c.Function() == cronFunction && i == 2:
			if err := checkTimeZone(c.Function(), string(text)); err != nil {
				return err
			}
		}
	}
	return nil
}

// timed are the implementations of the functions of time.
var timed = map[string]func(*Clock, operands) ref.Val{elapsedFunction: elapsed, cronFunction: lastScheduled}

func timeFunctions() []cel.EnvOption {
	var elapses, schedules []cel.FunctionOpt
	for i, since := range []*cel.Type{
		cel.StringType, cel.TimestampType, cel.OptionalType(cel.StringType), cel.OptionalType(cel.TimestampType),
	} {
		in := []*cel.Type{cel.StringType, since, cel.StringType}
		for n := 2; n <= len(in); n++ {
			schedules = append(schedules, cel.Overload(fmt.Sprintf("cron_%d%d", i, n), in[:n],
				cel.OptionalType(cel.TimestampType)))
		}
		for j, duration := range []*cel.Type{cel.StringType, cel.DurationType} {
			elapses = append(elapses, cel.Overload(fmt.Sprintf("elapsed_%d%d", i, j), []*cel.Type{since, duration},
				cel.BoolType))
		}
	}
	return []cel.EnvOption{cel.Function(elapsedFunction, elapses...), cel.Function(cronFunction, schedules...)}
}

// clockOf returns the clock of an evaluation.
func clockOf(frame *interpreter.ExecutionFrame) *Clock {
	v, _ := frame.ResolveName(ClockVariable)
	c, ok := v.(*Clock)
	if !ok {
		return &Clock{}
	}
	return c
}

// timeOf returns the time that an argument of a function is, or else the result of the
// function without one: absent, or an error.
func timeOf(function string, v, absent ref.Val) (time.Time, ref.Val) {
	if o, ok := v.(*types.Optional); ok {
		if !o.HasValue() {
			return time.Time{}, absent
		}
		v = o.GetValue()
	}
	switch v := v.(type) {
	case types.Timestamp:
		return v.Time, nil
	case types.String:
		at, err := time.Parse(time.RFC3339, string(v))
		if err != nil {
			return time.Time{}, failf("%s(): the text is not a time, such as 2026-01-02T03:04:05Z", function)
		}
		return at, nil
	}
	return time.Time{}, noOverload()
}

// elapsed implements elapsed(time, duration).
func elapsed(c *Clock, a operands) ref.Val {
	since, without := timeOf(elapsedFunction, a[0], types.False)
	if without != nil {
		return without
	}
	var d time.Duration
	switch v := a[1].(type) {
	case types.Duration:
		d = v.Duration
	case types.String:
		var err error
		if d, err = time.ParseDuration(string(v)); err != nil {
			return failf("elapsed(): the text is not a duration, such as 1h30m")
		}
	default:
		return noOverload()
	}
	moment := since.Add(d)
	if c.now.Before(moment) {
		c.await(moment)
		return types.False
	}
	return types.True
}

// lastScheduled implements cron(schedule, time) and cron(schedule, time, zone).
func lastScheduled(c *Clock, a operands) ref.Val {
	text, ok := a[0].(types.String)
	if !ok {
		return noOverload()
	}
	schedule, err := cron.Parse(string(text))
	if err != nil {
		return failf("cron(): the text is not a schedule, such as 0 3 * * *")
	}
	if a[2] != nil {
		name, ok := a[2].(types.String)
		if !ok {
			return noOverload()
		}
		zone, wrong := locationOf(cronFunction, string(name))
		if wrong != nil {
			return wrong
		}
		schedule = schedule.In(zone)
	}
	since, without := timeOf(cronFunction, a[1], types.OptionalNone)
	if without != nil {
		return without
	}
	from := c.now
	if since.After(from) {
		from = since
	}
	if next, ok := schedule.Next(from); ok {
		c.await(next)
	}
	last, ok := schedule.Last(c.now)
	if !ok || !last.After(since) {
		return types.OptionalNone
	}
	return types.OptionalOf(types.Timestamp{Time: last})
}

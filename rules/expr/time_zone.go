package expr

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// takesTimeZone reports whether a function reads a part of a time, in a time zone that may be its argument.
func takesTimeZone(function string) bool {
	switch function {
	case "getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getHours", "getMinutes",
		"getSeconds", "getMilliseconds":
		return true
	}
	return false
}

// checkTimeZone returns what is wrong with a literal time zone.
func checkTimeZone(function, zone string) error {
	switch {
	case zone == machineZone:
		return fmt.Errorf("%s(): %q is the time zone of the machine on which reconcel runs: write %s", function, zone,
			timeZones)
	case strings.Contains(zone, ":"):
		return nil // CEL checks the offset when it runs.
	}
	if _, err := time.LoadLocation(zone); err != nil {
		return fmt.Errorf("%s(): %q is not a time zone: write %s", function, zone, timeZones)
	}
	return nil
}

const (
	machineZone = "Local"
	timeZones   = "a name such as Europe/Berlin, or an offset such as +02:00"
)

// inTimeZone rejects the time zone of the machine, and says what is wrong with others.
func inTimeZone(function string, run func(operands) ref.Val) func(operands) ref.Val {
	return func(a operands) ref.Val {
		zone, named := a[1].(types.String)
		if zone == machineZone {
			return failf("%s() does not take the time zone of the machine: write %s", function, timeZones)
		}
		v := run(a)
		if _, ofTime := a[0].(types.Timestamp); named && ofTime && types.IsError(v) {
			return failf("%s() does not know the time zone: write %s", function, timeZones)
		}
		return v
	}
}

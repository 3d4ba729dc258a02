package lint

import (
	"fmt"
	"strings"
	"time"

	"reconcel/rules/cron"
)

// cronMistake returns what is wrong with the schedule of a CronJob, or "".
func cronMistake(s string) string {
	if every, ok := strings.CutPrefix(s, "@every "); ok {
		if _, err := time.ParseDuration(every); err != nil {
			return fmt.Sprintf("%q is not a duration, such as 1h30m", every)
		}
		return ""
	}
	if strings.Contains(s, "TZ=") {
		return "a time zone belongs into timeZone"
	}
	if _, err := cron.Parse(s); err != nil {
		return err.Error()
	}
	return ""
}

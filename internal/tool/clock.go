package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	_ "time/tzdata" // time zones for machines without a zone database

	"parley/internal/llm"
)

// Clock returns a tool that returns the date and time in a time zone. A nil now means time.Now.
func Clock(now func() time.Time) Tool {
	if now == nil {
		now = time.Now
	}
	return Tool{
		Tool: llm.Tool{
			Name:        "date_time",
			Description: "Returns the current date, weekday, ISO week and time in a time zone.",
			Parameters:  json.RawMessage(`{"type":"object","properties":{"timezone":{"type":"string","description":"IANA name such as Europe/Berlin; UTC when absent"}},"additionalProperties":false}`),
		},
		Run: func(_ context.Context, call Call) (Result, error) {
			args, err := arguments[struct {
				Timezone string `json:"timezone"`
			}](call)
			if err != nil {
				return Result{}, err
			}
			if args.Timezone == "" || args.Timezone == "Local" {
				args.Timezone = "UTC"
			}
			zone, err := time.LoadLocation(args.Timezone)
			if err != nil {
				return Result{}, failf("There is no time zone of this name; it must be an IANA name such as Europe/Berlin.")
			}
			t := now().In(zone)
			_, week := t.ISOWeek()
			return Result{Text: fmt.Sprintf("%s (week %d), time zone %s", t.Format("Monday, 2 January 2006, 15:04:05 -07:00"), week, zone)}, nil
		},
	}
}

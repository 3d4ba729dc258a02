// Package cron computes the times of schedules such as "0 3 * * *". It reads them as
// Kubernetes' CronJobs do (github.com/robfig/cron/v3), in UTC or another time zone.
package cron

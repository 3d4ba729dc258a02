// Package cron computes the times of schedules such as "0 3 * * *". It reads them as
// Kubernetes' CronJobs do (github.com/robfig/cron/v3), always in UTC.
package cron

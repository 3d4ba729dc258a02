// Package reconcile reconciles one primary, from the cache to the report.
package reconcile

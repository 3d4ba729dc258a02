// Package queue turns events of watches into requests, and hands them out.
package queue

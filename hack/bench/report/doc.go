// Package report turns the results of a benchmark into a table, plots and a page of the
// documentation. It measures nothing.
package report

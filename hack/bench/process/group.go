package process

import (
	"context"
	"errors"
	"io"
	"slices"
)

// Group is processes that do one job together. Their CPU and memory are summed.
type Group []*Process

// StartGroup starts processes in order. If one of them ends before Stop, died is called as by
// Start.
func StartGroup(commands []Command, died func(error)) (Group, error) {
	var group Group
	for _, c := range commands {
		p, err := c.Start(died)
		if err != nil {
			group.Stop(context.Background())
			return nil, err
		}
		group = append(group, p)
	}
	return group, nil
}

// Stdin is the standard input of the last process.
func (g Group) Stdin() io.Writer { return g[len(g)-1].Stdin }

// Usage returns the sums of what the processes have used so far: also of their peaks, which
// need not be at the same time.
func (g Group) Usage() (sum Usage, err error) {
	for _, p := range g {
		usage, usageErr := p.Usage()
		sum, err = sum.add(usage), errors.Join(err, usageErr)
	}
	return sum, err
}

// Stop stops the processes, the last one first.
func (g Group) Stop(ctx context.Context) {
	for _, p := range slices.Backward(g) {
		p.Stop(ctx)
	}
}

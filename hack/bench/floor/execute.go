package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"reconcel/hack/bench/order"
)

// workers is the number of requests that are sent at the same time.
const workers = 16

// execute reads orders, one a line, and calls write for each, until the reader ends, a
// write fails or ctx ends. It always returns an error. It does not wait for the read,
// which only the end of orders can interrupt.
func execute(ctx context.Context, orders io.Reader, write func(context.Context, order.Order) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	work, ended := make(chan order.Order), make(chan error, 1)
	go func() {
		defer close(work)
		ended <- read(ctx, orders, work)
	}()
	var busy sync.WaitGroup
	for range workers {
		busy.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case o, more := <-work:
					if !more {
						return
					}
					if err := write(ctx, o); err != nil {
						fail(fmt.Errorf("%s: %w", o.Name, err))
					}
				}
			}
		})
	}
	busy.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return <-ended
}

// read passes orders on until they or ctx end. It always returns an error.
func read(ctx context.Context, orders io.Reader, work chan<- order.Order) error {
	decoder := json.NewDecoder(orders)
	for {
		var o order.Order
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return errors.New("there are no more orders: standard input has ended")
		}
		if err != nil {
			return fmt.Errorf("read an order: %w", err)
		}
		select {
		case work <- o:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

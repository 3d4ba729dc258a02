//go:build js

// Command wasm is the program that the page runs in a worker. It calls the function ready of
// the worker with a function that answers requests.
package main

import (
	"context"
	"syscall/js"

	"reconcel/cli/playground"
)

func main() {
	js.Global().Call("ready", js.FuncOf(func(_ js.Value, args []js.Value) any {
		answer, err := playground.Respond(context.Background(), []byte(args[0].String()))
		if err != nil {
			return js.Global().Get("Error").New(err.Error())
		}
		return string(answer)
	}))
	select {}
}

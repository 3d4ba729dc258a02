package lsp

import "encoding/json"

// A message is a request, a response or a notification of JSON-RPC 2.0.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"` // a number or a string; none: a notification
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *wireError      `json:"error,omitempty"`
}

// A wireError is the answer to a request that failed.
type wireError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *wireError) Error() string { return e.Message }

// Codes of errors, from JSON-RPC and the Language Server Protocol.
const (
	parseError       = -32700
	invalidRequest   = -32600
	methodNotFound   = -32601
	invalidParams    = -32602
	internalError    = -32603
	notInitialized   = -32002
	requestCancelled = -32800
)

func (m *message) isRequest() bool { return len(m.ID) > 0 && m.Method != "" }

// null is the result of a request without an answer: a nil result would be left out.
var null = json.RawMessage("null")

func answer(id json.RawMessage, result any, err *wireError) message {
	switch {
	case err != nil:
		result = nil
	case result == nil:
		result = null
	}
	if len(id) == 0 {
		id = null
	}
	return message{Version: "2.0", ID: id, Result: result, Error: err}
}

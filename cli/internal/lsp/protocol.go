package lsp

import "encoding/json"

// The parts of the protocol that the server uses. Specification: Language Server
// Protocol 3.17, microsoft.github.io/language-server-protocol.
type (
	// position counts lines from 0, and UTF-16 code units from 0.
	position struct {
		Line      int `json:"line"`
		Character int `json:"character"`
	}
	textRange struct {
		Start position `json:"start"`
		End   position `json:"end"`
	}
	location struct {
		URI   string    `json:"uri"`
		Range textRange `json:"range"`
	}
	documentID struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
	}
	openParams struct {
		Document struct {
			documentID
			Text string `json:"text"`
		} `json:"textDocument"`
	}
	changeParams struct {
		Document documentID   `json:"textDocument"`
		Changes  []textChange `json:"contentChanges"`
	}
	// textChange replaces a range, or the whole text.
	textChange struct {
		Range *textRange `json:"range"`
		Text  string     `json:"text"`
	}
	closeParams struct {
		Document documentID `json:"textDocument"`
	}
	positionParams struct {
		Document documentID `json:"textDocument"`
		Position position   `json:"position"`
	}
	actionParams struct {
		Document documentID `json:"textDocument"`
		Range    textRange  `json:"range"`
	}
	cancelParams struct {
		ID json.RawMessage `json:"id"`
	}
	initializeParams struct {
		RootURI  string          `json:"rootUri"`
		Settings json.RawMessage `json:"initializationOptions"`
	}
	diagnostic struct {
		Range    textRange `json:"range"`
		Severity int       `json:"severity"`
		Code     string    `json:"code,omitempty"`
		Source   string    `json:"source"`
		Message  string    `json:"message"`
	}
	publishParams struct {
		URI         string       `json:"uri"`
		Version     *int         `json:"version,omitempty"`
		Diagnostics []diagnostic `json:"diagnostics"`
	}
	textEdit struct {
		Range   textRange `json:"range"`
		NewText string    `json:"newText"`
	}
	completionItem struct {
		Label  string   `json:"label"`
		Kind   int      `json:"kind"`
		Detail string   `json:"detail,omitempty"`
		Doc    string   `json:"documentation,omitempty"`
		Sort   string   `json:"sortText,omitempty"`
		Edit   textEdit `json:"textEdit"`
	}
	completionList struct {
		Incomplete bool             `json:"isIncomplete"`
		Items      []completionItem `json:"items"`
	}
	hover struct {
		Contents markup    `json:"contents"`
		Range    textRange `json:"range"`
	}
	markup struct {
		Kind  string `json:"kind"`
		Value string `json:"value"`
	}
	codeAction struct {
		Title     string        `json:"title"`
		Kind      string        `json:"kind"`
		Preferred bool          `json:"isPreferred,omitempty"`
		Edit      workspaceEdit `json:"edit"`
	}
	workspaceEdit struct {
		Changes map[string][]textEdit `json:"changes"`
	}
	showParams struct {
		Type    int    `json:"type"`
		Message string `json:"message"`
	}
)

// Severities of diagnostics, and the type of a message about an error.
const (
	severityError   = 1
	severityWarning = 2
)

// Kinds of completion items, which editors show as icons.
const (
	itemMethod   = 2
	itemFunction = 3
	itemField    = 5
	itemVariable = 6
	itemValue    = 12
	itemKeyword  = 14
)

// capabilities are what the server can do, in the answer to initialize.
func capabilities(version string) any {
	return map[string]any{
		"serverInfo": map[string]string{"name": "reconcel", "version": version},
		"capabilities": map[string]any{
			"positionEncoding":   "utf-16",
			"textDocumentSync":   map[string]any{"openClose": true, "change": 2, "save": true},
			"completionProvider": map[string]any{"triggerCharacters": []string{".", "?", "{", " "}},
			"hoverProvider":      true,
			"definitionProvider": true,
			"codeActionProvider": map[string]any{"codeActionKinds": []string{"quickfix"}},
		},
	}
}

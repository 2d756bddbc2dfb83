package ragchat

import _ "embed"

// openAPI describes the routes; see apiPart in package wire for what it omits.
//
//go:embed openapi.json
var openAPI []byte

// types are the Go types behind schemas of the description.
var types = map[string]any{
	"RAGSource":           source{},
	"RAGTokens":           stageTokens{},
	"RAGCosts":            stageCosts{},
	"RAGStage":            stageUsage{},
	"RAGTurnMetrics":      turnMetrics{},
	"RAGTotals":           totals{},
	"RAGRewrite":          rewriteReport{},
	"RAGResponse":         response{},
	"RAGSessionID":        sessionID{},
	"RAGHistory":          sessionHistory{},
	"RAGSessions":         sessionList{},
	"RAGDone":             acknowledgement{},
	"RAGResults":          searchResult{},
	"RAGEvaluationReport": evalReport{},
	"RAGLookup":           lookup{},
	"RAGModel":            Model{},
	"RAGError":            failure{},
}

package upstream

import (
	"strings"

	"parley/internal/llm"
)

// prefixes holds the prefixes by which families of embedding models tell questions from documents.
// The models were trained with them and find much less without; the servers that run the models don't
// add them. The longest family that a model's name begins with counts. Sources are the models' cards on
// https://huggingface.co, and for Gemini https://ai.google.dev/gemini-api/docs/embeddings.
var prefixes = []struct{ family, query, document string }{
	{"gemini-embedding-2", "task: search result | query: ", "title: none | text: "},
	{"embeddinggemma", "task: search result | query: ", "title: none | text: "},
	{"nomic-embed-text", "search_query: ", "search_document: "},
	{"e5-", "query: ", "passage: "},
	{"multilingual-e5-", "query: ", "passage: "},
	{"multilingual-e5-large-instruct", qwenQuery, ""},
	{"qwen3-embedding", qwenQuery, ""},
	{"mxbai-embed-large", searchQuery, ""},
	{"bge-small-en", searchQuery, ""},
	{"bge-base-en", searchQuery, ""},
	{"bge-large-en", searchQuery, ""},
	{"snowflake-arctic-embed", searchQuery, ""},
	{"snowflake-arctic-embed2", "query: ", ""},
	{"snowflake-arctic-embed-m-v2", "query: ", ""},
	{"snowflake-arctic-embed-l-v2", "query: ", ""},
}

const (
	qwenQuery   = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
	searchQuery = "Represent this sentence for searching relevant passages: "
)

// Prefixed returns the texts of a request with the prefix that its model expects.
func Prefixed(req llm.EmbedRequest) []string {
	name := strings.ToLower(req.Model)
	if slash := strings.LastIndexByte(name, '/'); slash >= 0 {
		name = name[slash+1:] // of an organisation
	}
	prefix, longest := "", 0
	for _, p := range prefixes {
		if !strings.HasPrefix(name, p.family) || len(p.family) < longest {
			continue
		}
		longest, prefix = len(p.family), p.document
		if req.Purpose == llm.ForQuery {
			prefix = p.query
		}
	}
	if prefix == "" {
		return req.Texts
	}
	texts := make([]string, len(req.Texts))
	for i, text := range req.Texts {
		texts[i] = prefix + text
	}
	return texts
}

package ingest

import "parley/internal/tokens"

// countTokens counts the tokens of a chunk.
func countTokens(text string) int { return tokens.Count(text) }

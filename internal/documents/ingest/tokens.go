package ingest

import "parley/internal/tokens"

// CountTokens counts the tokens of a chunk.
func CountTokens(text string) int { return tokens.Count(text) }

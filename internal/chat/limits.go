package chat

// The limits of options, for adapters. An adapter either reduces a larger value to the limit or refuses
// it, naming the option as its protocol does.
const (
	MaxTop           = maxTop
	MaxOutputTokens  = maxOutputTokens
	MaxNameBytes     = maxNameBytes
	MaxTurns         = maxTurns
	MaxSummaryInput  = maxSummaryInput
	MaxSummaryOutput = maxSummaryOutput
	MaxTemperature   = 2
	MaxTemplate      = 8 << 10 // bytes
)

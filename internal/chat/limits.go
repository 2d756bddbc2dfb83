package chat

// The limits of options, for those who read requests: a value over a limit that counts becomes the limit, or
// is refused with the name that it has in a protocol.
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

package metadata

import "encoding/json"

// Limits say what is left out of a document. The row of a file keeps them for a rebuild, since the place
// that set them may be out of reach by then.
type Limits struct {
	SkipSections []string `json:"skip_sections,omitempty"` // headings whose sections are left out
	MaxChunks    int      `json:"max_chunks,omitempty"`    // maximum number of chunks; 0 for no limit
}

// Most returns how many of n chunks are kept.
func (l Limits) Most(n int) int {
	if l.MaxChunks > 0 {
		return min(n, l.MaxChunks)
	}
	return n
}

// Encode returns the text for the row of a file; "" for no limits.
func (l Limits) Encode() (string, error) {
	if len(l.SkipSections) == 0 && l.MaxChunks == 0 {
		return "", nil
	}
	data, err := json.Marshal(l)
	return string(data), err
}

// DecodeLimits reads the result of Encode. Invalid text gives no limits.
func DecodeLimits(text string) (l Limits) {
	if text == "" || json.Unmarshal([]byte(text), &l) != nil {
		return Limits{}
	}
	return l
}

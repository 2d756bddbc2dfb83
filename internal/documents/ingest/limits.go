package ingest

import "encoding/json"

// limits are what is left out of a file. The row of a file keeps them for a Rebuild, since what has
// said them may be out of reach then.
type limits struct {
	SkipSections []string `json:"skip_sections,omitempty"` // headings whose sections are left out
	MaxChunks    int      `json:"max_chunks,omitempty"`    // most chunks; 0 for no limit
}

func (s *Site) limits() limits { return limits{s.SkipSections, s.MaxChunks} }

// limits are what is said of the file, or of its site.
func (c *candidate) limits(said about) limits {
	if c.target.site != nil {
		return c.target.site.limits()
	}
	all := said.Defaults.over(said.Says)
	return limits{all.SkipSections, all.MaxChunks}
}

// most is how many of n chunks are kept.
func (l limits) most(n int) int {
	if l.MaxChunks > 0 {
		return min(n, l.MaxChunks)
	}
	return n
}

// encode returns what the row of a file keeps; "" for no limits.
func (l limits) encode() (string, error) {
	if len(l.SkipSections) == 0 && l.MaxChunks == 0 {
		return "", nil
	}
	data, err := json.Marshal(l)
	return string(data), err
}

// decodeLimits reads what encode wrote.
func decodeLimits(text string) (l limits) {
	if text == "" || json.Unmarshal([]byte(text), &l) != nil {
		return limits{}
	}
	return l
}

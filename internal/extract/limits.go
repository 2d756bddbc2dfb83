package extract

import "time"

// Limits bounds what one file may cost. A zero field means the default.
type Limits struct {
	FileBytes   int64         // the file itself; 200 MiB
	Pages       int           // of a paged format; 10,000
	TextBytes   int64         // text taken out of it, and for text formats the file; 32 MiB
	Parts       int           // files inside it; 10,000
	PartsBytes  int64         // all of these together; 1 GiB
	Time        time.Duration // for one file in a Pool, not counting waits for a processor; 30 s
	MemoryBytes int64         // memory of one worker of a Pool, at least 192 MiB; 512 MiB

	// Shared says that TextBytes is what is left of a budget that the file shares with others.
	Shared bool
}

// TextExceeded returns the error of a file with more than TextBytes of text.
func (l Limits) TextExceeded() *Error {
	if l.Shared {
		return spent("it has more than %s of text, which is out of proportion to its size", Megabytes(l.TextBytes))
	}
	return TooLargef("the file has more than %s of text", Megabytes(l.TextBytes))
}

// MinMemory is the memory that PDFium, its compiler and the Go runtime need before any document.
const MinMemory = 192 << 20

// WithDefaults returns the limits with the defaults for fields that are zero.
func (l Limits) WithDefaults() Limits {
	if l.FileBytes <= 0 {
		l.FileBytes = 200 << 20
	}
	if l.Pages <= 0 {
		l.Pages = 10_000
	}
	if l.TextBytes <= 0 {
		l.TextBytes = 32 << 20
	}
	if l.Parts <= 0 {
		l.Parts = 10_000
	}
	if l.PartsBytes <= 0 {
		l.PartsBytes = 1 << 30
	}
	if l.Time <= 0 {
		l.Time = 30 * time.Second
	}
	if l.MemoryBytes <= 0 {
		l.MemoryBytes = 512 << 20
	}
	l.MemoryBytes = max(l.MemoryBytes, MinMemory)
	return l
}

package retrieval

import (
	"context"
	"crypto/sha256"
	"iter"
)

// VectorStore is the part of a Store that keeps the vectors of chunks. A vector belongs to a generation, which
// is a model with everything that its vectors depend on, and to the hash of its text, so that the same text is
// never embedded twice. Links say which chunk has which vector. The links of a document are deleted with it;
// its vectors stay until they are swept.
type VectorStore interface {
	UnembeddedChunks
	// VectorVersion returns a number that grows with every change of links and generations, except the deletion of a document
	// with its links: then Version grows.
	VectorVersion(ctx context.Context) (int64, error)
	// BeginGeneration returns the generation with g's model, dimensions and recipe that is Current or Building. If there is
	// none, it makes a new one that is Building. Other Building ones become Retired.
	BeginGeneration(ctx context.Context, g Generation) (Generation, error)
	// SwitchGeneration makes a Building generation Current, and the Current one Retired, in one transaction. If a chunk has no
	// link to the new one yet, the error is ErrIncomplete and nothing changes; if that is Retired or gone, the error is
	// ErrConflict.
	SwitchGeneration(ctx context.Context, id int64) error

	// PutVectors commits vectors, then links, in one durable transaction, and returns how many chunks it linked. It leaves
	// existing vectors and links unchanged, and skips a chunk that is gone or whose vector is gone. The error is ErrConflict if
	// the generation is Retired or gone, or has vectors of another length.
	PutVectors(ctx context.Context, b VectorBatch) (linked int, err error)
	// LinkedVectors ranges over the vectors of a namespace's chunks in a generation that were linked
	// after one version of the vectors and up to another one, in the order of version and key. Refused
	// texts are left out. The bytes are valid until the next one. An error is the last item.
	LinkedVectors(ctx context.Context, namespace string, generation, after, until int64) iter.Seq2[LinkedVector, error]
	// SweepVectors deletes up to limit rows that no search needs: those of Retired generations, and the
	// vectors without a link, the oldest first, except the newest keep of them. It returns how many it
	// deleted; 0 says that there are no more.
	SweepVectors(ctx context.Context, keep, limit int) (int, error)
}

// UnembeddedChunks is what a Planner reads: which chunks have no vector yet.
type UnembeddedChunks interface {
	// Generations returns all generations, ascending by ID, and the vectors' version at which they
	// were read.
	Generations(ctx context.Context) ([]Generation, int64, error)
	// Unembedded returns up to limit chunks that a generation has no link for and whose keys come
	// after the given one, ascending by key.
	Unembedded(ctx context.Context, generation int64, after ChunkKey, limit int) ([]Unembedded, error)
	// KnownVectors returns those of the hashes that the generation has vectors for.
	KnownVectors(ctx context.Context, generation int64, hashes []Hash) (map[Hash]bool, error)
}

// Generation identifies vectors that can be compared with each other.
type Generation struct {
	ID         int64
	Model      string // "provider:model"
	Dimensions int    // what the model was asked for; 0 means its own
	Recipe     string // of the text that stands for a chunk (see recipe)
	Length     int    // of the vectors; 0 while there is none
	State      GenerationState
}

// GenerationState says what a generation is for.
type GenerationState string

// The states of a generation. At most one is Current: it serves searches. At most one is Building:
// it takes the Current one's place when every chunk has a vector.
const (
	Building GenerationState = "building"
	Current  GenerationState = "current"
	Retired  GenerationState = "retired" // its rows are being deleted
)

// Hash is the SHA-256 of a text that was embedded.
type Hash [sha256.Size]byte

// Unembedded is a chunk without a vector, and the title of its document.
type Unembedded struct {
	Chunk Chunk
	Title string
}

// VectorBatch is one atomic addition of vectors to a generation.
type VectorBatch struct {
	Generation int64
	Length     int // of the vectors; 0 when all of them are of refused texts
	Vectors    []Vector
	Links      []VectorLink
}

// Vector is a unit vector by the hash of its text.
type Vector struct {
	Hash Hash
	Data []byte // see vector.Encode; empty for a text that the model refuses
}

// VectorLink says that a chunk's vector is the one with a hash.
type VectorLink struct {
	Key  ChunkKey
	Hash Hash
}

// LinkedVector is a chunk's vector.
type LinkedVector struct {
	Key  ChunkKey
	Data []byte
}

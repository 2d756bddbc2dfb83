package retrieval

import (
	"cmp"
	"context"
	"time"

	"parley/internal/access"
)

// Store is what a Corpus needs of a database, part by part. Other packages declare interfaces of their own for
// what they read of documents, files and pages. Implementations pass storetest.Corpus.
//
// Names of namespaces and documents are compared byte by byte.
type Store interface {
	Writing
	Searching
	VectorStore
}

// Writing is the part of a Store with which a Corpus changes what is stored, and reads the content of its index.
type Writing interface {
	// NextRevisions reserves n revision numbers and returns the first. Gaps are harmless.
	NextRevisions(ctx context.Context, n int) (int64, error)
	// Apply commits one batch in one durable transaction: all of it or nothing.
	Apply(ctx context.Context, b Batch) (Applied, error)
	// SwitchAside moves the documents of the namespace Aside to the places of those whose AsideID they have, and replaces the
	// segments with those of Aside, in one durable transaction. It returns the number of these documents. The other documents of
	// Aside, and the replaced ones, move to the namespace Replaced. The new documents keep the access lists that the files of
	// the replaced ones stated.
	SwitchAside(ctx context.Context, s Switch) (done Applied, switched int, err error)
	// PutRule stores a rule, or replaces the one for its path and owner, and updates the rights of the documents that it decides
	// over, in one durable transaction. It returns the number of these documents. From then on Apply and SwitchAside give new
	// documents the rights of their nearest rules. Apply deletes the rule of an owned document together with the document.
	PutRule(ctx context.Context, namespace string, r Rule) (done Applied, documents int, err error)
	// DropRule removes a rule, or returns ErrNotFound. Documents then have the rights of the next rule, or of their files.
	DropRule(ctx context.Context, namespace, path, owner string) (done Applied, documents int, err error)
	// AllDocuments returns up to limit documents with names after the given one, sorted by name. It has no
	// filter: its result must not reach a caller of the server.
	AllDocuments(ctx context.Context, namespace, after string, limit int) ([]Document, error)
	// RevisionChunks returns all chunks of one revision in order.
	RevisionChunks(ctx context.Context, revision int64) ([]Chunk, error)
}

// Searching is the part of a Store that searches read.
type Searching interface {
	// Version returns a number that grows with every Apply, by whatever process.
	Version(ctx context.Context) (int64, error)
	// Namespaces returns the namespaces that hold documents, sorted, without those that are Aside or
	// Replaced.
	Namespaces(ctx context.Context) ([]string, error)
	// Snapshot returns what the index of a namespace consists of, read in one transaction.
	Snapshot(ctx context.Context, namespace string) (Snapshot, error)
	// SegmentData returns the bytes of a segment. The caller must not change them. The error is
	// ErrDamaged when some are missing.
	SegmentData(ctx context.Context, id int64) ([]byte, error)
	// EachDocument calls f with the documents of a namespace that have the given revisions, in no particular order; nil stands
	// for all revisions. The documents have their revision and the fields that AllAttributes needs. There is no filter: a caller
	// of the server must not get the result.
	EachDocument(ctx context.Context, namespace string, revisions []int64, f func(Document)) error
	// Chunks returns the chunks with the given keys and their documents, in the order of keys;
	// keys that are gone are left out.
	Chunks(ctx context.Context, namespace string, keys []ChunkKey) ([]Passage, error)
}

// Batch is one atomic change of a namespace, and of others if it concerns several.
type Batch struct {
	Namespace    string
	Others       []Batch   // changes of other namespaces, one each; they have no Others
	Put          []Put     // documents to add, or to replace by ID; Revision is set by the caller
	PutAccess    []Access  // new access lists of stored documents; unknown IDs are ignored
	Delete       []string  // ids of documents to delete, with all their rows
	AddSegments  []Segment // cover the revisions they list
	DropSegments []int64   // ids of segments that AddSegments replace, or that are empty
	PutRoots     []Root    // added, or replaced by Path without their State
	PutStates    []Root    // only Path and State are used; a root that is not stored is not added
	DropRoots    []string  // paths; their File rows go with them
	PutFiles     []File    // added or replaced by (Root, Path)
	DropFiles    []FileKey
}

// In returns the part of the batch that changes a namespace, and adds it if necessary. The result is valid
// until the next In.
func (b *Batch) In(namespace string) *Batch {
	for _, part := range b.parts() {
		if part.Namespace == namespace {
			return part
		}
	}
	b.Others = append(b.Others, Batch{Namespace: namespace})
	return &b.Others[len(b.Others)-1]
}

// Applied says what an Apply did, so that an index in memory can follow it without reading the store again. No other commit came
// between Before and Version.
type Applied struct {
	Before, Version int64                 // the store's versions before and after
	Gone            []int64               // revisions that were deleted or replaced, in no particular order
	Segments        []int64               // the ids of Batch.AddSegments, in their order
	Ruled           map[int64]access.List // the rights of revisions of Batch.Put over which a rule decides
	Others          []Applied             // of Batch.Others, in their order
}

// Access is the access list that the files of a document state. A rule outweighs it.
type Access struct {
	ID   string // of the document
	List access.List
}

// Put is a document's new revision with everything that belongs to it.
type Put struct {
	Document Document
	Pages    []Page
	Chunks   []Chunk
}

// Segment is an immutable piece of a namespace's lexical index.
type Segment struct {
	ID         int64   // given by the store; 0 in Batch.AddSegments
	Generation string  // the analyser and format that wrote it; others are rebuilt, "" if unreadable
	Revisions  []int64 // the revisions whose chunks it covers, ascending
	Chunks     int
	Data       []byte // nil in a Snapshot
}

// Snapshot is the state of a namespace's index at one version.
type Snapshot struct {
	Version  int64
	Segments []Segment // ascending by ID, without Data
	Current  []Rights  // the current revision of every document, ascending
}

// Rights say who may see a revision.
type Rights struct {
	Revision int64
	Category string
	Access   access.List
}

// ByAge selects documents in the order of their first indexing.
type ByAge struct {
	Oldest bool   // oldest first instead of newest first
	After  string // only documents after the one with this id; "" begins at the start
	Before string // only documents before the one with this id
	Limit  int
}

// Stats counts what a namespace holds.
type Stats struct {
	Documents int
	Pages     int // a document without pages counts as one
	Chunks    int
	Bytes     int64 // of the originals
	Partly    int   // documents with Notes
}

// Root is a file, folder or other origin that was ingested. It is kept so that files that disappear from it can be removed from
// the corpus.
type Root struct {
	Path   string // absolute, or an address of the web
	Prefix string // put before the relative path of its documents: "" or "name/"
	Source string // how it is read, if that is not clear from Path; defined by the ingester
	State  string // how the last reading went; defined by the ingester
}

// FileKey names a file below a root of a namespace.
type FileKey struct {
	Root string // Root.Path
	Path string // relative to the root, "/"-separated; "." when the root is the file
}

// File is the state of a file at its last ingestion, so that an unchanged one costs only a stat.
type File struct {
	FileKey
	Namespace  string // of the root; set by the store, and ignored by Apply, which uses that of the batch
	Size       int64
	ModTime    time.Time // UTC
	SHA256     string    // of the content, and of its sidecar when it has one
	DocumentID string    // "" when it gave no document
	PutIn      string    // the namespace of its document if it is not Namespace; else ""
	Reason     string    // why it gave no document (extract.Reason); "" if it gave one
	Detail     string    // the same for people
	Generation string    // which extractor and splitter looked at it
	State      string    // the state reported by its origin, for the next reading; defined by the ingester
}

// In returns the namespace of the file's document.
func (f File) In() string { return cmp.Or(f.PutIn, f.Namespace) }

// MaySee reports whether the filter admits a document with these properties. Stores use it or do the same in SQL.
func (f Filter) MaySee(category string, l access.List) bool {
	if !f.Principal.MayUse(f.Namespace) {
		return false
	}
	if f.IncludeCategory != "" && category != f.IncludeCategory {
		return false
	}
	if f.ExcludeCategory != "" && category == f.ExcludeCategory {
		return false
	}
	if f.RequireUser || f.RequireGroup {
		user := access.List{Users: l.Users}
		group := access.List{Groups: l.Groups}
		named := f.RequireUser && user.Restricted() && user.Allows(f.Principal) ||
			f.RequireGroup && group.Restricted() && group.Allows(f.Principal)
		if !named {
			return false
		}
	}
	return l.Allows(f.Principal)
}

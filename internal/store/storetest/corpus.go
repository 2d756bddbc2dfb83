// Package storetest holds the conformance suites that every database passes, part by part: Corpus for
// documents, State for turns and accounts, Transcripts for chats of clients, Jobs for jobs. A part that is
// nil is not there yet; tests that need it are skipped.
//
//	func TestPostgres(t *testing.T) {
//		storetest.Corpus(t, func(t *testing.T) storetest.CorpusParts {
//			c := open(t).Corpus()
//			return storetest.CorpusParts{Writing: c, Searching: c}
//		})
//	}
//
// The function it is given returns an empty store, which lives as long as the test.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/internal/access"
	"parley/internal/retrieval"
)

// CorpusParts are the parts of a store of documents. Each method is in one of them.
type CorpusParts struct {
	Writing   // every test needs it
	Searching retrieval.Searching
	Catalogue
	FileRows
	Vectors retrieval.VectorStore
}

// Writing is the part of a store that changes a corpus.
type Writing interface {
	retrieval.Writing
	// SweepReplaced deletes up to limit documents and segments of all namespaces Replaced, and returns
	// how many it deleted; 0 says that there are no more.
	SweepReplaced(ctx context.Context, limit int) (int, error)
}

// Catalogue lists documents for people. It has the methods of webapi.Catalog that are in no other part, and mcp.Documents.
type Catalogue interface {
	Document(ctx context.Context, f retrieval.Filter, name string) (retrieval.Document, error)
	DocumentByID(ctx context.Context, f retrieval.Filter, id string) (retrieval.Document, error)
	// Documents returns up to limit documents with names after the given one, sorted by name.
	Documents(ctx context.Context, f retrieval.Filter, after string, limit int) ([]retrieval.Document, error)
	// DocumentsByAge returns documents that a filter admits, in the order of their first indexing.
	DocumentsByAge(ctx context.Context, f retrieval.Filter, l retrieval.ByAge) ([]retrieval.Document, error)
	FindDocuments(ctx context.Context, f retrieval.Filter, text, after string, limit int) ([]retrieval.Document, int, error)
	EachFound(ctx context.Context, filter retrieval.Filter, text string, f func(retrieval.Document)) error
	EmbeddedChunks(ctx context.Context, revisions []int64) (map[int64]int, error)
	Page(ctx context.Context, revision int64, number int) (retrieval.Page, int, error)
	Pages(ctx context.Context, revision int64) ([]retrieval.Page, error)
	Stats(ctx context.Context, namespace string) (retrieval.Stats, error)
	// VisibleStats counts the documents that a filter admits.
	VisibleStats(ctx context.Context, f retrieval.Filter) (retrieval.Stats, error)
	// RightsOf returns who may see a document, and why.
	RightsOf(ctx context.Context, namespace, name string) (retrieval.Ruled, error)
}

// FileRows keeps the state of ingested files. It has the methods of ingest.Store and documents.Store that are in
// no other part.
type FileRows interface {
	Roots(ctx context.Context, namespace string) ([]retrieval.Root, error)
	SourceRoots(ctx context.Context) (map[string][]retrieval.Root, error)
	Files(ctx context.Context, namespace, root string) ([]retrieval.File, error)
	FilesOf(ctx context.Context, namespace, documentID string) ([]retrieval.File, error)
}

// part names the parts that a test needs beside Writing.
type part int

const (
	searching part = 1 << iota
	catalogue
	files
	vectors
	all = searching | catalogue | files | vectors
)

func (p CorpusParts) has(need part) bool {
	return (need&searching == 0 || p.Searching != nil) && (need&catalogue == 0 || p.Catalogue != nil) &&
		(need&files == 0 || p.FileRows != nil) && (need&vectors == 0 || p.Vectors != nil)
}

// Corpus tests a store of documents.
func Corpus(t *testing.T, open func(t *testing.T) CorpusParts) {
	for _, test := range []struct {
		name string
		need part
		run  func(*testing.T, corpus)
	}{
		{"an empty corpus has nothing", searching | catalogue, testEmpty},
		{"what was put comes back", catalogue, testRoundTrip},
		{"text of documents may hold any bytes", catalogue, testOddPages},
		{"a new revision replaces the old one", searching | catalogue, testReplace},
		{"a deleted document leaves nothing", searching | catalogue, testDelete},
		{"a name is unique in its namespace", searching | catalogue, testUniqueNames},
		{"documents may swap names in one batch", catalogue, testSwapNames},
		{"a document stays in its namespace", catalogue, testForeignID},
		{"a revision must have been reserved", 0, testUnreserved},
		{"revisions are never given twice", 0, testRevisions},
		{"a batch that drops a missing segment changes nothing", searching, testConflict},
		{"segments keep their bytes", searching, testSegments},
		{"every batch grows the version", searching, testVersion},
		{"Apply says what it did", searching, testApplied},
		{"documents are listed by name", catalogue, testListing},
		{"chunks come in the order of keys", searching, testChunks},
		{"roots and files", files, testRoots},
		{"namespaces share nothing", searching | catalogue | files, testNamespaces},
		{"a batch changes several namespaces at once", searching | catalogue, testOthers},
		{"documents are found by what their names and titles hold", catalogue, testFind},
		{"documents are found by their attributes", catalogue, testFindMeeting},
		{"documents are listed by age", catalogue, testByAge},
		{"a page is read by its number", catalogue, testPage},
		{"vectors are counted by document", catalogue | vectors, testEmbeddedChunks},
		{"the files of a document are known", files, testFilesOf},
		{"the documents of revisions are read at once", searching | catalogue, testEachDocument},
		{"visible says what MaySee says", searching | catalogue, testVisible},
		{"rules decide before files, and nothing that files say is lost", searching | catalogue, testRules},
		{"documents made aside take their places at once", all, testSwitchAside},
		{"a snapshot is consistent while batches are applied", searching, testConsistentSnapshot},
		{"a cancelled context writes nothing", searching | catalogue, testCancelled},
		{"there are no vectors at first", vectors, testNoVectors},
		{"chunks without a vector are listed by key", vectors, testUnembedded},
		{"vectors belong to texts, links to chunks", vectors, testVectors},
		{"a refused batch of vectors changes nothing", vectors, testVectorsRefused},
		{"generations are built aside and switched", vectors, testGenerations},
		{"links go with their documents, vectors stay", vectors, testLinksGo},
		{"a sweep deletes what nobody needs, in small steps", vectors, testSweep},
	} {
		t.Run(test.name, func(t *testing.T) {
			parts := open(t)
			if !parts.has(test.need) {
				t.Skip("a part of the store that the test needs is not there")
			}
			test.run(t, corpus{tester{t}, parts, parts.Searching, parts.Vectors})
		})
	}
}

// corpus is a store under test, with methods that end the test on an error.
type corpus struct {
	tester
	CorpusParts
	retrieval.Searching
	retrieval.VectorStore
}

func (c corpus) apply(b retrieval.Batch) {
	c.Helper()
	_, err := c.Apply(c.Context(), b)
	c.must(err)
}

// put returns a document of the namespace ns with a reserved revision, two pages and three
// chunks, the last of which crosses the pages.
func (c corpus) put(id, name string) retrieval.Put {
	c.Helper()
	rev, err := c.NextRevisions(c.Context(), 1)
	c.must(err)
	text := fmt.Sprintf("Text of %s, revision %d: größer, 漢字.", name, rev)
	key := func(i int) retrieval.ChunkKey { return retrieval.ChunkKey{Revision: rev, Ordinal: i} }
	return retrieval.Put{
		Document: retrieval.Document{
			ID: id, Revision: rev, Namespace: "ns", Name: name, Title: "Title of " + name,
			URL: "https://example.com/" + name, Category: "manuals", MediaType: "application/pdf",
			Owner: "olga", SHA256: strings.Repeat("a", 64), Size: 1234, Pages: 2, Chunks: 3,
			Generation: "g1", Notes: "Page 3 has no text layer.", IndexedAt: time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC),
			Attributes: json.RawMessage(`{"tags":["é","hr"],"year":2026}`),
			Access:     access.List{Users: []string{"zoe", "adam"}, Groups: []string{"staff"}},
		},
		Pages: []retrieval.Page{
			{Number: 1, Text: text, Map: []byte{0, 1, 255}},
			{Number: 2, Text: "Second page."},
		},
		Chunks: []retrieval.Chunk{
			{Key: key(0), Text: text, Headings: []string{"Chapter", "Über"}, Tokens: 12,
				Spans: []retrieval.Span{{Page: 1, Start: 0, End: len(text)}}},
			{Key: key(1), Text: "Text", Tokens: 1, Spans: []retrieval.Span{{Page: 1, End: 4}}},
			{Key: key(2), Text: "漢字. Second", Headings: []string{""}, Tokens: 4,
				Spans: []retrieval.Span{
					{Page: 1, Start: len(text) - 7, End: len(text)},
					{Page: 2, Start: 0, End: 6, Offset: 8},
				}},
		},
	}
}

// everyone is a filter that lets the documents of put through.
var everyone = retrieval.Filter{Namespace: "ns", Principal: access.Principal{Subject: "adam"}}

// rightsOf returns the rights to a document in a snapshot.
func rightsOf(p retrieval.Put) retrieval.Rights {
	return retrieval.Rights{Revision: p.Document.Revision, Category: p.Document.Category, Access: p.Document.Access}
}

// id returns a ULID-like id.
func id(n int) string { return fmt.Sprintf("01J%023d", n) }

func testEmpty(t *testing.T, c corpus) {
	ctx := t.Context()
	namespaces, err := c.Namespaces(ctx)
	c.must(err)
	c.equal("namespaces", []string{}, namespaces)
	snap, err := c.Snapshot(ctx, "ns")
	c.must(err)
	c.equal("snapshot", retrieval.Snapshot{}, snap)
	stats, err := c.Stats(ctx, "ns")
	c.must(err)
	c.equal("stats", retrieval.Stats{}, stats)
	if _, err := c.Document(ctx, everyone, "a.pdf"); !errors.Is(err, retrieval.ErrNotFound) {
		t.Errorf("Document of an empty corpus: %v", err)
	}
	if _, err := c.SegmentData(ctx, 1); !errors.Is(err, retrieval.ErrNotFound) {
		t.Errorf("SegmentData of an empty corpus: %v", err)
	}
}

func testRoundTrip(t *testing.T, c corpus) {
	ctx := t.Context()
	p := c.put(id(1), "a/b.pdf")
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{p}})
	rev := p.Document.Revision

	d, err := c.Document(ctx, everyone, "a/b.pdf")
	c.must(err)
	c.equal("document", p.Document, d)
	pages, err := c.Pages(ctx, rev)
	c.must(err)
	c.equal("pages", p.Pages, pages)
	if pages[1].Map != nil {
		t.Errorf("map of a page without one: %v", pages[1].Map)
	}
	chunks, err := c.RevisionChunks(ctx, rev)
	c.must(err)
	c.equal("chunks", p.Chunks, chunks)
	stats, err := c.Stats(ctx, "ns")
	c.must(err)
	c.equal("stats", retrieval.Stats{Documents: 1, Pages: 2, Chunks: 3, Bytes: 1234, Partly: 1}, stats)
	unpaged := c.put(id(2), "notes.md")
	unpaged.Document.Namespace, unpaged.Document.Pages = "notes", 0
	unpaged.Pages = []retrieval.Page{{Text: unpaged.Pages[0].Text}}
	unpaged.Chunks = nil
	unpaged.Document.Chunks = 0
	c.apply(retrieval.Batch{Namespace: "notes", Put: []retrieval.Put{unpaged}})
	stats, err = c.Stats(ctx, "notes")
	c.must(err)
	c.equal("stats of a document without pages", retrieval.Stats{Documents: 1, Pages: 1, Bytes: 1234, Partly: 1}, stats)
}

func testReplace(t *testing.T, c corpus) {
	ctx := t.Context()
	old := c.put(id(1), "a.pdf")
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{old}})
	next := c.put(id(1), "renamed.pdf")
	next.Document.Access = access.List{Users: []string{"adam"}}
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{next}})

	c.gone(old)
	if _, err := c.Document(ctx, everyone, "a.pdf"); !errors.Is(err, retrieval.ErrNotFound) {
		t.Errorf("document under its old name: %v", err)
	}
	d, err := c.Document(ctx, everyone, "renamed.pdf")
	c.must(err)
	c.equal("document", next.Document, d)
	snap, err := c.Snapshot(ctx, "ns")
	c.must(err)
	c.equal("current revisions", []retrieval.Rights{rightsOf(next)}, snap.Current)
}

// gone checks that nothing is left of a document's revision.
func (c corpus) gone(p retrieval.Put) {
	c.Helper()
	ctx := c.Context()
	rev := p.Document.Revision
	pages, err := c.Pages(ctx, rev)
	c.must(err)
	chunks, err := c.RevisionChunks(ctx, rev)
	c.must(err)
	passages, err := c.Chunks(ctx, "ns", []retrieval.ChunkKey{{Revision: rev}})
	c.must(err)
	if len(pages)+len(chunks)+len(passages) > 0 {
		c.Errorf("%d pages, %d chunks, %d passages are left of revision %d", len(pages), len(chunks), len(passages), rev)
	}
}

func testDelete(t *testing.T, c corpus) {
	ctx := t.Context()
	p, other := c.put(id(1), "a.pdf"), c.put(id(2), "b.pdf")
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{p, other}})
	c.apply(retrieval.Batch{Namespace: "ns", Delete: []string{id(1), id(99)}})

	c.gone(p)
	all, err := c.Documents(ctx, everyone, "", 10)
	c.must(err)
	c.equal("documents", []retrieval.Document{other.Document}, all)
	// Its name is free again, its revision is not.
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{c.put(id(3), "a.pdf")}})
	c.apply(retrieval.Batch{Namespace: "ns", Delete: []string{id(2), id(3)}})
	namespaces, err := c.Namespaces(ctx)
	c.must(err)
	c.equal("namespaces without documents", []string{}, namespaces)
}

func testUniqueNames(t *testing.T, c corpus) {
	p := c.put(id(1), "a.pdf")
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{p}})
	free, taken := c.put(id(2), "b.pdf"), c.put(id(3), "a.pdf")
	_, err := c.Apply(t.Context(), retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{free, taken}})
	if err == nil || errors.Is(err, retrieval.ErrConflict) {
		t.Fatalf("Apply of a second document of the same name: %v", err)
	}
	c.gone(free)
	// Names are bytes: a different case or composition is a different name.
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{c.put(id(4), "A.pdf"), c.put(id(5), "a.pdf ")}})
}

func testSwapNames(t *testing.T, c corpus) {
	ctx := t.Context()
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{c.put(id(1), "a"), c.put(id(2), "b")}})
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{c.put(id(1), "b"), c.put(id(2), "a")}})
	d, err := c.Document(ctx, everyone, "b")
	c.must(err)
	c.equal("id of b", id(1), d.ID)
	c.apply(retrieval.Batch{Namespace: "ns", Delete: []string{id(1)}, Put: []retrieval.Put{c.put(id(3), "b")}})
}

func testForeignID(t *testing.T, c corpus) {
	ctx := t.Context()
	p := c.put(id(1), "a.pdf")
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{p}})
	stolen := c.put(id(1), "a.pdf")
	stolen.Document.Namespace = "other"
	if _, err := c.Apply(ctx, retrieval.Batch{Namespace: "other", Put: []retrieval.Put{stolen}}); err == nil {
		t.Error("Apply took a document over from another namespace")
	}
	c.apply(retrieval.Batch{Namespace: "other", Delete: []string{id(1)}})
	d, err := c.Document(ctx, everyone, "a.pdf")
	c.must(err)
	c.equal("document", p.Document, d)
}

func testListing(t *testing.T, c corpus) {
	ctx := t.Context()
	names := []string{"B", "a", "a/b", "a/c", "b", "é", "漢"} // in the order of bytes
	var puts []retrieval.Put
	for i := range names {
		at := (i * 5) % len(names)
		puts = append(puts, c.put(id(at), names[at]))
	}
	c.apply(retrieval.Batch{Namespace: "ns", Put: puts})
	var got []string
	for after := ""; ; {
		page, err := c.Documents(ctx, everyone, after, 3)
		c.must(err)
		for _, d := range page {
			got = append(got, d.Name)
		}
		if len(page) < 3 {
			break
		}
		after = got[len(got)-1]
	}
	c.equal("names", names, got)

	none, err := c.Documents(ctx, retrieval.Filter{Namespace: "ns"}, "", 10)
	c.must(err)
	c.equal("documents that the anonymous caller may see", []retrieval.Document{}, none)
	all, err := c.AllDocuments(ctx, "ns", "", 100)
	c.must(err)
	if len(all) != len(names) || all[0].Name != names[0] {
		t.Errorf("AllDocuments lists %d documents, want %d", len(all), len(names))
	}
	c.equal("access list", puts[0].Document.Access, all[0].Access)
}

func testChunks(t *testing.T, c corpus) {
	ctx := t.Context()
	p, q := c.put(id(1), "a.pdf"), c.put(id(2), "b.pdf")
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{p, q}})
	got, err := c.Chunks(ctx, "ns", []retrieval.ChunkKey{
		q.Chunks[2].Key, p.Chunks[0].Key,
		{Revision: p.Document.Revision, Ordinal: 99}, {Revision: 1 << 40},
		q.Chunks[0].Key, q.Chunks[2].Key,
	})
	c.must(err)
	c.equal("passages", []retrieval.Passage{
		{Chunk: q.Chunks[2], Document: q.Document}, {Chunk: p.Chunks[0], Document: p.Document},
		{Chunk: q.Chunks[0], Document: q.Document}, {Chunk: q.Chunks[2], Document: q.Document},
	}, got)
	foreign, err := c.Chunks(ctx, "other", []retrieval.ChunkKey{p.Chunks[0].Key})
	c.must(err)
	c.equal("passages of another namespace", []retrieval.Passage{}, foreign)
	none, err := c.Chunks(ctx, "ns", nil)
	c.must(err)
	c.equal("passages of no keys", []retrieval.Passage{}, none)
}

func testRoots(t *testing.T, c corpus) {
	ctx := t.Context()
	file := func(root, path string) retrieval.File {
		return retrieval.File{FileKey: retrieval.FileKey{Root: root, Path: path}, Namespace: "ns", Size: 10,
			ModTime: time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC), SHA256: "ab", DocumentID: id(1),
			Generation: "g", State: "etag"}
	}
	skipped := file("/z", "b")
	skipped.DocumentID, skipped.Reason, skipped.Detail = "", "empty", "there is no text in it"
	skipped.ModTime = time.Time{}
	c.apply(retrieval.Batch{Namespace: "ns",
		PutRoots: []retrieval.Root{{Path: "/z", Prefix: ""}, {Path: "/a", Prefix: "a/"}},
		PutFiles: []retrieval.File{skipped, file("/z", "a/x"), file("/a", ".")}})
	c.apply(retrieval.Batch{Namespace: "ns", PutRoots: []retrieval.Root{{Path: "/z", Prefix: "z/", Source: "z?"}, {Path: "/m"}},
		PutStates: []retrieval.Root{{Path: "/a", Prefix: "ignored", State: "failed"}, {Path: "/absent", State: "?"}}})
	c.apply(retrieval.Batch{Namespace: "ns", PutRoots: []retrieval.Root{{Path: "/a", Prefix: "a/", Source: "a?"}}})

	roots, err := c.Roots(ctx, "ns")
	c.must(err)
	c.equal("roots", []retrieval.Root{{Path: "/z", Prefix: "z/", Source: "z?"}, {Path: "/a", Prefix: "a/", Source: "a?", State: "failed"}, {Path: "/m"}}, roots)
	sources, err := c.SourceRoots(ctx)
	c.must(err)
	c.equal("roots with a source", map[string][]retrieval.Root{"ns": roots[:2]}, sources)
	files, err := c.Files(ctx, "ns", "/z")
	c.must(err)
	c.equal("files", []retrieval.File{file("/z", "a/x"), skipped}, files)

	changed := file("/z", "a/x")
	changed.SHA256, changed.State, changed.ModTime = "cd", "", changed.ModTime.Add(time.Nanosecond)
	c.apply(retrieval.Batch{Namespace: "ns", PutFiles: []retrieval.File{changed},
		DropFiles: []retrieval.FileKey{{Root: "/z", Path: "b"}}, DropRoots: []string{"/a"}})
	files, err = c.Files(ctx, "ns", "/z")
	c.must(err)
	c.equal("files", []retrieval.File{changed}, files)
	files, err = c.Files(ctx, "ns", "/a")
	c.must(err)
	c.equal("files of a dropped root", []retrieval.File{}, files)
}

func testNamespaces(t *testing.T, c corpus) {
	ctx := t.Context()
	mine := c.put(id(1), "a.pdf")
	theirs := c.put(id(2), "a.pdf") // the same name is not a conflict
	theirs.Document.Namespace = "other"
	batch := func(ns string, p retrieval.Put) retrieval.Batch {
		return retrieval.Batch{Namespace: ns, Put: []retrieval.Put{p},
			AddSegments: []retrieval.Segment{{Generation: ns, Revisions: []int64{p.Document.Revision}}},
			PutRoots:    []retrieval.Root{{Path: "/r", Prefix: ns}},
			PutFiles:    []retrieval.File{{FileKey: retrieval.FileKey{Root: "/r", Path: "p"}, SHA256: ns}}}
	}
	c.apply(batch("ns", mine))
	c.apply(batch("other", theirs))

	namespaces, err := c.Namespaces(ctx)
	c.must(err)
	c.equal("namespaces", []string{"ns", "other"}, namespaces)
	snap, err := c.Snapshot(ctx, "other")
	c.must(err)
	c.equal("current revisions", []retrieval.Rights{rightsOf(theirs)}, snap.Current)
	if len(snap.Segments) != 1 || snap.Segments[0].Generation != "other" {
		t.Errorf("segments of other: %+v", snap.Segments)
	}
	d, err := c.Document(ctx, everyone, "a.pdf")
	c.must(err)
	c.equal("document", mine.Document, d)
	roots, err := c.Roots(ctx, "other")
	c.must(err)
	c.equal("roots", []retrieval.Root{{Path: "/r", Prefix: "other"}}, roots)
	c.apply(retrieval.Batch{Namespace: "other", DropRoots: []string{"/r"}})
	files, err := c.Files(ctx, "ns", "/r")
	c.must(err)
	if len(files) != 1 || files[0].SHA256 != "ns" {
		t.Errorf("files of ns: %+v", files)
	}
}

func testOthers(t *testing.T, c corpus) {
	ctx := t.Context()
	first, second := c.put(id(1), "a.pdf"), c.put(id(2), "a.pdf")
	second.Document.Namespace = "other"
	key := retrieval.FileKey{Root: "/r", Path: "a.pdf"}
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{first}, PutRoots: []retrieval.Root{{Path: "/r"}},
		PutFiles: []retrieval.File{{FileKey: key, DocumentID: id(1)}}})
	move := retrieval.Batch{Namespace: "ns", Delete: []string{id(1)},
		PutFiles: []retrieval.File{{FileKey: key, DocumentID: id(2), PutIn: "other"}},
		Others: []retrieval.Batch{{Namespace: "other", Put: []retrieval.Put{second},
			AddSegments: []retrieval.Segment{{Generation: "g", Revisions: []int64{second.Document.Revision}}}}}}
	refused := move
	refused.Others = []retrieval.Batch{{Namespace: "other", Put: []retrieval.Put{second}, DropSegments: []int64{99}}}
	if _, err := c.Apply(ctx, refused); !errors.Is(err, retrieval.ErrConflict) {
		t.Errorf("a batch whose other part drops a missing segment: %v, want ErrConflict", err)
	}
	if _, err := c.Document(ctx, everyone, "a.pdf"); err != nil {
		t.Errorf("the refused batch has deleted a document: %v", err)
	}
	done, err := c.Apply(ctx, move)
	c.must(err)
	snap, err := c.Snapshot(ctx, "other")
	c.must(err)
	c.equal("what was done", retrieval.Applied{Before: done.Version - 1, Version: snap.Version, Gone: []int64{first.Document.Revision},
		Others: []retrieval.Applied{{Before: done.Version - 1, Version: snap.Version, Segments: []int64{snap.Segments[0].ID}}}}, done)
	if _, err := c.Document(ctx, everyone, "a.pdf"); !errors.Is(err, retrieval.ErrNotFound) {
		t.Errorf("the document is still in its old namespace: %v", err)
	}
	there := everyone
	there.Namespace = "other"
	d, err := c.Document(ctx, there, "a.pdf")
	c.must(err)
	c.equal("the document in its new namespace", second.Document, d)
}

package filesapi_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"parley/internal/chat"
	"parley/internal/documents"
	"parley/internal/extract"
	"parley/internal/library/librarytest"
	"parley/internal/retrieval"
	"parley/internal/wire/filesapi"
	"parley/internal/wire/wiretest"
)

// readLines reads each line of a file as a chunk. It refuses files of other names than .txt.
func readLines(_ context.Context, name, path string) (title string, chunks []retrieval.Chunk, err error) {
	if strings.HasSuffix(name, ".jar") {
		return "", nil, &extract.Error{Reason: extract.Unsupported, Detail: "program archive files are not read"}
	}
	if !strings.HasSuffix(name, ".txt") {
		return "", nil, &extract.Error{Reason: extract.Crashed, Detail: "the parser panicked: secret"}
	}
	content, err := os.ReadFile(path)
	for line := range strings.Lines(string(content)) {
		chunks = append(chunks, retrieval.Chunk{Text: line, Spans: []retrieval.Span{{End: len(line)}}})
	}
	return name, chunks, err
}

func TestGive_ReadsFilesOfTheOwnerAndOfTheRequestOnly(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	site := librarytest.New(t, documents.Quota{}, wiretest.IDs())
	h := filesapi.New(filesapi.Config{Library: site.Library, Read: readLines})
	stored, err := site.Library.AddFile(t.Context(), "ann", "note.txt", "user_data", strings.NewReader("one\ntwo\n"))
	if err != nil {
		t.Fatal(err)
	}
	big := []byte(strings.Repeat("x\n", 2001))
	many := make([]chat.File, 11)
	for i := range many {
		many[i] = chat.File{Name: "a.txt", Data: []byte{'a' + byte(i)}, Param: "input[0]"}
	}
	for _, c := range []struct {
		name, owner string
		files       []chat.File
		passages    int
		fails       string
	}{
		{"stored", "ann", []chat.File{{ID: stored.ID, Param: "p"}}, 2, ""},
		{"stored twice", "ann", []chat.File{{ID: stored.ID, Param: "p"}, {ID: stored.ID, Param: "q"}}, 2, ""},
		{"of somebody else", "bob", []chat.File{{ID: stored.ID, Param: "p"}}, 0, "There is no file"},
		{"gone since an earlier request", "bob", []chat.File{{ID: stored.ID}}, 0, ""},
		{"inline", "", []chat.File{{Name: "a.txt", Data: []byte("three\n"), Param: "p"}}, 1, ""},
		{"not read", "", []chat.File{{Name: "a.exe", Data: []byte("MZ"), Param: "p"}}, 0, `The file "a.exe" cannot be read: its parser failed.`},
		{"of a kind that is not read", "", []chat.File{{Name: "a.jar", Data: []byte("PK"), Param: "p"}}, 0,
			"program archive files are not read; supported formats are PDF, Word, "},
		{"not read any more", "", []chat.File{{Name: "a.exe", Data: []byte("MZ")}}, 0, ""},
		{"no text", "", []chat.File{{Name: "a.txt", Param: "p"}}, 0, "it has no text"},
		{"a bad name", "", []chat.File{{Name: "..", Data: []byte("x"), Param: "p"}}, 0, "The file was refused: the file name"},
		{"too much text", "", []chat.File{{Name: "a.txt", Data: big, Param: "p"}}, 0, "too much text"},
		{"too many", "", many, 0, "at most 10 files"},
	} {
		given, err := h.Give(t.Context(), c.owner, c.files)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v, want %q", c.name, err, c.fails)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if given == nil {
			if c.passages > 0 {
				t.Errorf("%s: nothing is searched", c.name)
			}
			continue
		}
		found, err := given.Search(t.Context(), retrieval.Query{Text: "zzz", Limit: 50})
		if err != nil || len(found.Passages) != c.passages {
			t.Errorf("%s: %d passages, %v; want %d", c.name, len(found.Passages), err, c.passages)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

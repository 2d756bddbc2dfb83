package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"parley/internal/access"
	"parley/internal/attribute"
	"parley/internal/retrieval"
)

func testFind(t *testing.T, c corpus) {
	var puts []retrieval.Put
	for i, name := range []string{"a/Leave.pdf", "b/leave policy.md", "c/100%.txt", "d/100x.txt", "e_f.txt", "exf.txt", `g\h.txt`} {
		p := c.put(id(i+1), name)
		p.Document.Title = "Title " + string(rune('P'+i))
		puts = append(puts, p)
	}
	c.apply(retrieval.Batch{Namespace: "ns", Put: puts})
	for _, q := range []struct {
		text, after string
		limit       int
		want        []int // indexes of puts
		total       int
	}{
		{"", "", 3, []int{0, 1, 2}, 7},
		{"", "c/100%.txt", 2, []int{3, 4}, 7},
		{"LEAVE", "", 9, []int{0, 1}, 2},
		{"leave", "a/Leave.pdf", 9, []int{1}, 2},
		{"100%", "", 9, []int{2}, 1},
		{"e_f", "", 9, []int{4}, 1},
		{`\`, "", 9, []int{6}, 1},
		{"title q", "", 9, []int{1}, 1},
		{"nothing", "", 9, nil, 0},
	} {
		found, total, err := c.FindDocuments(t.Context(), everyone, q.text, q.after, q.limit)
		c.must(err)
		var want []retrieval.Document
		for _, i := range q.want {
			want = append(want, puts[i].Document)
		}
		c.equal("found by "+q.text, want, found)
		c.equal("counted by "+q.text, q.total, total)
	}
	d, err := c.DocumentByID(t.Context(), everyone, id(2))
	c.must(err)
	c.equal("by id", puts[1].Document, d)
	for _, f := range []retrieval.Filter{{Namespace: "ns"}, {Namespace: "other", Principal: everyone.Principal}} {
		if _, err := c.DocumentByID(t.Context(), f, id(2)); !errors.Is(err, retrieval.ErrNotFound) {
			t.Errorf("%+v: %v, want ErrNotFound", f, err)
		}
	}
}

// testFindMeeting finds documents by their attributes, page by page, and checks that only visible ones are found.
func testFindMeeting(t *testing.T, c corpus) {
	var puts []retrieval.Put
	for i := range 12 {
		p := c.put(id(i+1), fmt.Sprintf("%c.md", 'a'+i))
		p.Document.Attributes = attribute.Values{"even": i%2 == 0, "n": float64(i), "tags": []any{"all", fmt.Sprintf("third %d", i%3)}}.Encode()
		if i == 4 {
			p.Document.Access = access.List{Users: []string{"somebody else"}}
		}
		if i == 6 {
			p.Document.Attributes = nil
		}
		puts = append(puts, p)
	}
	c.apply(retrieval.Batch{Namespace: "ns", Put: puts})
	other := c.put(id(20), "z.md")
	other.Document.Namespace = "other"
	c.apply(retrieval.Batch{Namespace: "other", Put: []retrieval.Put{other}})
	even := attribute.Compare("eq", "even", true)
	for _, q := range []struct {
		where       *attribute.Condition
		text, after string
		limit       int
		want        []int // indexes of puts
		total       int
	}{
		{even, "", "", 2, []int{0, 2}, 4},
		{even, "", "c.md", 2, []int{8, 10}, 4},
		{even, "", "k.md", 2, nil, 4},
		{even, "", "", 0, nil, 4},
		{even, "I.MD", "", 9, []int{8}, 1},
		{attribute.All(even, attribute.Compare("eq", "tags", "third 2")), "", "", 9, []int{2, 8}, 2},
		{attribute.Compare("ne", "tags", "all"), "", "", 9, []int{6}, 1},
		{attribute.Compare("eq", retrieval.AttributePath, "b.md"), "", "", 9, []int{1}, 1},
		{attribute.Compare("gt", "n", 100.0), "", "", 9, nil, 0},
	} {
		f := everyone
		f.Where = q.where
		name := fmt.Sprintf("%v, %q, after %q", q.where, q.text, q.after)
		found, total, err := c.FindDocuments(t.Context(), f, q.text, q.after, q.limit)
		c.must(err)
		var want []retrieval.Document
		for _, i := range q.want {
			want = append(want, puts[i].Document)
		}
		c.equal("found by "+name, want, found)
		c.equal("counted by "+name, q.total, total)
		var names []string
		c.must(c.EachFound(t.Context(), f, q.text, func(d retrieval.Document) { names = append(names, d.Namespace+"/"+d.Name) }))
		c.equal("each of "+name, q.total, len(names))
		for _, d := range found {
			c.equal("each of "+name+" has "+d.Name, true, slices.Contains(names, "ns/"+d.Name))
		}
	}
	var described []string
	c.must(c.EachFound(t.Context(), everyone, "b.md", func(d retrieval.Document) { described = append(described, fmt.Sprint(d.AllAttributes())) }))
	c.equal("attributes", []string{fmt.Sprint(puts[1].Document.AllAttributes())}, described)
}

func testByAge(t *testing.T, c corpus) {
	var puts []retrieval.Put
	for i := range 5 {
		puts = append(puts, c.put(id(i+1), string(rune('e'-i))+".pdf"))
	}
	c.apply(retrieval.Batch{Namespace: "ns", Put: puts})
	for _, q := range []struct {
		list retrieval.ByAge
		want []int // indexes of puts
	}{
		{retrieval.ByAge{Limit: 2}, []int{4, 3}},
		{retrieval.ByAge{Limit: 9, After: id(4)}, []int{2, 1, 0}},
		{retrieval.ByAge{Limit: 9, Before: id(3)}, []int{4, 3}},
		{retrieval.ByAge{Limit: 3, Oldest: true}, []int{0, 1, 2}},
		{retrieval.ByAge{Limit: 2, Oldest: true, After: id(2)}, []int{2, 3}},
		{retrieval.ByAge{Limit: 9, Oldest: true, After: id(1), Before: id(4)}, []int{1, 2}},
		{retrieval.ByAge{Limit: 9, After: id(1)}, nil},
	} {
		found, err := c.DocumentsByAge(t.Context(), everyone, q.list)
		c.must(err)
		var want []retrieval.Document
		for _, i := range q.want {
			want = append(want, puts[i].Document)
		}
		c.equal(fmt.Sprintf("listed by %+v", q.list), want, found)
	}
}

func testPage(t *testing.T, c corpus) {
	p := c.put(id(1), "a.pdf")
	p.Pages[1].Number = 7 // those between have no text
	c.apply(retrieval.Batch{Namespace: "ns", Put: []retrieval.Put{p}})
	for i, number := range []int{1, 7} {
		page, last, err := c.Page(t.Context(), p.Document.Revision, number)
		c.must(err)
		c.equal("page", p.Pages[i], page)
		c.equal("last", 7, last)
	}
	for _, number := range []int{0, 2, 8} {
		if _, last, err := c.Page(t.Context(), p.Document.Revision, number); !errors.Is(err, retrieval.ErrNotFound) || last != 7 {
			t.Errorf("page %d: last %d, %v, want ErrNotFound", number, last, err)
		}
	}
	if _, _, err := c.Page(t.Context(), 999, 1); !errors.Is(err, retrieval.ErrNotFound) {
		t.Errorf("a revision that is not there: %v", err)
	}
}

func testEmbeddedChunks(t *testing.T, c corpus) {
	a, b := c.two()
	revisions := []int64{a.Document.Revision, b.Document.Revision, 999}
	count := func(want map[int64]int) {
		t.Helper()
		got, err := c.EmbeddedChunks(t.Context(), revisions)
		c.must(err)
		c.equal("embedded", want, got)
	}
	count(map[int64]int{})
	first := c.begin(small)
	c.embed(first, a, b)
	count(map[int64]int{revisions[0]: 3, revisions[1]: 3})
	c.must(c.SwitchGeneration(t.Context(), first.ID))
	second := c.begin(retrieval.Generation{Model: "openai:large", Recipe: "1"})
	c.putVectors(second, []retrieval.Vector{vectorOf("x")}, link(b, 0, "x"))
	count(map[int64]int{revisions[1]: 1})
}

func testFilesOf(t *testing.T, c corpus) {
	file := func(root, path, document string) retrieval.File {
		return retrieval.File{FileKey: retrieval.FileKey{Root: root, Path: path}, Namespace: "ns", SHA256: "ab", DocumentID: document, Generation: "g"}
	}
	mail, part := file("/r", "x/a.zip/m.eml", id(1)), file("/r", "x/a.zip/m.eml/p.pdf", id(2))
	moved := file("/s", "moved.md", id(5))
	moved.PutIn = "other"
	c.apply(retrieval.Batch{Namespace: "ns", PutRoots: []retrieval.Root{{Path: "/r"}, {Path: "/s"}},
		PutFiles: []retrieval.File{file("/r", "x/a.zip", ""), mail, part, file("/s", "x/a.zip", id(4)), moved}})
	files, err := c.FilesOf(t.Context(), "ns", id(2))
	c.must(err)
	c.equal("files", []retrieval.File{part}, files)
	files, err = c.FilesOf(t.Context(), "other", id(5))
	c.must(err)
	c.equal("files of a document in another namespace", []retrieval.File{moved}, files)
	for _, q := range [][2]string{{"ns", id(9)}, {"other", id(2)}, {"ns", id(5)}, {"ns", ""}} {
		files, err = c.FilesOf(t.Context(), q[0], q[1])
		c.must(err)
		c.equal("of another document", 0, len(files))
	}
}

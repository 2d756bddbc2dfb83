package ingest

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"parley/internal/extract"
	"parley/internal/retrieval"
)

// Post cuts a document into chunks in the process that extracted it. The main function passes it to
// sandbox.RunWorkerIfAsked; Run decodes what it returns. Options are postOptions as JSON, or nil for
// the defaults. Post removes the blocks from the document unless the options keep them.
func Post(doc *extract.Document, options []byte) ([]byte, error) {
	var o postOptions
	if options != nil {
		if err := json.Unmarshal(options, &o); err != nil {
			return nil, fmt.Errorf("read the options of the splitter: %w", err)
		}
	}
	chunks := Split(doc, o.SplitOptions)
	if len(chunks) == 0 {
		return nil, &extract.Error{Reason: extract.Empty, Detail: "the file has no text"}
	}
	index := make(map[int]int, len(doc.Pages))
	for i := range doc.Pages {
		index[doc.Pages[i].Number] = i
		if !o.KeepBlocks {
			doc.Pages[i].Blocks = nil
		}
	}
	return encodeChunks(chunks, index), nil
}

// postOptions are the options of Post.
type postOptions struct {
	SplitOptions
	KeepBlocks bool `json:",omitempty"`
}

// post returns the options of Post for a configuration.
func (c *Config) post() []byte {
	if c.Reading == nil {
		return c.Split.encode()
	}
	return KeepBlocks(c.Split)
}

// KeepBlocks returns the options of Post that leave the blocks in the document.
func KeepBlocks(split SplitOptions) []byte {
	b, err := json.Marshal(postOptions{split, true})
	if err != nil {
		panic(fmt.Sprintf("ingest: numbers are not JSON: %v", err))
	}
	return b
}

// chunksVersion is the first byte of encoded chunks.
const chunksVersion = 1

// encodeChunks packs chunks without their texts, which follow from the spans. The format is a version
// byte followed by varints: for each chunk its tokens, the number of its spans, each with the index of
// its page, start and length, and the number of its headings, each with its length and bytes.
func encodeChunks(chunks []retrieval.Chunk, index map[int]int) []byte {
	b := []byte{chunksVersion}
	put := func(n int) { b = binary.AppendUvarint(b, uint64(n)) }
	for _, c := range chunks {
		put(c.Tokens)
		put(len(c.Spans))
		for _, s := range c.Spans {
			put(index[s.Page])
			put(s.Start)
			put(s.End - s.Start)
		}
		put(len(c.Headings))
		for _, h := range c.Headings {
			put(len(h))
			b = append(b, h...)
		}
	}
	return b
}

// errChunks means that a worker sent bytes that encodeChunks does not produce.
var errChunks = errors.New("its chunks do not fit its text")

// decodeChunks unpacks the result of encodeChunks. It trusts nothing, since a hostile file may have
// taken over the process that wrote it.
func decodeChunks(b []byte, pages []extract.Page, options SplitOptions) ([]retrieval.Chunk, error) {
	if len(b) < 2 || b[0] != chunksVersion {
		return nil, errChunks
	}
	r := chunkReader{rest: b[1:], pages: pages}
	most := options.withDefaults().limit() * utf8.UTFMax
	var chunks []retrieval.Chunk
	for len(r.rest) > 0 {
		c := retrieval.Chunk{Key: retrieval.ChunkKey{Ordinal: len(chunks)}, Tokens: r.number(most)}
		var text strings.Builder
		for range r.number(most) {
			s, page := r.span()
			if r.failed || text.Len()+len(page) > most {
				return nil, errChunks
			}
			if text.Len() > 0 {
				text.WriteByte('\n')
			}
			s.Offset = text.Len()
			text.WriteString(page)
			c.Spans = append(c.Spans, s)
		}
		for range r.number(most) {
			c.Headings = append(c.Headings, r.text())
			if r.failed {
				return nil, errChunks
			}
		}
		if c.Text = text.String(); r.failed || c.Text == "" {
			return nil, errChunks
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

// chunkReader reads values from encoded chunks. After a failure it returns zero values.
type chunkReader struct {
	rest   []byte
	pages  []extract.Page
	failed bool
}

// number reads a number and checks that it is at most most.
func (r *chunkReader) number(most int) int {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(most) {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

func (r *chunkReader) text() string {
	n := r.number(len(r.rest))
	if r.failed || n > len(r.rest) {
		r.failed, r.rest = true, nil
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

// span reads a non-empty span and returns it with its text.
func (r *chunkReader) span() (retrieval.Span, string) {
	i := r.number(len(r.pages))
	if r.failed || i == len(r.pages) {
		r.failed = true
		return retrieval.Span{}, ""
	}
	p := r.pages[i]
	start := r.number(len(p.Text))
	end := start + r.number(len(p.Text)-start)
	if r.failed || end == start {
		r.failed = true
		return retrieval.Span{}, ""
	}
	return retrieval.Span{Page: p.Number, Start: start, End: end}, p.Text[start:end]
}

package filesapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"parley/internal/chat"
	"parley/internal/documents/upload"
	"parley/internal/extract"
	"parley/internal/format"
	"parley/internal/library"
	"parley/internal/lru"
	"parley/internal/retrieval"
	"parley/internal/wire/openai"
)

// The limits of files that are part of a question.
const (
	maxGiven       = 10       // files
	maxGivenBytes  = 32 << 20 // bytes of one file
	maxGivenChunks = 2000     // of all files together
	maxGiving      = 4        // requests whose files are read concurrently
	givenCache     = 32 << 20 // bytes of extracted texts that are cached, because clients send their files with each question
)

// reading is the title and the text of a file that is part of a question.
type reading struct {
	title  string
	chunks []retrieval.Chunk
}

func newReadings() *lru.Cache[string, reading] {
	return lru.New(givenCache, func(_ string, r reading) int {
		size := 1 << 10
		for _, c := range r.chunks {
			size += 256 + len(c.Text)
		}
		return size
	})
}

// Give reads the files of a conversation, newest last, for a search in them. It does not store them. It skips a file of
// an earlier request that no longer exists or cannot be read. The result is nil if no file remains.
func (h *Handler) Give(ctx context.Context, owner string, files []chat.File) (*retrieval.Given, error) {
	if len(files) == 0 {
		return nil, nil //nolint:nilnil // nothing to search
	}
	release, err := h.giving.Take(&chat.Error{Kind: chat.RateLimited, Msg: "Too many files are being read at the moment. Please try again later."})
	if err != nil {
		return nil, err
	}
	defer release()
	given, err := h.giveAll(ctx, owner, files)
	if err != nil || len(given) == 0 {
		return nil, err
	}
	return retrieval.NewGiven(given)
}

func (h *Handler) giveAll(ctx context.Context, owner string, files []chat.File) (given []retrieval.Brought, err error) {
	if asked := slices.DeleteFunc(slices.Clone(files), func(f chat.File) bool { return f.Param == "" }); len(asked) > maxGiven {
		return nil, openai.Refusef(asked[maxGiven].Param, openai.Invalid,
			"A request may contain at most %d files. To use more, upload them to a vector store or a namespace and search that.", maxGiven)
	}
	left := maxGivenChunks
	seen := map[string]bool{}
	for _, f := range slices.Backward(files) { // newest first, because they matter most
		if len(given) == maxGiven {
			break
		}
		b, err := h.give(ctx, owner, f)
		gone := errors.Is(err, library.ErrNotFound)
		switch {
		case err != nil && f.Param == "" && (gone || chat.KindOf(err) == chat.Invalid):
			continue
		case gone:
			return nil, openai.Refuse(chat.NotFound, f.Param+".file_id", "not_found", "There is no file with the id "+quoted(f.ID)+".")
		case err != nil:
			return nil, err
		case seen[b.Document.ID]:
			continue
		}
		seen[b.Document.ID] = true
		if left -= len(b.Chunks); left < 0 {
			if f.Param == "" {
				break
			}
			return nil, openai.Refusef(f.Param, openai.Invalid,
				"The files of the request contain too much text. Upload them to a vector store or a namespace and search that.")
		}
		given = append(given, b)
	}
	slices.Reverse(given)
	return given, nil
}

// give reads one file. The id of an inline file is a hash of its name and content.
func (h *Handler) give(ctx context.Context, owner string, f chat.File) (b retrieval.Brought, err error) {
	var content io.Reader = bytes.NewReader(f.Data)
	if f.ID != "" {
		stored, file, err := h.cfg.Library.Open(ctx, owner, f.ID)
		if err != nil {
			return b, err
		}
		defer file.Close()
		f.Name, content = stored.Name, file
		b.Document.ID, b.Document.URL = f.ID, "/v1/files/"+url.PathEscape(f.ID)+"/content"
	}
	name, err := upload.Clean(cmp.Or(f.Name, "file"))
	if err != nil {
		return b, openai.Refusef(f.Param+".filename", openai.Invalid, "The file was refused: %v.", err)
	}
	r, sum, err := h.read(ctx, readAs(name, f.Pasted), content)
	if err != nil && f.Pasted {
		r, sum, err = h.read(ctx, name+plain, bytes.NewReader(f.Data))
	}
	if refusal, ok := errors.AsType[*extract.Error](err); ok {
		why := refusal.Detail
		if refusal.Reason == extract.Crashed {
			why = "its parser failed" // the detail may be internal
		}
		if refusal.Reason == extract.Unsupported {
			why += "; supported formats are " + readable()
		}
		return b, openai.Refusef(f.Param, openai.UnsupportedValue, "The file %s cannot be read: %s.", strconv.Quote(name), why)
	}
	if err != nil {
		return b, err
	}
	b.Document.ID = cmp.Or(b.Document.ID, sum)
	b.Document.Name, b.Document.Title, b.Chunks = name, cmp.Or(r.title, name), r.chunks
	return b, nil
}

// plain is the extension of plain text.
const plain = ".txt"

// readAs returns the name whose extension determines how a file is read. Text that a client extracted from a file in a
// binary or unsupported format is plain text.
func readAs(name string, pasted bool) string {
	if f := format.ByExtension(format.Ext(name)); pasted && (f == nil || f.Binary || f.Unread) {
		return name + plain
	}
	return name
}

// readable returns the names of the formats that can be read, for an error message.
var readable = sync.OnceValue(func() string {
	var names []string
	for _, f := range format.Table {
		if f.Web {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ") + " and other text files"
})

// read returns the text of a file, and a hash of its name and content.
func (h *Handler) read(ctx context.Context, name string, content io.Reader) (r reading, sum string, err error) {
	temp, err := os.CreateTemp(h.cfg.Temp, "parley-given-")
	if err != nil {
		return r, "", fmt.Errorf("store a file for reading: %w", err)
	}
	defer os.Remove(temp.Name())
	hash := sha256.New()
	_, _ = io.WriteString(hash, name+"\x00") // never fails for a hash
	n, err := io.Copy(io.MultiWriter(temp, hash), io.LimitReader(content, maxGivenBytes+1))
	if err = errors.Join(err, temp.Close()); err != nil {
		return r, "", fmt.Errorf("store a file for reading: %w", err)
	}
	if n > maxGivenBytes {
		return r, "", &extract.Error{Reason: extract.TooLarge,
			Detail: fmt.Sprintf("it is larger than %d MiB; upload it to a vector store or a namespace and search that", maxGivenBytes>>20)}
	}
	sum = hex.EncodeToString(hash.Sum(nil))
	if r, ok := h.readings.Get(sum); ok {
		return r, sum, nil
	}
	if r.title, r.chunks, err = h.cfg.Read(ctx, name, temp.Name()); err != nil {
		return r, sum, err
	}
	if len(r.chunks) == 0 {
		return r, sum, &extract.Error{Reason: extract.Empty, Detail: "it has no text"}
	}
	h.readings.Put(sum, r)
	return r, sum, nil
}

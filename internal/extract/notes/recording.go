package notes

import (
	"bytes"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"parley/internal/extract"
	"parley/internal/extract/compose"
)

var _ = extract.Register("recording", extract.Reader{Read: readRecording, Looks: isRecording})

// isRecording recognises formats of sound and film whose signature has no fixed bytes at the start.
func isRecording(f *extract.File) bool {
	if len(f.Head) < 12 {
		return false
	}
	kind := string(f.Head[8:12])
	return bytes.HasPrefix(f.Head, []byte("RIFF")) && (kind == "WAVE" || kind == "AVI ") ||
		string(f.Head[4:8]) == "ftyp" && kind != "avif" && kind != "heic" && kind != "heix" && kind != "mif1"
}

// readRecording returns the transcript of a recording: like subtitles, a page for each minute. Page 1 exists as soon as the
// whole recording is transcribed.
func readRecording(_ context.Context, f *extract.File) (*extract.Document, error) {
	first, heard := f.Seen[1]
	switch {
	case !heard:
		return nil, &extract.Error{Reason: extract.ScanOnly, Detail: "what is said in it is not written down", Unread: []int{1}}
	case first.Failed != "":
		return nil, &extract.Error{Reason: extract.ScanOnly, Detail: "it could not be transcribed: " + first.Failed}
	}
	doc := &extract.Document{Title: nameTitle(f.Name)}
	for _, minute := range slices.Sorted(maps.Keys(f.Seen)) {
		if seen := f.Seen[minute]; len(seen.Page.Blocks) > 0 {
			doc.Pages = append(doc.Pages, seen.Page)
		}
	}
	if len(doc.Pages) == 0 {
		return nil, &extract.Error{Reason: extract.Empty, Detail: "nothing is said in it"}
	}
	return doc, nil
}

// nameTitle returns a title from the name of a file, for a document whose first heading is a time.
func nameTitle(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	return compose.OneLine(strings.NewReplacer("_", " ", "-", " ").Replace(strings.TrimSuffix(name, path.Ext(name))))
}

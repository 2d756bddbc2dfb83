package archive

import (
	"context"
	"errors"
	"io"

	"github.com/nwaples/rardecode/v2"

	"parley/internal/extract"
	"parley/internal/interrupt"
)

var _ = extract.Register("RAR archive", extract.Reader{Read: readRAR})

// readRAR extracts the files of a RAR archive, without a password or with the first one that fits.
func readRAR(ctx context.Context, f *extract.File) (*extract.Document, error) {
	password, err := passwordOfRAR(ctx, f)
	if err != nil {
		return nil, err
	}
	archive, err := openRAR(f, password)
	if err != nil {
		return nil, rarError(err)
	}
	doc := &extract.Document{}
	for {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return doc, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && len(f.Spool.Parts) > 0:
			doc.Cut = rarError(err)
			return doc, nil
		case err != nil:
			return nil, rarError(err)
		case header.IsDir || header.LinkType != 0 || !header.Mode().IsRegular() || isJunk(header.Name):
			continue
		}
		if err := f.Spool.Add(ctx, header.Name, rarEntry{archive}); err != nil {
			return nil, err
		}
	}
}

func openRAR(f *extract.File, password string) (*rardecode.Reader, error) {
	options := []rardecode.Option{rardecode.MaxDictionarySize(maxDictionary)}
	if password != "" {
		options = append(options, rardecode.Password(password))
	}
	return rardecode.NewReader(io.NewSectionReader(f.Content, 0, f.Size), options...)
}

// passwordOfRAR returns the first password that opens the first encrypted file, or "" if the archive needs none. If no
// password opens it, that is an error only if the names are encrypted too.
func passwordOfRAR(ctx context.Context, f *extract.File) (string, error) {
	hidden := false
	for _, password := range append([]string{""}, f.Passwords...) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		err := tryRAR(ctx, f, password)
		switch {
		case err == nil:
			return password, nil
		case errors.Is(err, rardecode.ErrArchiveEncrypted):
			hidden = true
		case password == "" && !errors.Is(err, rardecode.ErrArchivedFileEncrypted):
			return "", nil // reading it reports what is wrong
		}
	}
	if hidden {
		return "", rarError(rardecode.ErrArchiveEncrypted)
	}
	return "", nil // reading refuses each encrypted file
}

// tryRAR reads the first encrypted file of an archive.
func tryRAR(ctx context.Context, f *extract.File, password string) error {
	archive, err := openRAR(f, password)
	if err != nil {
		return err
	}
	for {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case header.Encrypted || header.HeaderEncrypted:
			_, err := io.Copy(io.Discard, interrupt.Reader(ctx, archive))
			return err
		}
	}
}

// rarEntry reads the current file of an archive.
type rarEntry struct{ archive *rardecode.Reader }

func (e rarEntry) Read(p []byte) (int, error) {
	n, err := e.archive.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = rarError(err)
	}
	return n, err
}

// rarError translates an error of the library.
func rarError(err error) *extract.Error {
	for _, known := range []struct {
		err error
		as  *extract.Error
	}{
		{rardecode.ErrArchiveEncrypted, &extract.Error{Reason: extract.Encrypted, Detail: "the archive needs a password"}},
		{rardecode.ErrArchivedFileEncrypted, &extract.Error{Reason: extract.Encrypted, Detail: "it needs a password"}},
		{rardecode.ErrBadPassword, &extract.Error{Reason: extract.Encrypted, Detail: "no password that was given opens it"}},
		{rardecode.ErrDictionaryTooLarge, errDictionary},
		{rardecode.ErrMultiVolume, extract.Damagedf("the archive continues in another file")},
		{rardecode.ErrUnsupportedDecoder, unknownMethod()},
		{rardecode.ErrUnknownDecoder, unknownMethod()},
	} {
		if errors.Is(err, known.err) {
			return known.as
		}
	}
	return extract.Damagedf("the archive is cut off or broken")
}

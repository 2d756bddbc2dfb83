// Package archive extracts the files in archives (ZIP, 7-Zip, RAR and tar) and in files compressed by gzip, bzip2,
// xz or Zstandard. Each becomes a document of its own. Encrypted archives are read if one of the passwords opens them.
package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"parley/internal/extract"
	"parley/internal/extract/codepage"
	"parley/internal/extract/zipxml"
)

var (
	_ = extract.Register("ZIP archive", extract.Reader{Read: readZIP})
	_ = extract.Register("tar archive", extract.Reader{Read: readTAR, Looks: func(f *extract.File) bool { return isTAR(f.Head) }})
)

// readZIP extracts the files of a ZIP archive. It tries the passwords on encrypted files.
func readZIP(ctx context.Context, f *extract.File) (*extract.Document, error) {
	archive, err := zipxml.Open(f)
	if err != nil {
		return nil, err
	}
	names := zipNames(archive)
	for i, entry := range archive.File {
		if isJunk(names[i]) {
			continue
		}
		if err := addEntry(ctx, f, archive, entry, names[i]); err != nil {
			return nil, err
		}
	}
	return &extract.Document{}, nil
}

// addEntry extracts one file of a ZIP archive.
func addEntry(ctx context.Context, f *extract.File, archive *zipxml.Archive, entry *zip.File, name string) error {
	content, err := openEntry(ctx, f, archive, entry)
	var refused *extract.Error
	switch {
	case errors.As(err, &refused):
		if name, ok := extract.CleanName(name); ok {
			return f.Spool.Refuse(name, refused)
		}
		return f.Spool.Add(ctx, name, bytes.NewReader(nil)) // which refuses the name
	case err != nil:
		return err
	}
	defer content.Close()
	return f.Spool.Add(ctx, name, content)
}

// openEntry opens a file of a ZIP archive. An *extract.Error says why it cannot be read.
func openEntry(ctx context.Context, f *extract.File, archive *zipxml.Archive, entry *zip.File) (io.ReadCloser, error) {
	if entry.Flags&zipxml.EncryptedEntry != 0 {
		return openEncrypted(ctx, f, archive, entry)
	}
	r, err := entry.Open()
	switch {
	case errors.Is(err, zip.ErrAlgorithm):
		return nil, unknownMethod()
	case err != nil:
		return nil, extract.Damagedf("its place in the archive is broken")
	}
	return archive.Bounded(r, entry), nil
}

func unknownMethod() *extract.Error {
	return &extract.Error{Reason: extract.Unsupported, Detail: "it is compressed with a method that Parley does not support"}
}

// zipNames returns the names of an archive's entries. Old programs write them in the code page of
// their system, without saying which.
func zipNames(archive *zipxml.Archive) []string {
	names := make([]string, len(archive.File))
	var foreign []byte
	for i, entry := range archive.File {
		names[i] = entry.Name
		if !utf8.ValidString(entry.Name) {
			foreign = append(foreign, entry.Name+"\n"...)
		}
	}
	if len(foreign) == 0 {
		return names
	}
	encoding := nameEncoding(foreign)
	for i, name := range names {
		if !utf8.ValidString(name) {
			names[i] = codepage.As(encoding, []byte(name))
		}
	}
	return names
}

// nameEncoding finds the code page of names. They are too short for statistics alone, so it also uses the fact that
// byte values that are common in one code page are rare in others. The last resort is the code page of DOS.
func nameEncoding(names []byte) encoding.Encoding {
	switch {
	case codepage.IsShiftJIS(names):
		return japanese.ShiftJIS
	case highBytes(names, func(c byte) bool { return c >= 0x80 && c <= 0xaf || c >= 0xe0 && c <= 0xef }) >= 3:
		return charmap.CodePage866
	case isGBK(names):
		return simplifiedchinese.GBK
	}
	switch guessed := codepage.Guess(names); guessed {
	case simplifiedchinese.GBK, simplifiedchinese.GB18030, traditionalchinese.Big5, korean.EUCKR, japanese.EUCJP:
		return guessed
	}
	return charmap.CodePage437
}

// highBytes returns the length of the longest run of non-ASCII bytes, or 0 if any of them is not expected.
func highBytes(b []byte, expected func(byte) bool) int {
	run, longest := 0, 0
	for _, c := range b {
		switch {
		case c < utf8.RuneSelf:
			run = 0
			continue
		case !expected(c):
			return 0
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// isGBK reports whether all bytes that are not ASCII are common ideographs of GB 2312, and some of them are not
// possible in Korean text.
func isGBK(b []byte) bool {
	beyondKorean := false
	for i := 0; i < len(b); i++ {
		if b[i] < utf8.RuneSelf {
			continue
		}
		if i+1 == len(b) || b[i] < 0xb0 || b[i] > 0xd7 || b[i+1] < 0xa1 {
			return false
		}
		beyondKorean = beyondKorean || b[i] > 0xc8
		i++
	}
	return beyondKorean
}

// isJunk reports whether an entry is a folder, or a file that an operating system adds.
func isJunk(name string) bool {
	if strings.HasSuffix(name, "/") || strings.HasSuffix(name, `\`) {
		return true
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(name, `\`, "/"), "/") {
		if part == "__MACOSX" || part == ".DS_Store" || part == "Thumbs.db" || strings.HasPrefix(part, "._") {
			return true
		}
	}
	return false
}

func readTAR(ctx context.Context, f *extract.File) (*extract.Document, error) {
	return addTAR(ctx, f, io.NewSectionReader(f.Content, 0, f.Size))
}

// addTAR extracts the files of a tar archive, without links and devices. Each file has a header with a checksum.
// If a header is broken, the files after it are lost, and those before it are whole.
func addTAR(ctx context.Context, f *extract.File, src io.Reader) (*extract.Document, error) {
	doc := &extract.Document{}
	archive := tar.NewReader(src)
	for {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return doc, nil
		case errors.Is(err, tar.ErrInsecurePath): // Spool.Add checks the name
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, new(*extract.Error)):
			return nil, err
		case err != nil && len(f.Spool.Parts) > 0:
			doc.Cut = extract.Damagedf("the archive is cut off or broken behind the first %d files in it", len(f.Spool.Parts))
			return doc, nil
		case err != nil:
			return nil, extract.Damagedf("the archive is cut off or broken")
		}
		isFile := header.Typeflag == tar.TypeReg || header.Typeflag == tar.TypeGNUSparse
		if !isFile || isJunk(header.Name) {
			continue
		}
		name := header.Name
		if !utf8.ValidString(name) {
			name = codepage.As(nameEncoding([]byte(name)), []byte(name))
		}
		if err := f.Spool.Add(ctx, name, archive); err != nil {
			return nil, err
		}
	}
}

// isTAR recognises the header of the first file in a tar archive: by its magic, or for the oldest
// ones by its checksum.
func isTAR(head []byte) bool {
	if len(head) < 512 {
		return false
	}
	if string(head[257:262]) == "ustar" {
		return true
	}
	_, err := tar.NewReader(bytes.NewReader(head)).Next()
	return err == nil && head[0] != 0
}

// Package formats links in the readers of all formats. A program that reads files in this process
// imports it for that effect; package extract/sandbox does so for its workers.
package formats

import (
	// Each registers its readers.
	_ "parley/internal/extract/archive"
	_ "parley/internal/extract/code"
	_ "parley/internal/extract/mail"
	_ "parley/internal/extract/markup"
	_ "parley/internal/extract/notes"
	_ "parley/internal/extract/odf"
	_ "parley/internal/extract/office97"
	_ "parley/internal/extract/ooxml"
	_ "parley/internal/extract/parquet"
	_ "parley/internal/extract/pdf"
	_ "parley/internal/extract/picture"
	_ "parley/internal/extract/rtf"
	_ "parley/internal/extract/tabular"
	_ "parley/internal/extract/wiki"
)

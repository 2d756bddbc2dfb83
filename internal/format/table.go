package format

// Table lists the formats. Where several have an extension or a media type, the first one stands
// for it; content that fits several belongs to the first one too.
var Table = []Format{
	{
		Name: "PDF", Extensions: []string{"pdf"}, View: Image, Web: true, Binary: true,
		Media: []Media{{"application/pdf", []string{"pdf"}, "pdf"}},
		// ISO 32000-1, annex H.3.4.1: readers accept the header anywhere in the first 1,024 bytes.
		Signatures: []string{"%PDF-"}, Within: 1024,
		Reads:  "the text of each page with headings, lists and tables, form fields and annotations; attached files as documents of their own",
		Limits: "pages that are pictures, or whose fonts do not say which characters they show, are recognised in the background (`ingest.ocr`, `ingest.ocr_pages`), and named until then; tables without lines, figures or wide gaps are paragraphs",
	},
	{
		Name: "Word", Extensions: []string{"docx", "docm"}, Rare: []string{"dotx", "dotm"}, View: Text, Web: true, Binary: true,
		Media:  []Media{{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", []string{"docx"}, "docx"}},
		Reads:  "text with headings, lists, tables, text boxes, charts, diagrams, formulas as LaTeX, descriptions of pictures, comments, footnotes, headers and footers; embedded Office files, and files whose text Word inserts, as documents of their own",
		Limits: "no text in pictures; no OLE objects; no page numbers, since Word computes pages anew",
	},
	{
		Name: "PowerPoint", Extensions: []string{"pptx", "pptm"}, Rare: []string{"ppsx", "ppsm", "potx", "potm"},
		View: Slide, Web: true, Binary: true,
		Media:  []Media{{"application/vnd.openxmlformats-officedocument.presentationml.presentation", []string{"pptx"}, "pptx"}},
		Reads:  "a page for each slide: title, text, tables, charts, diagrams, formulas as LaTeX, speaker's notes, comments",
		Limits: "no text in pictures; no embedded files; what masters repeat only where a slide has nothing else",
	},
	{
		Name: "Excel", Extensions: []string{"xlsx", "xlsm"}, Rare: []string{"xltx", "xltm"}, View: Sheet, Web: true, Binary: true,
		Media:  []Media{{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", []string{"xlsx"}, "xlsx"}},
		Reads:  "each sheet under its name, row by row, with values as the cells show them; comments, text boxes, charts",
		Limits: "formulas by their last values; no pivot caches",
	},
	{
		Name: "Excel binary", Extensions: []string{"xlsb"}, View: Sheet, Web: true, Binary: true,
		Media:  []Media{{"application/vnd.ms-excel.sheet.binary.macroenabled.12", []string{"xlsb"}, "xlsb"}},
		Reads:  "each sheet under its name, row by row, with values as the cells show them; text boxes, charts",
		Limits: "formulas by their last values; no comments",
	},
	{
		Name: "Word 97–2003", Extensions: []string{"doc"}, Rare: []string{"dot"}, View: Text, Web: true, Binary: true,
		Media:  []Media{{"application/msword", []string{"doc"}, "doc"}},
		Reads:  "text with headings, lists, tables, footnotes and comments; also of Word 6 and 95",
		Limits: "no equations of the old editor; no text in pictures; headers and footers only where there is nothing else; of Word 6 and 95 no numbers of lists, and nothing with a password",
	},
	{
		Name: "Excel 97–2003", Extensions: []string{"xls"}, Rare: []string{"xlt", "xlw"}, View: Sheet, Web: true, Binary: true,
		Media:  []Media{{"application/vnd.ms-excel", []string{"xls"}, "xls"}},
		Reads:  "each sheet under its name, row by row, with values as the cells show them; workbooks that are only protected against changes open without a password",
		Limits: "formulas by their last values; no charts; of Excel 2 to 4 nothing with a password",
	},
	{
		Name: "PowerPoint 97–2003", Extensions: []string{"ppt"}, Rare: []string{"pps"}, View: Slide, Web: true, Binary: true,
		Media:  []Media{{"application/vnd.ms-powerpoint", []string{"ppt"}, "ppt"}},
		Reads:  "a page for each slide: title, text, speaker's notes",
		Limits: "tables cell by cell; no charts; no text in pictures; nothing that masters repeat",
	},
	{
		Name: "OpenDocument text", Extensions: []string{"odt"}, Rare: []string{"ott", "odm", "sxw"}, View: Text, Web: true, Binary: true,
		Media:  []Media{{"application/vnd.oasis.opendocument.text", []string{"odt"}, "odt"}},
		Reads:  "text with headings, lists, tables, notes, charts, headers and footers, formulas as LaTeX",
		Limits: "no text in pictures",
	},
	{
		Name: "OpenDocument spreadsheet", Extensions: []string{"ods"}, Rare: []string{"ots", "sxc"}, View: Sheet, Web: true, Binary: true,
		Media:  []Media{{"application/vnd.oasis.opendocument.spreadsheet", []string{"ods"}, "ods"}},
		Reads:  "each sheet under its name, row by row",
		Limits: "formulas by their last values; no charts",
	},
	{
		Name: "OpenDocument presentation", Extensions: []string{"odp"}, Rare: []string{"otp", "odg", "sxi"},
		View: Slide, Web: true, Binary: true,
		Media:  []Media{{"application/vnd.oasis.opendocument.presentation", []string{"odp"}, "odp"}},
		Reads:  "a page for each slide or drawing, with its tables, charts and notes",
		Limits: "no text in pictures",
	},
	{
		Name: "flat OpenDocument", Rare: []string{"fodt", "fods", "fodp", "fodg"}, View: Text,
		Roots: []string{"office:document"},
		Reads: "the same as in the other OpenDocument formats",
	},
	{
		Name: "EPUB", Extensions: []string{"epub"}, View: HTML, Web: true, Binary: true,
		Media:  []Media{{"application/epub+zip", []string{"epub"}, "epub"}},
		Reads:  "the chapters in reading order, formulas as LaTeX",
		Limits: "no text in pictures; no protected books",
	},
	{
		Name: "RTF", Extensions: []string{"rtf"}, View: Text, Web: true, Binary: true, Signatures: []string{`{\rtf`},
		Media:  []Media{{"application/rtf", []string{"rtf"}, "rtf"}, {"text/rtf", nil, "rtf"}},
		Reads:  "text with headings, lists, tables, formulas as LaTeX, footnotes and comments",
		Limits: "no pictures or embedded objects",
	},
	{
		Name: "HTML", Extensions: []string{"html", "htm", "xhtml"}, View: HTML, Web: true, Roots: []string{":html"},
		Media: []Media{
			{"text/html", []string{"html", "htm"}, "html"},
			{"application/xhtml+xml", []string{"xhtml"}, "html"},
		},
		Reads:  "the main content, without navigation and other page furniture; formulas (MathML) as LaTeX",
		Limits: "nothing that scripts add; a thread of comments below an article is left out",
	},
	{
		Name: "Markdown", Extensions: []string{"md", "markdown"}, Rare: []string{"mdown", "mkd", "mdx"}, View: Markdown, Web: true,
		Media: []Media{{"text/markdown", []string{"md", "markdown"}, "md"}, {"text/x-markdown", nil, "md"}},
		Reads: "text with its headings, lists, tables and code, and the front matter, in YAML or TOML; MDX without its imports",
	},
	{
		Name: "reStructuredText", Extensions: []string{"rst"}, Rare: []string{"rest"}, View: Text, Web: true,
		Media:  []Media{{"text/x-rst", []string{"rst"}, "rst"}},
		Reads:  "headings, lists, tables, code, notes and other directives",
		Limits: "no included files",
	},
	{
		Name: "AsciiDoc", Extensions: []string{"adoc"}, Rare: []string{"asciidoc", "asc"}, View: Text, Web: true,
		Media:  []Media{{"text/asciidoc", []string{"adoc"}, "adoc"}},
		Reads:  "headings, lists, tables, listings, with the attributes of the document filled in; without included files",
		Limits: "no included files",
	},
	{
		Name: "Org", Rare: []string{"org"}, View: Text,
		Reads: "headlines, lists, tables and blocks, without drawers",
	},
	{
		Name: "LaTeX", Extensions: []string{"tex"}, Rare: []string{"latex", "ltx"}, View: Text,
		Media:  []Media{{"application/x-tex", []string{"tex"}, ""}},
		Reads:  "headings, lists, tables, captions and code; mathematics as it was written; without included files",
		Limits: "macros of the author are not expanded",
	},
	{
		Name: "Jupyter notebook", Extensions: []string{"ipynb"}, View: Text,
		Media:  []Media{{"application/x-ipynb+json", []string{"ipynb"}, ""}},
		Reads:  "the cells in their order, and the first thousand bytes of what each printed",
		Limits: "no pictures",
	},
	{
		Name: "subtitles", Extensions: []string{"vtt", "srt", "sbv"}, View: Text,
		Media: []Media{{"text/vtt", []string{"vtt"}, ""}},
		Reads: "what is said, a page for each minute",
	},
	{
		Name: "recording", Extensions: []string{"mp3", "m4a", "wav", "ogg", "flac", "mp4", "webm"},
		Rare: []string{"mpga", "mpeg", "mpg", "oga", "opus", "aac", "wma", "mov", "mkv", "avi"}, View: Text, Binary: true,
		Media: []Media{
			{"audio/mpeg", []string{"mp3"}, ""}, {"audio/mp4", []string{"m4a"}, ""}, {"audio/wav", []string{"wav"}, ""}, {"audio/ogg", []string{"ogg"}, ""},
			{"audio/flac", []string{"flac"}, ""}, {"video/mp4", []string{"mp4"}, ""}, {"video/webm", []string{"webm"}, ""},
		},
		Signatures: []string{"ID3\x02", "ID3\x03", "ID3\x04", "OggS", "fLaC", "\x1aE\xdf\xa3"},
		Reads:      "what is said, a page for each minute, where a model transcribes recordings (`ingest.transcriber`)",
		Limits:     "nothing that is only shown",
	},
	{
		Name: "CSV", Extensions: []string{"csv", "tsv"}, Rare: []string{"tab"}, View: Sheet, Web: true,
		Media:  []Media{{"text/csv", []string{"csv"}, "csv"}, {"text/tab-separated-values", []string{"tsv"}, "tsv"}},
		Reads:  "rows, with the header row",
		Limits: "the first row counts as a header when it looks like one",
	},
	{
		Name: "Parquet", Extensions: []string{"parquet"}, View: Sheet, Binary: true, Signatures: []string{"PAR1", "PARE"},
		Media:  []Media{{"application/vnd.apache.parquet", []string{"parquet"}, ""}},
		Reads:  "rows, with the names of the columns; a column within another as `a.b`, the items of a list with commas between them",
		Limits: "no pictures and other binary values; no encrypted files",
	},
	{
		Name: "JSON", Extensions: []string{"json", "jsonl"}, Rare: []string{"ndjson", "geojson"}, View: Text,
		Media:  []Media{{"application/json", []string{"json"}, ""}},
		Reads:  "each record as lines `key: value`, with its long parts below headings",
		Limits: "vectors and encoded data are left out",
	},
	{
		Name: "XML", Extensions: []string{"xml"}, Rare: []string{"rdf", "dita", "docbook", "dbk", "tei"}, View: Text, Vague: true,
		Media:  []Media{{"application/xml", []string{"xml"}, ""}},
		Reads:  "titles, paragraphs, and short elements as lines `name: text`; formulas (MathML) as LaTeX; entities that the file declares",
		Limits: "no files that entities stand for",
	},
	{
		Name: "Word XML", Extensions: []string{"xml"}, View: Text, Roots: []string{"w:wordDocument", "pkg:package"},
		Reads: "Word files of 2003 saved as XML, and flat OPC: as Word, without styles",
	},
	{
		Name: "Excel XML", Extensions: []string{"xml"}, View: Sheet, Roots: []string{":Workbook", "ss:Workbook"},
		Reads: "Excel files of 2003 saved as XML: as Excel, without styles",
	},
	{
		Name: "SVG", Extensions: []string{"svg"}, View: Text, Roots: []string{":svg", "svg:svg"},
		Media:  []Media{{"image/svg+xml", []string{"svg"}, ""}},
		Reads:  "the title, the descriptions and the text of a drawing, in the order in which it is drawn",
		Limits: "no text that is drawn as shapes",
	},
	{
		Name: "image", Extensions: []string{"png", "jpg", "jpeg", "gif", "webp", "tif", "tiff"}, View: Image, Binary: true,
		Media:      []Media{{Type: "image/png"}, {Type: "image/jpeg"}, {Type: "image/gif"}, {Type: "image/webp"}, {"image/tiff", []string{"tif", "tiff"}, ""}},
		Signatures: []string{"\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF8", "II*\x00", "MM\x00*"},
		Reads:      "the name, the description and the text on it, which is recognised (`ingest.images`, `ingest.ocr`); all pages of a TIFF file",
		Limits:     "the first picture of an animation; at most 50 million pixels",
	},
	{
		Name: "mailbox", Rare: []string{"mbox", "mbx"}, Members: true,
		Reads: "each message as a document of its own",
	},
	{
		Name: "e-mail", Extensions: []string{"eml"}, Rare: []string{"mht", "mhtml"}, View: Text, Members: true,
		Media:  []Media{{"message/rfc822", []string{"eml"}, ""}},
		Reads:  "head and body; attachments as documents of their own",
		Limits: "encrypted messages are not read",
	},
	{
		Name: "Outlook message", Extensions: []string{"msg"}, View: Text, Members: true, Binary: true,
		Media:  []Media{{"application/vnd.ms-outlook", []string{"msg"}, ""}},
		Reads:  "head and body; attachments, and attached messages of any form, as documents of their own",
		Limits: "encrypted messages are not read",
	},
	{
		Name: "TNEF", Extensions: []string{"tnef"}, View: Text, Members: true, Binary: true, Signatures: []string{"\x78\x9f\x3e\x22"},
		Media: []Media{{"application/vnd.ms-tnef", []string{"tnef"}, ""}},
		Reads: "winmail.dat: body and head, as far as it holds them; attachments as documents of their own",
	},
	{
		Name: "MediaWiki", Extensions: []string{"wiki", "mediawiki"}, Rare: []string{"wikitext"}, View: Text, Web: true,
		Media:  []Media{{"text/plain", []string{"wiki", "mediawiki"}, ""}, {"text/x-wiki", nil, "wiki"}},
		Reads:  "sections, lists, tables, infoboxes; without references, and without templates that only a wiki can expand",
		Limits: "templates stay unexpanded",
	},
	{
		Name: "MediaWiki dump", Extensions: []string{"xml"}, Members: true, Roots: []string{":mediawiki"},
		Reads: "each page as a document of its own, without redirects, discussions, templates and files",
	},
	{
		Name: "source code", Extensions: []string{"py", "java", "cpp"},
		Rare: []string{"go", "js", "mjs", "cjs", "ts", "tsx", "jsx", "c", "h", "cc", "cxx", "hpp", "cs", "rs", "rb", "php", "swift", "kt", "kts", "scala",
			"groovy", "gradle", "sh", "bash", "zsh", "ps1", "psm1", "pl", "pm", "lua", "r", "jl", "hs", "ex", "exs", "erl", "clj", "dart", "m", "mm", "vb", "vbs",
			"bas", "f90", "f", "pas", "cob", "asm", "proto", "graphql", "tf", "bat", "cmd", "awk", "tcl", "nim", "zig", "sol"},
		View:  Text,
		Reads: "the text as it is, under the name of the file and of each function, class or type",
	},
	{
		Name: "SQL", Extensions: []string{"sql"}, Rare: []string{"ddl", "psql", "plsql"}, View: Text,
		Reads: "the statements, each table, view and function under its name",
	},
	{
		Name: "configuration", Extensions: []string{"yaml", "yml", "toml", "ini"}, Rare: []string{"cfg", "conf", "properties", "env"}, View: Text,
		Media: []Media{{"application/yaml", []string{"yaml", "yml"}, ""}, {"application/toml", []string{"toml"}, ""}},
		Reads: "the settings, under their sections; without values that may be secrets",
	},
	{
		Name: "ZIP archive", Extensions: []string{"zip"}, Members: true, Binary: true,
		Reads: "each file as a document of its own",
	},
	{
		Name: "iWork", Rare: []string{"pages", "numbers", "key"}, Members: true, Binary: true,
		Reads:  "the preview of a document of Pages, Numbers or Keynote, as a document of its own",
		Limits: "programs since 2013 save a picture of the first page only; save such documents as PDF",
	},
	{
		Name: "tar archive", Extensions: []string{"tar"}, Members: true, Binary: true,
		Reads: "each file as a document of its own",
	},
	{
		Name: "gzip archive", Extensions: []string{"gz", "tgz"}, Members: true, Binary: true, Signatures: []string{"\x1f\x8b"},
		Reads: "the file inside, or the files of a tar archive",
	},
	{
		Name: "bzip2 archive", Extensions: []string{"bz2"}, Rare: []string{"bz", "tbz", "tbz2"}, Members: true, Binary: true,
		Signatures: []string{"BZh"},
		Reads:      "the file inside, or the files of a tar archive",
	},
	{
		Name: "xz archive", Extensions: []string{"xz"}, Rare: []string{"txz"}, Members: true, Binary: true,
		Signatures: []string{"\xfd7zXZ\x00"},
		Reads:      "the file inside, or the files of a tar archive",
	},
	{
		Name: "Zstandard archive", Extensions: []string{"zst"}, Rare: []string{"tzst"}, Members: true, Binary: true,
		Signatures: []string{"\x28\xb5\x2f\xfd"},
		Reads:      "the file inside, or the files of a tar archive",
	},
	{
		Name: "7-Zip archive", Extensions: []string{"7z"}, Members: true, Binary: true, Signatures: []string{"7z\xbc\xaf\x27\x1c"},
		Reads:  "each file as a document of its own",
		Limits: "no files that are compressed with PPMd",
	},
	{
		Name: "RAR archive", Extensions: []string{"rar"}, Members: true, Binary: true, Signatures: []string{"Rar!\x1a\x07"},
		Reads: "each file as a document of its own",
	},
	{
		Name: "plain text", Extensions: []string{"txt"}, Rare: []string{"text", "log"},
		View: Text, Web: true, Vague: true,
		Media: []Media{{"text/plain", []string{"txt"}, "txt"}},
		Reads: "paragraphs, and tables whose columns are aligned or drawn",
	},

	// These are known by name, so that a message can say what a file is.
	{Name: "Office 97–2003", Unread: true},
	{
		Name: "program archive", Extensions: []string{"jar", "war", "apk", "whl", "xpi", "nupkg", "vsix", "crx"},
		Unread: true, Sealed: true,
	},
	{Name: "program", Signatures: []string{"\x7fELF"}, Unread: true},
	{Name: "SQLite", Signatures: []string{"SQLite format 3\x00"}, Unread: true},
	{Name: "PostScript", Signatures: []string{"%!PS"}, Unread: true},
}

// Package internal_test guards the import table: which package of Parley may import which.
package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "parley"

// allowed is the import table of ARCHITECTURE.md. The key is a package below internal, the
// value what it may import of Parley; "wire/*" and "llm/*" stand for every package directly
// below. access, durable, format, ident, interrupt, lazyregexp and lru are left out of the values: every package may import them. Tests are not held to
// the table, so that a conformance suite can use its parent and a fake.
var allowed = map[string][]string{
	"access":      {},
	"attribute":   {},
	"audit":       {},
	"format":      {},
	"ident":       {},
	"durable":     {},
	"interrupt":   {},
	"lazyregexp":  {},
	"lru":         {},
	"pageview":    {"chat", "extract", "extract/sandbox", "documents/ingest", "retrieval"},
	"text":        {},
	"tokens":      {},
	"trace":       {},
	"telemetry":   {"trace"},
	"fetch":       {},
	"tool":        {"fetch", "llm", "retrieval"},
	"tool/*":      {"tool", "llm"},
	"lexical":     {"text"},
	"vector":      {},
	"encoder":     {},
	"encoder/*":   {"encoder"},
	"llm":         {"trace"},
	"llm/*":       {"llm", "llm/upstream", "trace"},
	"retrieval":   {"lexical", "thesaurus", "vector", "text", "llm"},
	"rerank":      {"retrieval", "llm", "text"},
	"chat":        {"trace", "chat/cite", "chat/prompt", "retrieval", "rerank", "llm", "text"},
	"builtin":     {"chat", "chat/cite", "encoder", "encoder/*", "retrieval", "llm", "text"},
	"ledger":      {"chat", "llm"},
	"turn":        {"trace", "chat", "ledger", "retrieval", "llm"},
	"team":        {"ledger", "chat", "retrieval", "llm"},
	"store":       {"store/pagesum", "store/pgsql", "audit", "auth/apikey", "auth/roster", "auth/session", "chat", "turn", "ledger", "transcript", "shelf", "documents/job", "documents/upload", "retrieval", "llm"},
	"wire":        {"chat", "turn", "llm"},
	"auth":        {"auth/apikey", "auth/oidc", "auth/roster", "auth/session", "chat", "wire"},
	"wire/*":      {"wire", "turn", "ledger", "transcript", "chat", "chat/cite", "retrieval", "llm"},
	"conformance": {},
	"webui":       {},
	"server":      {"trace", "wire", "webui", "turn", "chat", "retrieval"},
	"eval":        {"chat", "documents/ingest", "retrieval", "extract", "llm", "text"},

	"thesaurus":          {"text"},
	"thesaurus/generate": {"text"},

	"transcript": {},
	"shelf":      {},
	"library":    {"shelf", "documents", "documents/upload", "documents/job", "retrieval"},

	"encoder/e5reader":   {"encoder", "encoder/e5small"},
	"documents/crawl":    {"fetch"},
	"documents/watch":    {},
	"documents/metadata": {"retrieval", "extract", "text"},
	"documents/source":   {},
	"documents/ingest":   {"documents/source", "documents/metadata", "retrieval", "extract", "documents/crawl", "fetch", "text", "tokens"},
	"documents/job":      {},
	"documents/upload":   {"text"},
	"documents":          {"documents/source", "documents/metadata", "documents/watch", "documents/job", "documents/upload", "documents/ingest", "documents/crawl", "extract", "extract/sandbox", "retrieval"},

	"extract":          {"extract/cfb", "extract/codepage"},
	"extract/cfb":      {},
	"extract/codepage": {},
	"extract/numfmt":   {},
	"extract/compose":  {"extract", "extract/codepage"},
	"extract/zipxml":   {"extract", "extract/compose", "extract/codepage"},
	"extract/tabular":  {"extract", "extract/compose"},
	"extract/latex":    {"extract", "extract/zipxml"},
	"extract/pdf":      {"extract", "extract/compose", "extract/codepage", "extract/tabular"},
	"extract/ooxml":    {"extract", "extract/compose", "extract/zipxml", "extract/tabular", "extract/latex", "extract/cfb", "extract/numfmt", "extract/codepage"},
	"extract/odf":      {"extract", "extract/compose", "extract/zipxml", "extract/tabular", "extract/latex"},
	"extract/markup":   {"extract", "extract/compose", "extract/zipxml", "extract/tabular", "extract/latex", "extract/codepage"},
	"extract/rtf":      {"extract", "extract/compose", "extract/tabular", "extract/markup", "extract/latex", "extract/codepage"},
	"extract/mail":     {"extract", "extract/compose", "extract/markup", "extract/rtf", "extract/cfb", "extract/codepage"},
	"extract/wiki":     {"extract", "extract/compose", "extract/zipxml", "extract/tabular"},
	"extract/archive":  {"extract", "extract/zipxml", "extract/codepage"},
	"extract/picture":  {"extract", "extract/compose"},
	"extract/parquet":  {"extract", "extract/compose"},
	"extract/code":     {"extract", "extract/compose"},
	"extract/notes":    {"extract", "extract/compose"},
	"extract/office97": {"extract", "extract/compose", "extract/tabular", "extract/cfb", "extract/numfmt", "extract/codepage"},
	"extract/formats":  {"extract/*"},
	"extract/sandbox":  {"extract", "extract/formats", "ocr"},

	"ocr":          {"extract", "extract/compose"},
	"ocr/generate": {},

	"library/librarytest": {"library", "access", "documents", "documents/documentstest", "documents/ingest", "extract", "retrieval", "store"},

	"store/pagesum":   {},
	"store/pgsql":     {},
	"store/pgtest":    {},
	"auth/apikey":     {},
	"auth/session":    {},
	"store/backup":    {"store"},
	"auth/oidc":       {"auth/apikey"},
	"llm/azureopenai": {"llm", "llm/upstream", "llm/openai"},
	"wire/wiretest":   {"wire", "wire/openai/openaitest", "turn", "chat", "chat/chattest"},
	"wire/ingestapi":  {"wire", "wire/ragchat", "chat", "documents/job", "documents", "documents/ingest", "retrieval", "documents/upload"},
	"wire/keysapi":    {"wire", "auth/apikey", "chat", "retrieval"},
	"wire/auditapi":   {"wire", "audit"},
	"wire/membersapi": {"wire", "auth/roster", "chat", "retrieval"},
	"auth/roster":     {},
	"wire/adminapi":   {"wire", "ledger", "transcript", "chat"},
	"wire/usersapi":   {"wire", "users", "documents", "chat"},
	"users":           {"retrieval"},
	"wire/signin":     {"wire", "auth/apikey", "auth/oidc", "auth/session", "chat"},
	"wire/librechat":  {"wire", "wire/filesapi", "library", "shelf", "access", "chat", "documents/upload", "extract", "retrieval"},
	"wire/openwebui":  {"wire", "wire/filesapi", "library", "shelf", "chat", "documents/upload"},
	"wire/openai":     {"wire", "turn", "chat", "chat/cite", "retrieval", "llm", "text", "tokens"},
	"wire/dify":       {"wire", "wire/openai", "library", "access", "chat", "retrieval"},
	"wire/filesapi":   {"wire", "wire/openai", "wire/ingestapi", "library", "shelf", "chat", "documents", "documents/job", "documents/upload", "extract", "retrieval"},
	"wire/webapi":     {"wire", "turn", "ledger", "transcript", "shelf", "chat", "chat/cite", "retrieval", "llm", "text", "pageview"},
	"wire/yourdata":   {"wire", "wire/openai", "turn", "transcript", "chat", "chat/cite", "retrieval", "llm"},
	"wire/responses":  {"wire", "wire/openai", "wire/filesapi", "library", "turn", "transcript", "chat", "retrieval", "llm", "tokens"},
	"wire/agui":       {"wire", "wire/openai", "turn", "chat", "llm"},
	"wire/aisdk":      {"wire", "wire/openai", "turn", "chat", "llm"},
	"wire/ragchat":    {"wire", "turn", "ledger", "chat", "chat/cite", "retrieval", "llm", "eval"},
	"chat/cite":       {"chat/prompt", "retrieval", "llm", "text"},
	"chat/prompt":     {"text"},
}

// forAll are the packages that every package may import.
var forAll = []string{"access", "attribute", "durable", "format", "ident", "interrupt", "lazyregexp", "lru"}

func TestImports_FollowTheTable(t *testing.T) {
	seen := map[string]bool{}
	for file, imports := range imports(t, ".") {
		pkg := filepath.ToSlash(filepath.Dir(file))
		row, ok := rowOf(pkg)
		if !ok {
			t.Errorf("internal/%s has no row in the import table: add one here and in ARCHITECTURE.md", pkg)
			continue
		}
		seen[row] = true
		for _, imported := range imports {
			if !mayImport(pkg, row, imported) {
				t.Errorf("internal/%s imports internal/%s; the table lets %s import only: %s",
					file, imported, row, strings.Join(slices.Concat(forAll, allowed[row]), ", "))
			}
		}
	}
	for row := range allowed {
		if !seen[row] {
			t.Errorf("the import table has a row for %s, which is no package", row)
		}
	}
}

// rowOf returns the row of the table for a package. A package named like its parent with "test"
// behind it (llm/llmtest) holds fakes or a conformance suite and follows its parent's row.
func rowOf(pkg string) (string, bool) {
	if _, ok := allowed[pkg]; ok {
		return pkg, true
	}
	parent, name := filepath.Split(pkg)
	parent = strings.TrimSuffix(parent, "/")
	if parent != "" && name == filepath.Base(parent)+"test" {
		return rowOf(parent)
	}
	_, ok := allowed[parent+"/*"]
	return parent + "/*", ok
}

func mayImport(pkg, row, imported string) bool {
	if slices.Contains(forAll, imported) || imported == parentOfFakes(pkg) {
		return true
	}
	parent, _ := filepath.Split(imported)
	return slices.Contains(allowed[row], imported) ||
		parent != "" && slices.Contains(allowed[row], strings.TrimSuffix(parent, "/")+"/*")
}

func parentOfFakes(pkg string) string {
	parent, name := filepath.Split(pkg)
	parent = strings.TrimSuffix(parent, "/")
	if parent != "" && name == filepath.Base(parent)+"test" {
		return parent
	}
	return ""
}

// imports returns, for every Go file below dir that is not a test, the packages below internal
// that it imports.
func imports(t *testing.T, dir string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for file, all := range allImports(t, dir) {
		found[file] = nil
		for _, path := range all {
			if below, ok := strings.CutPrefix(path, module+"/internal/"); ok {
				found[file] = append(found[file], below)
			}
		}
	}
	return found
}

// allImports returns, for every Go file below dir that is not a test, the packages that it imports.
func allImports(t *testing.T, dir string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains([]string{"testdata", "node_modules", ".git"}, d.Name()) {
			return errOr(err, fs.SkipDir)
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, path), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		found[path] = nil
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			found[path] = append(found[path], imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func errOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

func TestMayImport_RefusesWhatTheTableDoesNotList(t *testing.T) {
	cases := []struct {
		pkg, imported string
		want          bool
	}{
		{"chat", "retrieval", true},
		{"chat", "store", false},
		{"retrieval", "chat", false},
		{"llm/openai", "llm", true},
		{"llm/openai", "chat", false},
		{"llm/openai", "llm/anthropic", false},
		{"llm/llmtest", "llm", true},
		{"server", "wire/azurechat", false}, // adapters mount themselves
		{"wire/azurechat", "server", false},
		{"wire/wiretest", "chat", true},
		{"wire/wiretest", "store", false},
		{"text", "access", true},
	}
	for _, c := range cases {
		row, ok := rowOf(c.pkg)
		if !ok {
			t.Fatalf("rowOf(%q) found no row", c.pkg)
		}
		if got := mayImport(c.pkg, row, c.imported); got != c.want {
			t.Errorf("mayImport(%q, %q) = %v, want %v", c.pkg, c.imported, got, c.want)
		}
	}
}

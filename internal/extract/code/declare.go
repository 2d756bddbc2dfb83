package code

import (
	"slices"
	"strings"

	"parley/internal/lazyregexp"
)

// The forms of declarations in common languages. The group of an expression is the declared name.
var (
	// A keyword before a name: func (c *File) Open, def read, pub async fn run, class A.
	keyword = lazyregexp.New(`^(?:export\s+|default\s+|declare\s+|pub(?:\([^)]*\))?\s+|public\s+|private\s+|protected\s+|internal\s+|fileprivate\s+|` +
		`static\s+|abstract\s+|final\s+|sealed\s+|open\s+|override\s+|virtual\s+|async\s+|unsafe\s+|extern\s+(?:"C"\s+)?|const\s+|inline\s+|partial\s+|readonly\s+|` +
		`data\s+|case\s+|suspend\s+|local\s+|mutating\s+|implicit\s+|recursive\s+|pure\s+|elemental\s+|template\s*<[^>]*>\s*)*` +
		`(?:func(?:\s+\([^)]*\))?|fn|def|defp|defmodule|defmacro|class|interface|@interface|struct|enum|trait|union|module|mod|namespace|` +
		`protocol|extension|object|record|type|function\*?|fun|sub|subroutine|proc|contract|macro_rules!|message|service|rpc|resource|variable)` +
		`\s+"?((?:self\.)?[\p{L}_$][\p{L}\d_$:.'!?]*(?:"\s+"[\w.-]+)?)`)
	// struct stat st; (a variable), class A; (a forward declaration)
	variable = lazyregexp.New(`^(?:(?:static|const|extern)\s+)*(?:struct|enum|union|class)\b[^{]*;`)
	// impl<T> Display for Name
	implementation = lazyregexp.New(`^(?:unsafe\s+)?impl(?:<[^{]*?>)?\s+([\p{L}_][^{]{0,80}?)\s*(?:where\b.*)?\{?$`)
	// const name = (a) => …, name = function(…), name: async (a) => …
	bound = lazyregexp.New(`^(?:export\s+)?(?:default\s+)?(?:const\s+|let\s+|var\s+)?([\p{L}_$][\p{L}\d_$.]*)\s*(?:=|<-|:)\s*(?:async\s+)?(?:function\b|\([^()]*\)\s*(?::[^=]{1,40})?=>|[\p{L}_$][\p{L}\d_$]*\s*=>)`)
	// int main(int argc, char **argv) {, public List<T> get(int n) throws E {, Name::~Name() : a(1) {
	typed = lazyregexp.New(`^(?:[\p{L}_@][\p{L}\d_:<>,.\[\]*&?~ \t]*[ \t*&>]+)?([\p{L}_~][\p{L}\d_:~]*)\s*\([^;]*$`)
	// name() {
	shell = lazyregexp.New(`^([\p{L}_][\p{L}\d_:.-]*)\s*\(\)\s*\{?$`)
)

// controls are words before a parenthesis that declare nothing.
var controls = []string{"if", "for", "while", "switch", "return", "else", "catch", "do", "elif", "with", "until", "case", "throw", "new",
	"sizeof", "assert", "print", "printf", "foreach", "using", "lock", "await", "yield", "not", "and", "or", "in", "defer", "go", "select", "match", "super", "this"}

// maxLine is the maximum length of a line that declares something.
const maxLine = 400

// declared returns the name that a line of a program declares, "" if it declares none.
func declared(line string) string {
	text := strings.TrimLeft(line, " \t")
	if text == "" || len(text) > maxLine {
		return ""
	}
	if m := keyword.FindStringSubmatch(text); m != nil && !variable.MatchString(text) {
		if receiver := receiverOf(text); receiver != "" {
			return receiver + "." + m[1]
		}
		return strings.TrimRight(strings.ReplaceAll(m[1], `"`, ""), ".:")
	}
	if m := implementation.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	if m := bound.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	if m := shell.FindStringSubmatch(text); m != nil && !slices.Contains(controls, m[1]) {
		return m[1]
	}
	return typedFunction(line, text)
}

// typedFunction returns the name of a function that follows its type. In a class the line must end with a brace; at
// the left margin the brace may be on the next line.
func typedFunction(line, text string) string {
	m := typed.FindStringSubmatch(text)
	if m == nil || slices.Contains(controls, m[1]) {
		return ""
	}
	first, _, _ := strings.Cut(text, " ")
	if slices.Contains(controls, strings.TrimSuffix(first, "(")) {
		return ""
	}
	opens := strings.HasSuffix(text, "{")
	switch before := strings.TrimSpace(text[:strings.Index(text, m[1])]); {
	case opens && (before != "" || !strings.Contains(text, "=")):
		return m[1]
	case indent(line) == 0 && before != "" && (strings.HasSuffix(text, ")") || strings.HasSuffix(text, ",")):
		return m[1]
	}
	return ""
}

// receiver is the type of a method of Go.
var receiver = lazyregexp.New(`^func\s+\(\s*(?:[\p{L}_][\p{L}\d_]*\s+)?\*?([\p{L}_][\p{L}\d_]*)`)

func receiverOf(text string) string {
	if m := receiver.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

var statement = lazyregexp.New(`(?i)^(?:create|alter)\s+(?:or\s+(?:replace|alter)\s+)?(?:global\s+|local\s+|temp(?:orary)?\s+|unlogged\s+|unique\s+|materialized\s+|external\s+|virtual\s+)*` +
	`((?:table|view|function|procedure|index|trigger|type|schema|sequence|database|role|policy|extension|package)\s+)(?:concurrently\s+|only\s+)?(?:if\s+(?:not\s+)?exists\s+)?([\w."\x60\[\]$-]+)`)

// declaredBySQL returns the kind and name of the object that a statement creates or alters, or "" for other lines.
func declaredBySQL(line string) string {
	if m := statement.FindStringSubmatch(line[:min(len(line), maxLine)]); m != nil {
		return strings.ToLower(m[1]) + quotes.Replace(m[2])
	}
	return ""
}

// quotes removes the quotes around names in SQL.
var quotes = strings.NewReplacer(`"`, "", "`", "", "[", "", "]", "")

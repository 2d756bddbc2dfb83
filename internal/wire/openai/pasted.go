package openai

import (
	"cmp"
	"strings"

	"parley/internal/chat"
	"parley/internal/format"
	"parley/internal/lazyregexp"
	"parley/internal/llm"
)

// Chat pages and libraries put the text of attached files into messages, each with its own delimiters. unpaste takes the files
// out again and leaves the question.

// maxPasted limits the files that are taken out of a message.
const maxPasted = 50

// unpaste moves files from the text of messages to their Files. It does not change the last message of the user if that contains
// nothing but files.
func unpaste(messages []chat.Message) {
	last := len(messages) - 1
	for last >= 0 && messages[last].Role != llm.User {
		last--
	}
	for i := range messages {
		m := &messages[i]
		if m.Role != llm.User && m.Role != llm.System {
			continue
		}
		p := pasted{text: m.Text(), quotesOnly: m.Role == llm.System}
		if p.read(); len(p.files) == 0 {
			continue
		}
		said := p.said()
		if said == "" && i == last {
			continue
		}
		m.Files = append(p.files, m.Files...)
		parts := []llm.Part{{Text: cmp.Or(said, p.files[0].Name)}}
		for _, part := range m.Parts {
			if part.Image != "" {
				parts = append(parts, part)
			}
		}
		m.Parts = parts
	}
}

// pasted is a text with files in it.
type pasted struct {
	text       string
	quotesOnly bool            // read only passages marked [CONTEXT n]
	files      []chat.File     // parts with the same name are joined
	rest       strings.Builder // the text without the files
	unclosed   map[string]bool // closing delimiters that do not occur in the rest of the text
}

// read splits the text into files and rest. Files begin at the beginning of a line.
func (p *pasted) read() {
	p.unclosed = map[string]bool{}
	for at := 0; at < len(p.text); {
		line, _, _ := strings.Cut(p.text[at:], "\n")
		n := 0
		if len(p.files) < maxPasted {
			n = p.fileAt(at, line)
		}
		if n > 0 {
			p.rest.WriteByte('\n')
			at += n
			continue
		}
		end := min(at+len(line)+1, len(p.text))
		p.rest.WriteString(p.text[at:end])
		at = end
	}
}

var (
	fileBegins  = lazyregexp.New(`^\s*-{3,}\s*BEGIN FILE\b(.*?)-{3,}\s*$`)
	fileNamed   = lazyregexp.New(`^\s*(?:-{3,}|={3,})\s*(?:Start of )?(?i:file|attachment|document)\s*:\s*([^\r\n]{1,300}?)\s*(?:-{3,}|={3,})\s*$`)
	quoteBegins = lazyregexp.New(`^\s*\[CONTEXT \d+\]:`)
	elementTag  = lazyregexp.New(`^\s*<(?i:(file|document|source|attachment|attachment_file|attached_file|attached_document|file_content))[\s>]`)
	bareName    = lazyregexp.New(`^<[\w-]+ (?:file)?name=([^"'<>]+)>$`)
	attribute   = lazyregexp.New(`([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')`)
	attached    = lazyregexp.New("^\\s*```md# \"([^\"\r\n]+)\"\\s*$")
)

// fileAt reads the file that begins with the line at offset at. It returns the file's length in bytes, or 0 if none begins there.
func (p *pasted) fileAt(at int, line string) int {
	if first := strings.TrimLeft(line, " \t\r"); first == "" || !strings.Contains("<-=[`", first[:1]) {
		return 0
	}
	if len(line) > 4<<10 && !elementTag.MatchString(line[:100]) {
		return 0
	}
	body := min(at+len(line)+1, len(p.text))
	if quoteBegins.MatchString(line) {
		return p.between(at, body, "[END CONTEXT", "", nil)
	}
	if p.quotesOnly {
		return 0
	}
	if m := fileBegins.FindStringSubmatch(line); m != nil {
		attributes := attributesOf(m[1])
		return p.between(at, body, "END FILE", "-", attributes)
	}
	if m := fileNamed.FindStringSubmatch(line); m != nil {
		return p.until(at, body, m[1])
	}
	if m := attached.FindStringSubmatch(line); m != nil {
		return p.attachments(at, body, m[1])
	}
	if m := elementTag.FindStringSubmatch(line[:min(len(line), 4<<10)]); m != nil {
		return p.element(at, m[1])
	}
	return 0
}

// between reads the file at offset at, whose content begins at body. It ends at the next line that begins with first and contains
// mark. Like fileAt, between returns the file's length.
func (p *pasted) between(at, body int, mark, first string, attributes map[string]string) int {
	if p.unclosed[mark] {
		return 0
	}
	for from := body; from < len(p.text); {
		line, _, _ := strings.Cut(p.text[from:], "\n")
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, first) && strings.Contains(trimmed, mark) {
			p.add(p.text[body:from], attributes)
			return from + len(line) - at
		}
		from += len(line) + 1
	}
	p.unclosed[mark] = true
	return 0
}

// until is like between, for a file that ends at the next file of its kind, or with the text.
func (p *pasted) until(at, body int, name string) int {
	end := body
	for end < len(p.text) {
		line, _, _ := strings.Cut(p.text[end:], "\n")
		if len(line) < 1<<10 && fileNamed.MatchString(line) {
			break
		}
		end = min(end+len(line)+1, len(p.text))
	}
	p.add(p.text[body:end], map[string]string{"name": name})
	return end - at
}

// attachments is like between, for several files in one code fence, each below its name. At the limit of files it stops, and
// leaves the others in the text.
func (p *pasted) attachments(at, body int, name string) int {
	const fence, next = "\n```", "\n\n---\n\n# \""
	if p.unclosed[fence] {
		return 0
	}
	end := strings.LastIndex(p.text[body:], fence)
	if end < 0 {
		p.unclosed[fence] = true
		return 0
	}
	from := body
	for i, part := range strings.Split(p.text[body:body+end], next) {
		if len(p.files) == maxPasted {
			return from - len(next) - at
		}
		if from += len(part) + len(next); i > 0 {
			var ok bool
			if name, part, ok = strings.Cut(part, "\"\n"); !ok {
				continue
			}
		}
		p.add(part, map[string]string{"name": name})
	}
	return body + end + len(fence) - at
}

// element is like between, for a file that is an XML-like element. name is the name of its tag.
func (p *pasted) element(at int, name string) int {
	start := at + strings.IndexByte(p.text[at:], '<')
	open := tagEnd(p.text[start:])
	if open == 0 {
		return 0
	}
	tag := p.text[start : start+open]
	attributes := attributesOf(tag)
	if strings.HasSuffix(tag, "/>") { // it may have a file's name, but has no text
		return start + open - at
	}
	closing := "</" + name + ">"
	if p.unclosed[closing] {
		return 0
	}
	for from := start + open; ; {
		i := strings.Index(p.text[from:], closing)
		if i < 0 {
			p.unclosed[closing] = true
			return 0
		}
		end := from + i + len(closing)
		if behind := strings.TrimLeft(p.text[end:min(end+100, len(p.text))], " \t\r"); behind != "" && behind[0] != '\n' && behind[0] != '<' {
			from = end
			continue
		}
		content := p.text[start+open : from+i]
		if len(attributes) == 0 && !strings.Contains(strings.TrimSpace(content), "\n") {
			return 0
		}
		p.add(content, attributes)
		return end - at
	}
}

// tagEnd returns the length of the tag at the beginning of a text, or 0 if it does not end within 4 KiB.
func tagEnd(s string) int {
	quote := byte(0)
	for i := range min(len(s), 4<<10) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"', c == '\'':
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return 0
}

func attributesOf(tag string) map[string]string {
	all := map[string]string{}
	for _, m := range attribute.FindAllStringSubmatch(tag, 20) {
		all[strings.ToLower(m[1])] = m[2] + m[3]
	}
	if m := bareName.FindStringSubmatch(tag); m != nil {
		all["name"] = m[1]
	}
	return all
}

// Elements and attributes that have the name or the content of a file, in order of precedence.
var (
	nameElements = []*lazyregexp.Regexp{
		inner("file_name"), inner("filename"), inner("document_name"), inner("source"), inner("path"), inner("name"), inner("title"),
		lazyregexp.New(`(?m)^()sourceDocument:[ \t]*(.+?)\s*$`),
	}
	contentElements = []*lazyregexp.Regexp{inner("document_content"), inner("document_contents"), inner("file_content"), inner("content")}
	metaElement     = lazyregexp.New(`(?s)^\s*<document_metadata>.*?</document_metadata>`)
	nameAttributes  = []string{"filename", "file_name", "name", "path", "title", "source", "url", "id"}
)

func inner(name string) *lazyregexp.Regexp {
	return lazyregexp.New(`(?is)^(\s*|.*?\n\s*)<` + name + `>(.*?)</` + name + `>`)
}

// add adds a file. Its name comes from an attribute, or else from an element at its beginning. Empty files are dropped.
func (p *pasted) add(content string, attributes map[string]string) {
	name := ""
	for _, key := range nameAttributes {
		name = cmp.Or(name, strings.TrimSpace(attributes[key]))
	}
	if head := content[:min(len(content), 2<<10)]; name == "" {
		for _, e := range nameElements {
			if m := e.FindStringSubmatch(head); m != nil {
				name = strings.TrimSpace(m[2])
				break
			}
		}
	}
	for _, e := range contentElements {
		if m := e.FindStringSubmatch(content); m != nil {
			content = m[2]
			break
		}
	}
	content = strings.TrimSpace(metaElement.ReplaceAllString(content, ""))
	if content == "" {
		return
	}
	name = nameOf(cmp.Or(name, "file"), cmp.Or(attributes["type"], attributes["media_type"]))
	if format.ByExtension(format.Ext(name)) == nil {
		name += ".txt"
	}
	for i := range p.files {
		if p.files[i].Name == name {
			p.files[i].Data = append(append(p.files[i].Data, "\n\n"...), content...)
			return
		}
	}
	p.files = append(p.files, chat.File{Name: name, Data: []byte(content), Pasted: true})
}

var (
	asked       = lazyregexp.New(`(?is)<(?:user_query|user_question|question|query)>(.*?)</(?:user_query|user_question|question|query)>`)
	systemPart  = lazyregexp.New(`(?s)<!-- SYSTEM CONTEXT.*?<!-- END SYSTEM CONTEXT -->`)
	docstring   = lazyregexp.New(`(?is)<(?:files_docstring|context\.instruction)>.*?</(?:files_docstring|context\.instruction)>`)
	container   = lazyregexp.New(`(?i)</?(?:files_info|files|documents|sources|attachments|attached_files|context)\s*>`)
	contextPart = lazyregexp.New(`(?is)^\s*#+ *Task:.*?<context>.*?</context>`)
	introducing = lazyregexp.New(`(?i)^\s*(?:(?:the |here (?:are|is) the )?(?:attached |uploaded )?(?:documents?|files?|attachments?|sources?)(?:\(s\))?(?: for context)?|context|(?:user )?(?:question|query))\s*:\s*`)
)

// said returns the text without the files and the words that introduce them.
func (p *pasted) said() string {
	text := p.rest.String()
	if m := asked.FindStringSubmatch(text); m != nil && strings.TrimSpace(m[1]) != "" {
		return strings.TrimSpace(m[1])
	}
	text = systemPart.ReplaceAllString(text, "")
	if behind := contextPart.ReplaceAllString(text, ""); strings.TrimSpace(behind) != "" {
		text = behind
	}
	text = container.ReplaceAllString(docstring.ReplaceAllString(text, ""), "")
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(introducing.ReplaceAllString(line, ""), " \t\r\n")
		if line != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

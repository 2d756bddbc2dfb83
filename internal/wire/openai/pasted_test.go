package openai

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/text/texttest"
)

// Each case is what a client of that name sends in the message of a user who attached files, shortened.
func TestUnpaste_TakesTheFilesOfClientsOutOfAMessage(t *testing.T) {
	const question = "How long is the notice period?"
	for _, c := range []struct{ client, text, said, files string }{
		{"nobody", question, question, ""},
		{"pydantic-ai", question + "\n-----BEGIN FILE id=\"c0ffee\" type=\"text/markdown\"-----\n# Terms\nThree months.\n-----END FILE id=\"c0ffee\"-----", question, "c0ffee.md=# Terms\nThree months."},
		{"pydantic-ai, older", "-----BEGIN FILE filename=\"terms.txt\" type=\"text/plain\"-----\nThree months.\n-----END FILE-----\n" + question, question, "terms.txt=Three months."},
		{"LobeHub", question + `

<!-- SYSTEM CONTEXT (NOT PART OF USER QUERY) -->
<context.instruction>following part contains context information. Please follow these instructions:

1. Always prioritize user-visible content.</context.instruction>
<files_info>
<files>
<files_docstring>here are user upload files you can refer to</files_docstring>
<file id="f1" name="terms.pdf" type="application/pdf" size="12">Three months.
Or two.</file>
<file id="f2" name="cats > dogs.txt" type="text/plain" size="12" url="http://h/f2">Cats sleep.</file>
</files>
</files_info>
<!-- END SYSTEM CONTEXT -->`, question, "terms.pdf=Three months.\nOr two.|cats > dogs.txt=Cats sleep."},
		{"Open WebUI", "### Task:\nRespond to the user query using the provided context, with citations in the format [id] **only when the <source> tag has an id** (e.g., <source id=\"1\">).\n\n" +
			"### Guidelines:\n- If you don't know the answer, say so.\n\n<context>\n<source id=\"1\" name=\"terms.pdf\">Three months.</source>\n<source id=\"2\" name=\"cats.txt\">Cats sleep.</source>\n" +
			"<source id=\"1\" name=\"terms.pdf\">Or two.</source>\n</context>\n\n" + question, question, "terms.pdf=Three months.\n\nOr two.|cats.txt=Cats sleep."},
		{"Open WebUI, older", "### Task:\nRespond to the user query.\n<context>\n<source id=\"1\">Three\nmonths.</source>\n</context>\n\n<user_query>\n" + question + "\n</user_query>\n", question, "1.txt=Three\nmonths."},
		{"LibreChat", "Attached document(s):\n```md# \"terms.docx\"\nThree months.\n\n```sh\nls\n```\n\n\n---\n\n# \"cats.txt\"\nCats sleep.\n\n```\n" + question, question, "terms.docx=Three months.\n\n```sh\nls\n```|cats.txt=Cats sleep."},
		{"assistant-ui", question + "\n<attachment name=my terms.txt>\nThree months.\nOr two.\n</attachment>", question, "my terms.txt=Three months.\nOr two."},
		{"Chatbox", question + "\n\n<ATTACHMENT_FILE>\n<FILE_INDEX>File 1</FILE_INDEX>\n<FILE_NAME>terms.docx</FILE_NAME>\n<FILE_LINES>1</FILE_LINES>\n<FILE_CONTENT>\nThree months.\n</FILE_CONTENT>\n</ATTACHMENT_FILE>\n", question, "terms.docx=Three months."},
		{"llama.cpp", question + "\n\n\n--- File: terms.txt ---\nThree months.\n\n\n--- File: cats.txt ---\nCats sleep.", question, "terms.txt=Three months.|cats.txt=Cats sleep."},
		{"files-to-prompt", "<documents>\n<document index=\"1\">\n<source>docs/terms.md</source>\n<document_content>\nThree months.\n</document_content>\n</document>\n</documents>\n" + question, question, "docs/terms.md=Three months."},
		{"a bare document", "<document>\nThree months.\nOr two.\n</document>\n\n" + question, question, "file.txt=Three months.\nOr two."},
		{"with an introduction", "Here are the attached document(s) for context:\n<file name=\"a.txt\">A.</file>\nUser question: " + question, question, "a.txt=A."},
		{"only files", "<file name=\"a.txt\">A.</file>", "<file name=\"a.txt\">A.</file>", ""},
		{"a question about elements", "What does <source id=\"1\"> mean?\n<source src=\"a.mp4\">\n<file> and </file> too", "What does <source id=\"1\"> mean?\n<source src=\"a.mp4\">\n<file> and </file> too", ""},
		{"a file that names its own element", question + "\n<file name=\"a.xml\"><file>x</file> y\n</file>", question, "a.xml=<file>x</file> y"},
		{"a file without an end", "-----BEGIN FILE id=\"x\"-----\nA.\n" + question, "-----BEGIN FILE id=\"x\"-----\nA.\n" + question, ""},
	} {
		messages := []chat.Message{chat.TextMessage(llm.User, c.text)}
		unpaste(messages)
		var files []string
		for _, f := range messages[0].Files {
			files = append(files, f.Name+"="+string(f.Data))
			if !f.Pasted || f.Param != "" {
				t.Errorf("%s: %+v", c.client, f)
			}
		}
		if said := messages[0].Text(); said != c.said || strings.Join(files, "|") != c.files {
			t.Errorf("%s: said %q, want %q; files %q, want %q", c.client, said, c.said, files, c.files)
		}
	}
}

func TestUnpaste_LeavesFilesOverTheLimitInTheText(t *testing.T) {
	elements, fenced := "How long?", "How long?\n```md# \"0.txt\"\ntext 0"
	for i := range maxPasted + 2 {
		elements += fmt.Sprintf("\n<file name=\"%d.txt\">text %d\n</file>", i, i)
		if i > 0 {
			fenced += fmt.Sprintf("\n\n---\n\n# \"%d.txt\"\ntext %d", i, i)
		}
	}
	for _, text := range []string{elements, fenced + "\n```"} {
		messages := []chat.Message{chat.TextMessage(llm.User, text)}
		unpaste(messages)
		said := messages[0].Text()
		if len(messages[0].Files) != maxPasted || strings.Contains(said, "text 49") || !strings.Contains(said, "text 50") || !strings.Contains(said, "text 51") {
			t.Errorf("%d files; the text is %q", len(messages[0].Files), said)
		}
	}
}

func TestUnpaste_ReadsPassagesInTheInstructionsOfAnythingLLM(t *testing.T) {
	messages := []chat.Message{
		chat.TextMessage(llm.System, "Answer briefly. <file name=\"a.txt\">not a file</file>\nContext:\n[CONTEXT 0]:\n<document_metadata>\nsourceDocument: terms.pdf\npublished: today\n</document_metadata>\n\nThree months.\n[END CONTEXT 0]\n\n[CONTEXT 1]:\nCats sleep.\n[END CONTEXT 1]\n\n"),
		{Role: llm.User, Parts: []llm.Part{{Text: "<file name=\"a.txt\">A.</file>"}, {Image: "data:"}}},
		chat.TextMessage(llm.Assistant, "<file name=\"a.txt\">A.</file>"),
		chat.TextMessage(llm.User, "How long?"),
	}
	unpaste(messages)
	system := messages[0]
	if got, want := system.Text(), "Answer briefly. <file name=\"a.txt\">not a file</file>"; got != want || len(system.Files) != 2 ||
		system.Files[0].Name != "terms.pdf" || string(system.Files[0].Data) != "Three months." || string(system.Files[1].Data) != "Cats sleep." {
		t.Errorf("the instructions: %q, want %q; files %+v", got, want, system.Files)
	}
	if earlier := messages[1]; earlier.Text() != "a.txt" || len(earlier.Files) != 1 || len(earlier.Parts) != 2 {
		t.Errorf("an earlier message without words: %+v", earlier)
	}
	if len(messages[2].Files)+len(messages[3].Files) > 0 {
		t.Error("files were found where there are none")
	}
}

func TestBring_LeavesMessagesToALanguageModel(t *testing.T) {
	give := Give(func(context.Context, string, []chat.File) (*retrieval.Given, error) { return &retrieval.Given{}, nil })
	const message = "How long?\n<file name=\"a.txt\">Three months.</file>"
	for model, want := range map[string]bool{"builtin:extractive": true, "openai:gpt-4.1": false} {
		req := &chat.Request{Messages: []chat.Message{chat.TextMessage(llm.User, message)}}
		req.Options.Models.Inference = model
		brought, err := give.Bring(t.Context(), access.Principal{}, req)
		if said := req.Messages[0].Text(); err != nil || brought != want || (said == "How long?") != want {
			t.Errorf("%s: brought files: %v, want %v (%v); the message is %q", model, brought, want, err, said)
		}
	}
}

// Marks that are never closed cost no more than the length of the text.
func TestUnpaste_TakesTimeInProportionToTheMessage(t *testing.T) {
	for _, line := range []string{"<file name=\"a\">x\n", "<file>\n</file>x\n", "-----BEGIN FILE id=\"x\"-----\n", "[CONTEXT 1]:\n", "--- File: a.txt ---\n", "<source name='\n", "```md# \"a.txt\"\n", " ```md# \"a.txt\"\n",
		"<context>\n", "<!-- SYSTEM CONTEXT\n", "<user_query>\n", "<document>\n<source>\n</document>\n"} {
		shape := texttest.Shape{Name: line, Text: func(n int) string { return "question\n" + strings.Repeat(line, n/len(line)) }}
		texttest.Linear(t, shape, 32<<10, func(text string) {
			messages := []chat.Message{chat.TextMessage(llm.User, text)}
			unpaste(messages)
			if n := len(messages[0].Files); n > maxPasted {
				t.Fatalf("%q: %d files", line, n)
			}
		})
	}
}

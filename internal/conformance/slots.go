package conformance

import (
	"fmt"
	"net/http"
	"strings"
)

const multipartType = "multipart/form-data; boundary=" + boundary

// formOf returns a multipart form with fields, given as alternating names and values, followed by the file of the check
// in the field fileField unless that is "".
func formOf(fileField string, fields ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(fields); i += 2 {
		b.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + fields[i] + "\"\r\n\r\n" + fields[i+1] + "\r\n")
	}
	if fileField != "" {
		b.WriteString("--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + fileField + "\"; filename=\"parley-check.txt\"\r\nContent-Type: text/plain\r\n\r\n" + fileText + "\r\n")
	}
	return b.String() + "--" + boundary + "--\r\n"
}

// tells demands that a string contains text of the uploaded file.
func tells(path string) judgement {
	return func(v any) error {
		if s := textAt(v, path); !strings.Contains(s, "Quillfeather") {
			return fmt.Errorf("%s is %q", path, shorten(s, 80))
		}
		return nil
	}
}

// notFound demands status 404, which clients understand as an empty result.
func notFound(place string) Rule {
	r := whole(place, http.StatusNotFound)
	r.Name = "not-found"
	return r
}

// length demands that an array has n elements.
func length(path string, n int) judgement {
	return func(v any) error {
		if err := has(path, array)(v); err != nil {
			return err
		}
		found, _ := at(v, path)
		if list := found.([]any); len(list) != n {
			return fmt.Errorf("%s has %d elements, not %d: %s", path, len(list), n, compact(found))
		}
		return nil
	}
}

// ragAPI returns the API that LibreChat calls at its RAG_API_URL.
func ragAPI() Protocol {
	const (
		crud     = "LibreChat, VectorDB/crud.js"
		search   = "LibreChat, fileSearch.js"
		context  = "LibreChat, createContextHandlers.js"
		routes   = "rag_api, document_routes.py"
		id       = "7e57c4ec-0000-4000-8000-000000000001"
		question = `"query":"Who built the lighthouse of Parleycheck?"`
		refused  = `The error has a "detail".`
	)
	detail := has("detail", text|array)
	pairs := []Rule{
		rule("pairs", search, "Each element is a passage and its distance, a number.", self(array), each("", length("", 2), has("0.page_content", text), has("1", number))),
		rule("source", search, `The metadata of each passage has a "source": LibreChat takes its last part as the name of the file.`, each("", filled("0.metadata.source"))),
		rule("found", search, "The passage that answers the question is found first.", some(""), tells("0.0.page_content")),
	}
	return Protocol{
		Name: "librechat", Title: "LibreChat's rag_api", marks: []string{list}, prefixes: []string{"", "/p/librechat"},
		Exchanges: []Exchange{
			{Name: "ids", Method: http.MethodGet, Path: "/ids", Rules: join(json1(routes, http.StatusOK), []Rule{
				rule("ids", routes, "The reply is a list of the ids of files.", self(array), each("", self(text)))})},
			{Name: "health", Method: http.MethodGet, Path: "/health", Rules: join(json1(routes, http.StatusOK), []Rule{
				rule("up", routes, `The status is "UP".`, is("status", "UP"))})},
			{Name: "embed", Method: http.MethodPost, Path: "/embed", Type: multipartType, Body: formOf("file", "file_id", id), Writes: true, Rules: join(json1(crud, http.StatusOK), []Rule{
				rule("done", crud, `"status" and "known_type" are true, else LibreChat reports a failure.`, is("status", true), is("known_type", true)),
				rule("file", routes, "The reply names the file.", is("file_id", id), is("filename", "parley-check.txt"))})},
			{Name: "query", Method: http.MethodPost, Path: "/query", Body: `{"file_id":"` + id + `",` + question + `,"k":1}`, Writes: true,
				Rules: join(json1(search, http.StatusOK), pairs, []Rule{rule("k", routes, `There are at most "k" passages.`, length("", 1))})},
			{Name: "query of an unknown file", Method: http.MethodPost, Path: "/query", Body: `{"file_id":"parley-check-no-such-file",` + question + `,"k":5}`,
				Rules: join(json1(routes, http.StatusOK), []Rule{rule("none", routes, "The list is empty.", length("", 0))})},
			{Name: "query of several files", Method: http.MethodPost, Path: "/query_multiple", Body: `{"file_ids":["` + id + `"],` + question + `,"k":4}`, Writes: true,
				Rules: join(json1(routes, http.StatusOK), pairs)},
			{Name: "nothing found", Method: http.MethodPost, Path: "/query_multiple", Body: `{"file_ids":["parley-check-no-such-file"],` + question + `,"k":4}`,
				Rules: append(refusal(routes, refused, detail), notFound(routes))},
			{Name: "whole file", Method: http.MethodGet, Path: "/documents/" + id + "/context", Writes: true, Rules: join(json1(context, http.StatusOK), []Rule{
				rule("text", context, "The reply is the text of the file, as a string.", self(text), tells(""))})},
			{Name: "passages", Method: http.MethodGet, Path: "/documents?ids=" + id, Writes: true, Rules: join(json1(routes, http.StatusOK), []Rule{
				rule("passages", routes, "Each passage has its text and the id of the file.", some(""), each("", has("page_content", text), is("metadata.file_id", id)))})},
			{Name: "text", Method: http.MethodPost, Path: "/text", Type: multipartType, Body: formOf("file", "file_id", id), Extra: true, Rules: join(json1(routes, http.StatusOK), []Rule{
				rule("text", routes, "The reply has the text of the file.", tells("text"), is("filename", "parley-check.txt"))})},
			{Name: "delete", Method: http.MethodDelete, Path: "/documents", Body: `["` + id + `"]`, Writes: true, Rules: join(json1(crud, http.StatusOK), []Rule{
				rule("message", routes, "The reply says what was deleted.", filled("message"))})},
			{Name: "delete again", Method: http.MethodDelete, Path: "/documents", Body: `["` + id + `"]`, Writes: true,
				Rules: append(refusal(crud, refused, detail), notFound(crud))},
			{Name: "no file", Method: http.MethodPost, Path: "/embed", Type: multipartType, Body: formOf("", "file_id", id), Rules: refusal(routes, refused, detail)},
			{Name: "no JSON", Method: http.MethodPost, Path: "/query", Body: `{"query":`, Rules: refusal(routes, refused, detail)},
		},
	}
}

// openWebUI returns the API that programs such as oikb call to keep a knowledge base of Open WebUI up to date.
func openWebUI() Protocol {
	const (
		client    = "oikb, client.py"
		sync      = "oikb, sync.py"
		base      = "/api/v1/knowledge"
		knowledge = base + "/{kb_id}"
		diff      = knowledge + "/sync/diff"
		refused   = `The error has a "detail".`
	)
	detail := has("detail", text|array)
	manifest := func(checksum string) string {
		return fmt.Sprintf(`{"manifest":[{"filename":"parley-check.txt","path":"docs","checksum":%q,"size":%d}]}`, checksum, len(fileText))
	}
	compare := func(name, body string, rules ...Rule) Exchange {
		return Exchange{Name: name, Method: http.MethodPost, Path: diff, Body: body, Writes: true, Rules: join(json1(sync, http.StatusOK), rules)}
	}
	files := func(name, place string, total int) Exchange {
		return Exchange{Name: name, Method: http.MethodGet, Path: knowledge + "/files", Writes: true,
			Until: func(r *Reply) bool { return r.Status != http.StatusOK || is("total", total)(r.value) == nil },
			Rules: join(json1(place, http.StatusOK), []Rule{
				rule("files", place, "The reply has the files and their number.", is("total", total), length("items", total), each("items", filled("id"), filled("filename")))})}
	}
	return Protocol{
		Name: "open-webui", Title: "Open WebUI's knowledge sync", marks: []string{"id"},
		Exchanges: []Exchange{
			{Name: "create", Method: http.MethodPost, Path: base + "/create", Body: `{"name":"parley check","description":"made by a check"}`, Writes: true, Saves: map[string]string{"kb_id": "id"},
				Rules: join(json1("Open WebUI, routers/knowledge.py", http.StatusOK), []Rule{
					rule("knowledge", "Open WebUI, routers/knowledge.py", "The reply is the knowledge base with its id and name.", filled("id"), is("name", "parley check"))})},
			{Name: "knowledge", Method: http.MethodGet, Path: knowledge, Writes: true, Rules: join(json1(client, http.StatusOK), []Rule{
				rule("knowledge", client, "The reply is the knowledge base.", filled("id"), is("name", "parley check"))})},
			compare("first diff", manifest("parley-check-1"),
				rule("added", sync, "The file is to be added, with its name and path.", length("added", 1), is("added.0.filename", "parley-check.txt"), is("added.0.path", "docs")),
				rule("others", sync, "Nothing is modified, deleted or unchanged.", length("modified", 0), length("deleted", 0), is("unmodified_count", 0)),
				rule("directories", sync, `"mkdir" and "rmdir" are lists of paths, and "directory_map" leads from paths to ids; each directory of the list is in one of them.`,
					has("rmdir", array), each("mkdir", self(text)), has("directory_map", object), func(v any) error {
						_, known := at(v, "directory_map.docs")
						if made := is("mkdir.0", "docs")(v); !known && made != nil {
							return fmt.Errorf("docs is in neither: %w", made)
						}
						return nil
					})),
			{Name: "directory", Method: http.MethodPost, Path: knowledge + "/dirs/create", Body: `{"name":"docs"}`, Writes: true, Saves: map[string]string{"dir_id": "id"}, Rules: join(json1(client, http.StatusOK), []Rule{
				rule("id", sync, "The directory has an id.", filled("id"))})},
			{Name: "upload", Method: http.MethodPost, Path: "/api/v1/files/", Type: multipartType, Writes: true, Saves: map[string]string{"file_id": "id"},
				Body:  formOf("file", "metadata", `{"knowledge_id":"{kb_id}","file_hash":"parley-check-1","directory_id":"{dir_id}"}`),
				Rules: join(json1(client, http.StatusOK), []Rule{rule("file", client, "The reply is the file with its id.", filled("id"), is("filename", "parley-check.txt"))})},
			files("files", client, 1),
			compare("diff without a change", manifest("parley-check-1"),
				rule("unchanged", sync, "The file counts as unchanged.", is("unmodified_count", 1), length("added", 0), length("modified", 0), length("deleted", 0))),
			compare("diff with a change", manifest("parley-check-2"),
				rule("modified", sync, "The file is to be sent again, and the reply names the stale one.", length("modified", 1), is("modified.0.filename", "parley-check.txt"), filled("modified.0.stale_file_id"), length("added", 0))),
			compare("diff without files", `{"manifest":[]}`,
				rule("deleted", sync, "The file is to be deleted, and the reply has its id.", length("deleted", 1), filled("deleted.0.file_id"))),
			{Name: "cleanup", Method: http.MethodPost, Path: knowledge + "/sync/cleanup", Body: `{"file_ids":["{file_id}"]}`, Writes: true, Rules: json1(client, http.StatusOK)},
			files("files after the cleanup", sync, 0),
			{Name: "reset", Method: http.MethodPost, Path: knowledge + "/reset?include_directories=true", Writes: true, Rules: json1(client, http.StatusOK)},
			{Name: "unknown knowledge", Method: http.MethodPost, Path: base + "/parley-check-no-such-knowledge/sync/diff", Body: `{"manifest":[]}`, Rules: refusal(sync, refused, detail)},
			{Name: "no file", Method: http.MethodPost, Path: "/api/v1/files/", Type: multipartType, Body: formOf("", "metadata", `{"knowledge_id":"{kb_id}"}`), Writes: true, Rules: refusal(sync, refused, detail)},
			{Name: "remove the knowledge", Method: http.MethodDelete, Path: knowledge + "/delete", Writes: true, Clean: true},
			{Name: "remove the store", Method: http.MethodDelete, Path: "/v1/vector_stores/{kb_id}", Writes: true, Clean: true}, // of Parley
		},
	}
}

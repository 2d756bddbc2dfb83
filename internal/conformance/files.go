package conformance

import (
	"fmt"
	"net/http"
	"strings"
)

const (
	boundary = "parley-check-boundary"
	fileText = "The lighthouse of Parleycheck was built in 1931 by Ada Quillfeather.\n"
)

func files() Protocol {
	const (
		upload = "OpenAI API reference, Files"
		stores = "OpenAI API reference, Vector stores"
		search = "OpenAI API reference, Vector stores, Search vector store"
		file   = "/v1/files/{file_id}"
		store  = "/v1/vector_stores/{store_id}"
	)
	deleted := func(place string) []Rule {
		return join(json1(place, http.StatusOK), []Rule{rule("deleted", place, `The reply says "deleted": true.`, is("deleted", true), filled("id"))})
	}
	return Protocol{
		Name: "files", Title: "Files and vector stores of OpenAI's API", marks: []string{"data"},
		Exchanges: []Exchange{
			{Name: "list files", Method: http.MethodGet, Path: "/v1/files", Rules: join(json1(upload, http.StatusOK), []Rule{
				rule("list", upload, `The reply is a list with the files in "data".`, is("object", "list"), has("data", array))})},
			{Name: "upload", Method: http.MethodPost, Path: "/v1/files", Type: multipartType, Body: formOf("file", "purpose", "assistants"), Writes: true, Saves: map[string]string{"file_id": "id"},
				Rules: join(json1(upload, http.StatusOK), []Rule{
					rule("file", upload, `The reply is the file, with id, name, size and purpose.`, filled("id"), is("object", "file"), is("filename", "parley-check.txt"),
						is("bytes", len(fileText)), is("purpose", "assistants"), seconds("created_at"))})},
			{Name: "content", Method: http.MethodGet, Path: file + "/content", Writes: true, frame: opaque, Rules: []Rule{whole(upload, http.StatusOK),
				{Name: "bytes", Place: upload, Demand: "The content is what was uploaded, byte for byte.", holds: func(r *Reply) error {
					if string(r.Body) != fileText {
						return fmt.Errorf("it is %q", shorten(string(r.Body), 80))
					}
					return nil
				}}}},
			{Name: "create store", Method: http.MethodPost, Path: "/v1/vector_stores", Extra: true, Body: `{"name":"parley check","file_ids":["{file_id}"]}`, Writes: true, Saves: map[string]string{"store_id": "id"},
				Rules: join(json1(stores, http.StatusOK), []Rule{
					rule("store", stores, "The reply is the store, with id, name, status and numbers of files.", filled("id"), is("object", "vector_store"), is("name", "parley check"),
						is("status", "in_progress", "completed"), has("file_counts.total", number), seconds("created_at"))})},
			{Name: "file in store", Method: http.MethodGet, Path: store + "/files/{file_id}", Writes: true, Until: settled, Rules: join(json1(stores, http.StatusOK), []Rule{
				rule("completed", stores, "The file is read after a while.", is("object", "vector_store.file"), is("status", "completed"))})},
			{Name: "search", Method: http.MethodPost, Path: store + "/search", Body: `{"query":"Who built the lighthouse of Parleycheck?"}`, Writes: true, Rules: join(json1(search, http.StatusOK), []Rule{
				rule("results", search, "The results have the file, a score from 0 to 1 and the text.", some("data"), each("data", filled("file_id"), filled("filename"), score, some("content"))),
				rule("found", search, "The passage that answers the question is found.", func(v any) error {
					found, _ := at(v, "data.0.content.0.text")
					if s, _ := found.(string); !strings.Contains(s, "Quillfeather") {
						return fmt.Errorf("the first result is %q", shorten(s, 80))
					}
					return nil
				})})},
			{Name: "delete store", Method: http.MethodDelete, Path: store, Writes: true, Rules: deleted(stores)},
			{Name: "delete file", Method: http.MethodDelete, Path: file, Writes: true, Rules: deleted(upload)},
			{Name: "read a deleted file", Method: http.MethodGet, Path: file, Writes: true, Rules: []Rule{whole(upload, http.StatusNotFound)}},
		},
	}
}

func score(v any) error {
	if err := has("score", number)(v); err != nil {
		return err
	}
	if n := float(v, "score"); n < 0 || n > 1 {
		return fmt.Errorf("score is %v", n)
	}
	return nil
}

// settled reports whether the reading of a file in a store has ended, successfully or not.
func settled(r *Reply) bool {
	state, _ := r.at("status")
	return state != "in_progress"
}

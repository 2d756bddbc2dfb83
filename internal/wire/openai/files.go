package openai

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"mime"
	"net/url"
	"strings"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/format"
	"parley/internal/llm"
	"parley/internal/retrieval"
	"parley/internal/wire"
)

// Give reads the files of a conversation, so that a turn can search them. Ids in files name stored files of owner. It returns
// nil if there are none.
type Give func(ctx context.Context, owner string, files []chat.File) (*retrieval.Given, error)

// GivenTop is the minimum number of passages of a turn that answers from files of its request: clients expect a short file to
// be read whole.
const GivenTop = 24

// Bring makes the turn of req search the files of its messages. It reports whether there are any. For a built-in model, they
// include files whose text a client put into a message: Bring takes them out. A language model reads such a message as it is.
func (give Give) Bring(ctx context.Context, who access.Principal, req *chat.Request) (bool, error) {
	if give != nil && chat.IsBuiltin(req.Options.Models.Inference) {
		unpaste(req.Messages)
	}
	var files []chat.File
	for _, m := range req.Messages {
		files = append(files, m.Files...)
	}
	if len(files) == 0 || give == nil {
		return false, nil
	}
	given, err := give(ctx, who.Subject, files)
	if err != nil || given == nil {
		return false, err
	}
	req.Places = append(req.Places, chat.Place{Given: given})
	req.Options.Top = max(req.Options.Top, GivenTop)
	return true, nil
}

// fileOf reads a file part. ok is false for other parts, and if a message with this role cannot have files.
func (h *Handler) fileOf(v wire.Value, role llm.Role, at wire.Element) (f chat.File, ok bool, err error) {
	part, _ := v.Object()
	kind, _ := part.Get("type")
	if name, _ := kind.Text(); name != "file" || role != llm.User || h.cfg.Give == nil {
		return f, false, nil
	}
	value, _ := part.Get("file")
	file, isObject := value.Object()
	param := at.String() + ".file"
	if !isObject {
		return f, true, Refusef(param, invalid, "%q must be an object.", param)
	}
	f, err = FileOf(file, param)
	return f, true, err
}

// FileOf reads a file of a message: either a file_id or file_data, and perhaps a filename. param is its path in the request.
func FileOf(file wire.Object, param string) (f chat.File, err error) {
	f.Param = param
	var data string
	for _, m := range []struct {
		name  string
		field *string
	}{{"file_id", &f.ID}, {"filename", &f.Name}, {"file_data", &data}} {
		v, _ := file.Get(m.name)
		if !v.IsGiven() {
			continue
		}
		var ok bool
		if *m.field, ok = v.Text(); !ok {
			return f, Refusef(param+"."+m.name, invalid, "%q must be a string.", param+"."+m.name)
		}
	}
	if v, _ := file.Get("file_url"); v.IsGiven() {
		return f, Refusef(param+".file_url", unsupported, `"%s.file_url" is not supported: this server does not download files. Send "file_data", or a "file_id" from POST /v1/files.`, param)
	}
	switch {
	case (f.ID == "") == (data == ""):
		return f, Refusef(param, missing, `%q must have either a "file_id" or "file_data".`, param)
	case data != "":
		f.Data, f.Name, err = decodeFile(data, "", f.Name, param+".file_data")
	}
	return f, err
}

// FileOfURL returns the file in a data: URL. media is its media type, if known. param is its path in the request, and at the
// path of its URL.
func FileOfURL(url, media, name, param, at string) (f chat.File, err error) {
	if !isDataURL(url) {
		return f, Refusef(at, unsupported, "%q must be a data: URL: this server does not download files.", at)
	}
	f.Param = param
	f.Data, f.Name, err = decodeFile(url, media, name, at)
	return f, err
}

const dataScheme = "data:"

func isDataURL(s string) bool {
	return len(s) >= len(dataScheme) && strings.EqualFold(s[:len(dataScheme)], dataScheme)
}

// decodeFile decodes a file that is in base64 or in a data: URL, and returns its content and name.
func decodeFile(data, media, name, param string) (content []byte, named string, err error) {
	kind, based := "", true
	if isDataURL(data) {
		head, body, ok := strings.Cut(data[len(dataScheme):], ",")
		kind, based = strings.CutSuffix(head, ";base64")
		if strings.Contains(body, "%") {
			body, err = url.PathUnescape(body)
		}
		if !ok || err != nil {
			return nil, "", Refusef(param, invalid, "%q is not a valid data: URL.", param)
		}
		data = body
	}
	if !based {
		content = []byte(data)
	} else if content, err = base64.StdEncoding.DecodeString(data); err != nil {
		return nil, "", Refusef(param, invalid, "%q must be the content of a file in base64.", param)
	}
	if len(content) == 0 {
		return nil, "", Refusef(param, invalid, "%q is empty.", param)
	}
	return content, nameOf(name, media, kind), nil
}

// nameOf returns the name of a file. If its extension is not that of a known format, nameOf appends the extension of the first
// media type that has one.
func nameOf(name string, types ...string) string {
	if format.ByExtension(format.Ext(name)) != nil {
		return name
	}
	for _, t := range types {
		kind, _, err := mime.ParseMediaType(t)
		if ext := format.ExtensionOf(kind); err == nil && ext != "" {
			return cmp.Or(name, "file") + ext
		}
	}
	return name
}

// LinkTo returns the URL of a citation, for clients that see the server at base. namespace is the one that the turn
// searched. The URL is "" for a file that came with the request and is not stored.
func (c Catalog) LinkTo(cited *chat.Citation, base, namespace string) string {
	switch {
	case cited.Namespace != retrieval.InGiven:
		return c.Link(cited.Name, cited.Page, base, cmp.Or(cited.Namespace, namespace))
	case cited.URL == "":
		return ""
	case cited.Page == 0:
		return base + cited.URL
	}
	return fmt.Sprintf("%s%s#page=%d", base, cited.URL, cited.Page)
}

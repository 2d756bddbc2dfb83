package azurechat

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/wire"
)

// maxParts limits the parts of one request: the JSON and the files.
const maxParts = 32

// file is an uploaded file with the index of the message that it belongs to.
type file struct {
	message int
	data    []byte
}

// splitMultipart splits the SDK's form into the JSON body and the files. Parts with other names are ignored.
func splitMultipart(contentType string, raw []byte) (body []byte, files []file, err error) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || params["boundary"] == "" {
		return nil, nil, wire.Invalidf("the multipart request has no boundary")
	}
	parts := multipart.NewReader(bytes.NewReader(raw), params["boundary"])
	for range maxParts {
		part, err := parts.NextRawPart()
		if err != nil {
			return body, files, endOfParts(err, body)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, nil, brokenMultipart(err)
		}
		if part.FormName() == "json" {
			if body != nil {
				return nil, nil, wire.Invalidf(`the multipart request has the part "json" twice`)
			}
			body = data
		} else if message, ok := messageIndex(part.FormName()); ok {
			files = append(files, file{message: message, data: data})
		}
	}
	return nil, nil, wire.Invalidf("the multipart request has more than %d parts", maxParts)
}

// endOfParts returns nil if err, which ended the parts, means that the form is complete. Only a bare io.EOF is
// the closing boundary; for a truncated form it is wrapped.
func endOfParts(err error, body []byte) error {
	switch {
	case err != io.EOF: //nolint:errorlint // see above
		return brokenMultipart(err)
	case body == nil:
		return wire.Invalidf(`the multipart request has no part "json"`)
	}
	return nil
}

func brokenMultipart(err error) error {
	return &chat.Error{
		Kind: chat.Invalid, Msg: "the multipart request is broken",
		Err: fmt.Errorf("read a part: %w", err),
	}
}

// messageIndex returns the i of "messages[i].files[j]".
func messageIndex(name string) (int, bool) {
	var i, j int
	n, err := fmt.Sscanf(name, "messages[%d].files[%d]", &i, &j)
	return i, err == nil && n == 2 && name == fmt.Sprintf("messages[%d].files[%d]", i, j)
}

// attach adds each file to its message as an image. It detects the type of a file from its first bytes and
// ignores the type that the client declares.
func (h *Handler) attach(messages []chat.Message, files []file) error {
	if len(files) > 0 && !h.cfg.Vision {
		return wire.Invalidf("files are not accepted because the model cannot read images")
	}
	for _, f := range files {
		if f.message < 0 || f.message >= len(messages) {
			return wire.Invalidf(`"messages[%d]", to which a file belongs, does not exist`, f.message)
		}
		kind := http.DetectContentType(f.data)
		switch kind {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
		default:
			return wire.Invalidf("a file of messages[%d] is not an image in PNG, JPEG, GIF or WebP format", f.message)
		}
		url := "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(f.data)
		m := &messages[f.message]
		m.Parts = append(m.Parts, llm.Part{Image: url})
	}
	return nil
}

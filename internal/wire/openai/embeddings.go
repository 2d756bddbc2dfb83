package openai

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"iter"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"parley/internal/chat"
	"parley/internal/llm"
	"parley/internal/tokens"
	"parley/internal/wire"
)

// Embedding is the embedder that answers POST /v1/embeddings.
type Embedding struct {
	Model string // as provider:model
	// Embed returns a vector for each text. The request's Model is empty.
	Embed func(context.Context, llm.EmbedRequest) (llm.Embeddings, error)
}

// maxInputs is OpenAI's limit on texts in a request for embeddings. maxEmbedding limits concurrent requests, because the
// built-in embedder uses up to four processors for each.
const (
	maxInputs     = 2048
	maxDimensions = 16384
	maxEmbedding  = 2
)

// embedding is one request for vectors.
type embedding struct {
	model string // as the client names it
	req   llm.EmbedRequest
	plain bool // vectors are lists of numbers
}

// embed answers POST /v1/embeddings.
func (h *Handler) embed(w http.ResponseWriter, r *wire.Request) error {
	object, err := r.Object()
	if err != nil {
		return err
	}
	x, err := h.embeddingOf(object, r.PathValue("name"))
	if err != nil {
		return err
	}
	release, err := h.embedding.Take(&chat.Error{Kind: chat.RateLimited, Msg: "Too many texts are being embedded at the moment. Please try again."})
	if err != nil {
		return err
	}
	defer release()
	made, err := h.cfg.Embedding.Embed(r.Context(), x.req)
	if err != nil {
		return chat.ExplainUpstream(err)
	}
	return wire.WriteJSON(w, http.StatusOK, x.appendVectors(nil, made))
}

// embeddingOf reads a request. deployment is the model if the body names none; "" if the path has no deployment.
func (h *Handler) embeddingOf(object wire.Object, deployment string) (x embedding, err error) {
	x.req.Purpose, x.plain = llm.ForDocument, true
	var in struct {
		Model      wire.Value `json:"model"`
		Input      wire.Value `json:"input"`
		Format     wire.Value `json:"encoding_format"`
		Dimensions wire.Value `json:"dimensions"`
	}
	object.Read(&in)
	if deployment != "" && !in.Model.IsGiven() {
		in.Model = wire.AppendString(nil, deployment)
	}
	if x.model, err = h.embedderOf(in.Model); err != nil {
		return x, err
	}
	if x.req.Texts, err = inputs(in.Input); err != nil {
		return x, err
	}
	if in.Format.IsGiven() {
		format, _ := in.Format.Text()
		if x.plain = format == "float"; !x.plain && format != "base64" {
			return x, Refusef("encoding_format", invalid, `"encoding_format" must be "float" or "base64".`)
		}
	}
	if in.Dimensions.IsGiven() {
		n, ok := in.Dimensions.Number()
		if !ok || n < 1 || n > maxDimensions || n != math.Trunc(n) {
			return x, Refusef("dimensions", invalid, `"dimensions" must be a whole number from 1 to %d.`, maxDimensions)
		}
		x.req.Dimensions = int(n)
	}
	return x, h.checkDimensions(x.req.Dimensions)
}

// embedderOf returns the embedder's name as the client writes it. It refuses all other models: the server has only one
// embedder, and its vectors cannot replace those of another model.
func (h *Handler) embedderOf(v wire.Value) (string, error) {
	key := h.cfg.Embedding.Model
	_, bare, _ := strings.Cut(key, ":")
	name, ok := v.Text()
	switch {
	case !v.IsGiven():
		return "", Refusef("model", missing, `"model" must name the embedding model of this server, %q.`, key)
	case !ok:
		return "", Refusef("model", invalid, `"model" must be a string.`)
	case slices.Contains([]string{ownModel, key, bare}, name):
		return name, nil
	}
	return "", Refuse(chat.NotFound, "model", "model_not_found",
		"There is no embedding model "+strconv.Quote(wire.Clip(name))+". This server's embedding model is "+strconv.Quote(key)+".")
}

// builtinDimensions is the only length of vectors that the built-in embedder supports.
const builtinDimensions = 384

func (h *Handler) checkDimensions(n int) error {
	if strings.HasPrefix(h.cfg.Embedding.Model, "builtin:") && n != 0 && n != builtinDimensions {
		return Refusef("dimensions", unsupportedValue, `"dimensions" must be %d: this server's embedding model supports no other length.`, builtinDimensions)
	}
	return nil
}

// inputs reads a text or a list of texts. A text may be a list of its cl100k_base tokens, because some clients, such as
// LangChain's OpenAIEmbeddings for Python, send nothing else.
func inputs(v wire.Value) ([]string, error) {
	const want = `"input" must be a text, or a list of 1 to %d texts, none of them empty. A text may be a list of its cl100k_base tokens.`
	if !v.IsGiven() {
		return nil, Refusef("input", missing, want, maxInputs)
	}
	if text, ok := oneInput(v); ok {
		return []string{text}, nil
	}
	elements, ok := v.Elements()
	n, few := wire.AtMost(maxInputs, elements)
	if !ok || n == 0 || !few {
		return nil, Refusef("input", invalid, want, maxInputs)
	}
	texts := make([]string, 0, n)
	for v := range elements {
		text, ok := oneInput(v)
		if !ok {
			return nil, Refusef("input", invalid, want, maxInputs)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// oneInput returns a text that is not blank, given as a string or as a list of tokens.
func oneInput(v wire.Value) (string, bool) {
	text, ok := v.Text()
	if elements, list := v.Elements(); list {
		text, ok = textOfTokens(elements)
	}
	return text, ok && strings.TrimSpace(text) != ""
}

func textOfTokens(elements iter.Seq[wire.Value]) (string, bool) {
	var ids []uint
	for v := range elements {
		_, quoted := v.Text()
		id, ok := v.Number()
		if quoted || !ok || id < 0 || id > math.MaxUint32 || id != math.Trunc(id) {
			return "", false
		}
		ids = append(ids, uint(id))
	}
	return tokens.Decode(ids)
}

func (x embedding) appendVectors(dst []byte, made llm.Embeddings) []byte {
	dst = append(dst, `{"object":"list","data":[`...)
	for i, vector := range made.Vectors {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"object":"embedding","index":`...), int64(i), 10)
		dst = append(x.appendVector(append(dst, `,"embedding":`...), vector), '}')
	}
	dst = wire.AppendString(append(dst, `],"model":`...), x.model)
	dst = strconv.AppendInt(append(dst, `,"usage":{"prompt_tokens":`...), int64(made.Usage.Input), 10)
	dst = strconv.AppendInt(append(dst, `,"total_tokens":`...), int64(made.Usage.Input), 10)
	return append(dst, `}}`...)
}

// appendVector appends the numbers of a vector, or their bytes in base64, as little-endian float32.
func (x embedding) appendVector(dst []byte, vector []float32) []byte {
	if x.plain {
		dst = append(dst, '[')
		for i, n := range vector {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendFloat(dst, float64(n), 'g', -1, 32)
		}
		return append(dst, ']')
	}
	raw := make([]byte, 0, 4*len(vector))
	for _, n := range vector {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(n))
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), raw), '"')
}

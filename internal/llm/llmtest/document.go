package llmtest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// DocumentFaults are the names of the ways in which an Upstream without streams answers wrongly, or
// correctly but oddly. Those from "few" on are impossible answers: a vector or score too few, one of
// another length, one that is null, infinite or zero, an index twice or out of range.
var DocumentFaults = []string{
	"400", "401", "404", "429", "500", "503", "redirect", "html", "badjson", "jsonerror", "hang", "reset",
	"empty", "cut", "eof", "stall", "never", "odd", "controls", "usage", "absurd", "enormous", "nousage",
	"few", "many", "length", "null", "infinite", "zero", "twice", "range", "nothing",
}

// document is the answer of an Upstream to n texts. The i-th vector is [i+1, -0.5, 0.25] and the i-th
// score 1/(i+1), unless the fault changes them. The usage is ten tokens for each text.
type document struct {
	vectors []string // JSON
	scores  []string // JSON
	order   []int    // indexes, in the order of the answer
	usage   string   // JSON; "" for none
	model   string
}

func newDocument(fault string, n int) document {
	d := document{usage: fmt.Sprint(10 * n), model: "stub-1"}
	for i := range n {
		d.vectors = append(d.vectors, fmt.Sprintf("[%d,-0.5,2.5e-1]", i+1))
		d.scores = append(d.scores, fmt.Sprint(1/float64(i+1)))
		d.order = append(d.order, i)
	}
	last := n - 1
	if n == 0 { // not a request of the dialect
		return d
	}
	switch fault {
	case "few":
		d.order = d.order[:last]
	case "many":
		d.order, d.vectors, d.scores = append(d.order, n), append(d.vectors, d.vectors[0]), append(d.scores, "0.5")
	case "length":
		d.vectors[last], d.scores[last] = "[1,2]", `"high"`
	case "null":
		d.vectors[last], d.scores[last] = "[1,null,3]", "null"
	case "infinite":
		d.vectors[last], d.scores[last] = "[1,1e99,3]", "1e999"
	case "zero":
		d.vectors[last] = "[0,0.0,-0]"
	case "twice":
		d.order[last] = 0
	case "range":
		d.order[last] = 1 << 40
	case "odd": // in reverse order
		for i := range d.order {
			d.order[i] = last - i
		}
	case "usage":
		d.usage = "-5"
	case "absurd":
		d.usage = "1000000"
	case "enormous":
		d.usage = "1e18"
	case "nousage":
		d.usage = ""
	case "controls":
		d.model = `st\nub\u001b-1`
	}
	return d
}

// at returns the element for an index. An index out of range gets the first element.
func at(list []string, i int) string {
	if i >= len(list) {
		i = 0
	}
	return list[i]
}

// answerDocument writes a whole answer, or the answer with a fault.
func (u *Upstream) answerDocument(w http.ResponseWriter, r *http.Request, fault string, body []byte) {
	answer, ok := u.dialect.document(fault, body)
	if !ok {
		u.failure(w, "422", "stub")
		return
	}
	half := answer[:len(answer)/2]
	flush := func(s string) bool {
		_, err := io.WriteString(w, s)
		return err == nil && http.NewResponseController(w).Flush() == nil
	}
	switch fault {
	case "hang":
		<-r.Context().Done()
		return
	case "empty":
		answer = ""
	case "nothing":
		answer = "null"
	case "eof":
		answer = half
	case "odd":
		answer = "\r\n\t " + answer + " \n"
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	switch fault {
	case "cut":
		flush(half)
		reset(w)
	case "stall":
		flush(half)
		<-r.Context().Done()
	case "never":
		for flush(strings.Repeat(" ", 64<<10)) {
		}
	default:
		_, _ = io.WriteString(w, answer)
	}
}

// inputs returns the number of elements of the first list that a request has.
func inputs(request []byte, keys ...string) int {
	var w map[string]json.RawMessage
	if json.Unmarshal(request, &w) != nil {
		return 0
	}
	for _, key := range keys {
		var list []json.RawMessage
		if json.Unmarshal(w[key], &list) == nil && len(list) > 0 {
			return len(list)
		}
	}
	return 0
}

// base64Vector encodes a JSON vector as OpenAI does. null becomes NaN, and a number out of range
// infinity.
func base64Vector(vector string) string {
	var raw []byte
	for number := range strings.SplitSeq(strings.Trim(vector, "[]"), ",") {
		x, err := strconv.ParseFloat(number, 32) // infinite when out of range
		if number == "null" {
			x = math.NaN()
		} else if err != nil && !errors.Is(err, strconv.ErrRange) {
			panic(err)
		}
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(x)))
	}
	return base64.StdEncoding.EncodeToString(raw)
}

func openAIEmbeddings(fault string, request []byte) (string, bool) {
	d := newDocument(fault, inputs(request, "input"))
	var w struct {
		Format string `json:"encoding_format"`
	}
	_ = json.Unmarshal(request, &w)
	list := make([]string, len(d.order))
	for i, index := range d.order {
		vector := at(d.vectors, index)
		if w.Format == "base64" {
			vector = quoted(base64Vector(vector))
		}
		list[i] = fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, index, vector)
	}
	usage := ""
	if d.usage != "" {
		usage = fmt.Sprintf(`,"usage":{"prompt_tokens":%s,"total_tokens":%s}`, d.usage, d.usage)
	}
	return fmt.Sprintf(`{"object":"list","data":[%s],"model":"%s"%s}`, strings.Join(list, ","), d.model, usage), len(d.scores) > 0
}

// OpenAIEmbeddings is the protocol of OpenAI's embeddings.
var OpenAIEmbeddings = Dialect{path: "/v1/embeddings", model: named, failure: openAIFailure, document: openAIEmbeddings}

// AzureEmbeddings is OpenAI's protocol at the addresses of Azure.
var AzureEmbeddings = Dialect{
	path: "/openai/deployments/{model}/embeddings", model: AzureOpenAI.model, failure: AzureOpenAI.failure, document: openAIEmbeddings,
}

// GeminiEmbeddings is the protocol of Google's batchEmbedContents.
var GeminiEmbeddings = Dialect{
	path: "/v1beta/models/{model}", failure: Gemini.failure,
	model: func(r *http.Request, _ []byte) (string, bool) {
		name, method, _ := strings.Cut(r.PathValue("model"), ":")
		return name, method == "batchEmbedContents"
	},
	document: func(fault string, request []byte) (string, bool) {
		d := newDocument(fault, inputs(request, "requests"))
		list := make([]string, len(d.order))
		for i := range list {
			list[i] = `{"values":` + d.vectors[i] + `}`
		}
		usage := ""
		if d.usage != "" {
			usage = `,"usageMetadata":{"promptTokenCount":` + d.usage + `}`
		}
		return `{"embeddings":[` + strings.Join(list, ",") + `]` + usage + `}`, len(d.scores) > 0
	},
}

// OllamaEmbeddings is the protocol of Ollama's embeddings.
var OllamaEmbeddings = Dialect{
	path: "/api/embed", model: named, failure: Ollama.failure,
	document: func(fault string, request []byte) (string, bool) {
		d := newDocument(fault, inputs(request, "input"))
		usage := ""
		if d.usage != "" {
			usage = `,"prompt_eval_count":` + d.usage
		}
		return fmt.Sprintf(`{"model":"%s","embeddings":[%s],"total_duration":1,"load_duration":1%s}`,
			d.model, strings.Join(d.vectors[:len(d.order)], ","), usage), len(d.scores) > 0
	},
}

func results(d document, key string) string {
	list := make([]string, len(d.order))
	for i, index := range d.order {
		list[i] = fmt.Sprintf(`{"index":%d,"%s":%s}`, index, key, at(d.scores, index))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// Rerank is the /rerank API, as Jina and vLLM have it.
var Rerank = Dialect{
	path: "/rerank", model: named, failure: openAIFailure,
	document: func(fault string, request []byte) (string, bool) {
		d := newDocument(fault, inputs(request, "documents"))
		usage := ""
		if d.usage != "" {
			usage = `,"usage":{"total_tokens":` + d.usage + `}`
		}
		return fmt.Sprintf(`{"model":"%s","results":%s%s}`, d.model, results(d, "relevance_score"), usage), len(d.scores) > 0
	},
}

// TEI is the /rerank API of text-embeddings-inference, which takes at most 32 texts. It has only one
// model, so the query names the fault.
var TEI = Dialect{
	path: "/rerank", silent: true,
	model: func(_ *http.Request, body []byte) (string, bool) {
		var req struct {
			Query string `json:"query"`
		}
		err := json.Unmarshal(body, &req)
		return req.Query, err == nil
	},
	failure: func(status int, code, message string) string {
		return fmt.Sprintf(`{"error":%q,"error_type":%q}`, message, code)
	},
	document: func(fault string, request []byte) (string, bool) {
		d := newDocument(fault, inputs(request, "texts"))
		return results(d, "score"), len(d.scores) > 0 && len(d.scores) <= 32
	},
}

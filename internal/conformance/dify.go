package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// dify returns the API through which Dify searches external knowledge bases.
func dify() Protocol {
	const (
		page      = "Dify, External Knowledge API"
		request   = page + ", Request"
		response  = page + ", Response"
		failing   = page + ", Error handling"
		path      = "/retrieval"
		threshold = 0.6
		refused   = `The error has a number "error_code" and a text "error_msg".`
	)
	shape := []judgement{has("error_code", number), filled("error_msg")}
	ask := func(name, more string, rules ...[]Rule) Exchange {
		return Exchange{Name: name, Method: http.MethodPost, Path: path, Body: `{"knowledge_id":"{knowledge_id}","query":{question},` + more + `}`, Rules: join(rules...)}
	}
	return Protocol{
		Name: "dify", Title: "Dify's external knowledge API", marks: []string{"records"},
		Exchanges: []Exchange{
			ask("retrieval", `"retrieval_setting":{"top_k":2,"score_threshold":0.0},"metadata_condition":null`, json1(response, http.StatusOK), []Rule{
				rule("records", response, `The reply has a list "records".`, has("records", array)),
				rule("members", response, "Each record has a text, a score from 0 to 1 and a title.", each("records", filled("content"), score, has("title", text))),
				rule("metadata", response, "The metadata of a record is an object, if it is there; Dify fails on null.", each("records", may("metadata", object))),
				rule("top-k", request, `There are at most "top_k" records.`, func(v any) error {
					found, _ := at(v, "records")
					if list, _ := found.([]any); len(list) > 2 {
						return fmt.Errorf("there are %d records, not 2", len(list))
					}
					return nil
				}),
			}),
			ask("threshold", fmt.Sprintf(`"retrieval_setting":{"top_k":5,"score_threshold":%v}`, threshold), json1(response, http.StatusOK), []Rule{
				rule("least", request, `No record has a score below "score_threshold".`, has("records", array), each("records", func(v any) error {
					if n := float(v, "score"); n < threshold {
						return fmt.Errorf("score is %v", n)
					}
					return nil
				})),
			}),
			ask("condition", `"retrieval_setting":{"top_k":5,"score_threshold":0.0},"metadata_condition":{"logical_operator":"and","conditions":[`+
				`{"name":"parley_check_no_such_member","comparison_operator":"is","value":"parley-check"}]}`, json1(response, http.StatusOK), []Rule{
				rule("none", request, "A condition that no record fulfils leaves an empty list.", func(v any) error {
					if err := has("records", array)(v); err != nil {
						return err
					}
					if some("records")(v) == nil {
						return fmt.Errorf("there are records: %s", compact(v))
					}
					return nil
				}),
			}),
			{Name: "unknown knowledge", Method: http.MethodPost, Path: path,
				Body:  `{"knowledge_id":"parley-check-no-such-knowledge","query":{question},"retrieval_setting":{"top_k":2,"score_threshold":0.0}}`,
				Rules: append(refusal(failing, refused, shape...), rule("code", failing, "The code of an unknown knowledge base is 2001.", is("error_code", 2001)))},
			{Name: "no query", Method: http.MethodPost, Path: path, Body: `{"knowledge_id":"{knowledge_id}"}`, Rules: refusal(failing, refused, shape...)},
			{Name: "no JSON", Method: http.MethodPost, Path: path, Body: `{"query":`, Rules: refusal(failing, refused, shape...)},
		},
	}
}

// inJSON returns a text escaped for use inside a JSON string, without the quotes.
func inJSON(s string) string {
	b, _ := json.Marshal(s)
	return string(b[1 : len(b)-1])
}

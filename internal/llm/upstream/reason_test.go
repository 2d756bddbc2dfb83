package upstream

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/internal/llm"
)

// The bodies are those that providers document or have sent.
func TestStatus_TellsWhyTheUpstreamRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   llm.Reason
		again  bool
	}{
		"OpenAI key":          {401, `{"error":{"message":"Incorrect API key provided: sk-…","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, llm.KeyRefused, false},
		"OpenAI credit":       {429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, llm.NoCredit, false},
		"OpenAI limit":        {429, `{"error":{"message":"Rate limit reached for gpt-4o","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, llm.Limited, true},
		"OpenAI length":       {400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, llm.TooLong, false},
		"OpenAI model":        {404, `{"error":{"message":"The model gpt-9 does not exist","type":"invalid_request_error","param":null,"code":"model_not_found"}}`, llm.NoModel, false},
		"OpenAI region":       {403, `{"error":{"code":"unsupported_country_region_territory","message":"Country not supported","type":"request_forbidden"}}`, llm.KeyRefused, false},
		"Azure deployment":    {404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, llm.NoModel, false},
		"Anthropic key":       {401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, llm.KeyRefused, false},
		"Anthropic credit":    {400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, llm.NoCredit, false},
		"Anthropic length":    {400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, llm.TooLong, false},
		"Anthropic overload":  {529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Failed, true},
		"Gemini key":          {400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, llm.KeyRefused, false},
		"Gemini limit":        {429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}`, llm.Limited, true},
		"Gemini length":       {400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, llm.TooLong, false},
		"OpenRouter credit":   {402, `{"error":{"code":402,"message":"Insufficient credits"}}`, llm.NoCredit, false},
		"DeepSeek credit":     {402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, llm.NoCredit, false},
		"vLLM length":         {400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","param":null,"code":400}`, llm.TooLong, false},
		"llama.cpp length":    {400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, llm.TooLong, false},
		"Ollama model":        {404, `{"error":"model \"llama9\" not found, try pulling it first"}`, llm.NoModel, false},
		"a proxy's page":      {502, `<html>Bad gateway</html>`, llm.Failed, true},
		"a gateway's timeout": {504, ``, llm.TooSlow, true},
		"an invalid request":  {400, `{"error":{"message":"temperature must be a number","code":"invalid_value"}}`, llm.Failed, false},
		"a list":              {400, `["insufficient_quota"]`, llm.Failed, false},
	} {
		t.Run(name, func(t *testing.T) {
			call := &Call{Failure: func([]byte) *llm.Error { return &llm.Error{} }}
			var e *llm.Error
			err := call.status(&http.Response{StatusCode: c.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(c.body))})
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			if e.Why() != c.want || e.Retryable != c.again {
				t.Errorf("reason %d, retryable %v; want %d, %v", e.Why(), e.Retryable, c.want, c.again)
			}
		})
	}
}

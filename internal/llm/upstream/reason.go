package upstream

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"strings"

	"parley/internal/llm"
)

// A tell identifies the reason of a failure that the status alone does not show, by the content of the
// error object. A code must match as a whole, a phrase anywhere in a message; both are lower case.
type tell struct {
	reason  llm.Reason
	codes   []string
	phrases []string
}

// tells are those of OpenAI, Azure OpenAI, Anthropic, Gemini, Mistral, OpenRouter, DeepSeek, Groq, vLLM, llama.cpp and Ollama.
// The first match counts. "You exceeded your current quota" is not listed: Gemini uses it for limits that pass within a minute,
// and OpenAI sends a code with it.
var tells = []tell{
	{
		llm.NoCredit,
		[]string{"insufficient_quota", "billing_error", "billing_not_active", "billing_hard_limit_reached", "insufficient_balance", "insufficient_credits"},
		[]string{"credit balance is too low", "insufficient balance", "insufficient credits"},
	},
	{
		llm.TooLong,
		[]string{"context_length_exceeded", "string_above_max_length", "exceed_context_size_error", "request_too_large"},
		[]string{"maximum context length", "prompt is too long", "exceed context limit", "exceeds the maximum number of tokens", "exceeds the context window", "exceeds the available context size", "input length exceeds the context length"},
	},
	{
		llm.KeyRefused,
		[]string{"invalid_api_key", "api_key_invalid", "authentication_error", "permission_denied", "unauthenticated"},
		[]string{"api key not valid", "incorrect api key"},
	},
	{
		llm.NoModel,
		[]string{"model_not_found", "model_not_exist", "deploymentnotfound", "invalid_model"},
		[]string{"no such model", "model does not exist", "is not a valid model id"},
	},
}

// reasonOf returns the reason given by an upstream's error object, or llm.Failed if it gives none.
func reasonOf(body []byte) llm.Reason {
	var object any
	if json.Unmarshal(body, &object) != nil {
		return llm.Failed
	}
	var s said
	s.collect(object, 0)
	for _, t := range tells {
		if s.holds(t) {
			return t.reason
		}
	}
	return llm.Failed
}

// said holds the codes and messages of an error object.
type said struct{ codes, messages []string }

// maxDepth limits how deep an error object is searched: Gemini's reasons stand in error.details[0].
const maxDepth = 5

func (s *said) collect(v any, depth int) {
	if depth > maxDepth {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			s.collect(element, depth+1)
		}
	case map[string]any:
		for key, member := range v {
			text, ok := member.(string)
			if !ok {
				s.collect(member, depth+1)
				continue
			}
			switch text = strings.ToLower(text); key {
			case "code", "type", "status", "reason":
				s.codes = append(s.codes, text)
			case "message", "error", "detail":
				s.messages = append(s.messages, text)
			}
		}
	}
}

func (s *said) holds(t tell) bool {
	for _, code := range s.codes {
		for _, c := range t.codes {
			if code == c {
				return true
			}
		}
	}
	for _, message := range s.messages {
		for _, phrase := range t.phrases {
			if strings.Contains(message, phrase) {
				return true
			}
		}
	}
	return false
}

// judge adds the reason given by an error object if the status does not show it. A call that failed
// for lack of credit is not retried, since waiting does not help.
func judge(e *llm.Error, body []byte) {
	if e.Filtered {
		return
	}
	if r := reasonOf(body); r != llm.Failed && r != e.Why() {
		e.Reason = r
	}
	if e.Why() == llm.NoCredit {
		e.Retryable = false
	}
}

// reasonOfBreak returns why a call broke: Unreachable when there was no connection to break.
func reasonOfBreak(err error) llm.Reason {
	op, ok := errors.AsType[*net.OpError](err)
	_, noName := errors.AsType[*net.DNSError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	if ok && op.Op == "dial" || noName || untrusted || noTLS {
		return llm.Unreachable
	}
	return llm.Failed
}

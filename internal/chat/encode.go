package chat

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// eventVersion is the version of the JSON encoding of events. Increase it when a reader of the previous
// version would misread an event.
const eventVersion = 1

// eventEnvelope is the JSON object that AppendJSON writes and UnmarshalJSON reads.
type eventEnvelope struct {
	V     int             `json:"v"`
	Turn  string          `json:"turn"`
	Seq   int             `json:"seq"`
	Type  string          `json:"type"`
	Event json.RawMessage `json:"event"`
	At    int64           `json:"at"`
}

// Numbered is an event with its position in a turn.
type Numbered struct {
	Turn  string // turn id
	Seq   int    // from 1
	Event Event
	At    time.Time // when the event was emitted; zero if unknown, as for deltas
}

// MarshalJSON encodes the event as {"v","turn","seq","type","event"}, followed by "at" in microseconds of
// Unix time if At is set.
func (n Numbered) MarshalJSON() ([]byte, error) { return n.AppendJSON(nil) }

// AppendJSON appends the result of MarshalJSON to b. It encodes the event once, where json.Marshal would
// process it three times.
func (n Numbered) AppendJSON(b []byte) ([]byte, error) {
	name, ok := eventName(n.Event)
	if !ok {
		return b, fmt.Errorf("encode event %T: unknown type", n.Event)
	}
	turn := []byte(`""`)
	if n.Turn != "" {
		var err error
		if turn, err = json.Marshal(n.Turn); err != nil {
			return b, fmt.Errorf("encode turn id: %w", err)
		}
	}
	out := sink(strconv.AppendInt(append(b, `{"v":`...), eventVersion, 10))
	out = append(append(out, `,"turn":`...), turn...)
	out = strconv.AppendInt(append(out, `,"seq":`...), int64(n.Seq), 10)
	out = append(append(append(out, `,"type":"`...), name...), `","event":`...)
	if err := json.NewEncoder(&out).Encode(n.Event); err != nil {
		return b, fmt.Errorf("encode event %s: %w", name, err)
	}
	out = out[:len(out)-1] // without the newline
	if !n.At.IsZero() {
		out = strconv.AppendInt(append(out, `,"at":`...), n.At.UnixMicro(), 10)
	}
	return append(out, '}'), nil
}

// sink is an io.Writer that appends to itself, which avoids a copy of the encoded event.
type sink []byte

func (s *sink) Write(b []byte) (int, error) {
	*s = append(*s, b...)
	return len(b), nil
}

// UnmarshalJSON decodes the result of MarshalJSON.
func (n *Numbered) UnmarshalJSON(b []byte) error {
	var env eventEnvelope
	if err := json.Unmarshal(b, &env); err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	if env.V != eventVersion {
		return fmt.Errorf("decode event: version %d is not %d", env.V, eventVersion)
	}
	e, err := decodeEvent(env.Type, env.Event)
	if err != nil {
		return err
	}
	*n = Numbered{Turn: env.Turn, Seq: env.Seq, Event: e}
	if env.At != 0 {
		n.At = time.UnixMicro(env.At).UTC()
	}
	return nil
}

func eventName(e Event) (string, bool) {
	switch e.(type) {
	case StageStarted:
		return "stage_started", true
	case StageFinished:
		return "stage_finished", true
	case QueryRewritten:
		return "query_rewritten", true
	case ClarificationNeeded:
		return "clarification_needed", true
	case PassagesRetrieved:
		return "passages_retrieved", true
	case PromptBuilt:
		return "prompt_built", true
	case MessageStarted:
		return "message_started", true
	case CompletionStarted:
		return "completion_started", true
	case TextDelta:
		return "text_delta", true
	case ReasoningDelta:
		return "reasoning_delta", true
	case ToolCalled:
		return "tool_called", true
	case ToolStarted:
		return "tool_started", true
	case ToolReturned:
		return "tool_returned", true
	case MessageFinished:
		return "message_finished", true
	case FollowUpsSuggested:
		return "follow_ups_suggested", true
	case TurnFinished:
		return "turn_finished", true
	}
	return "", false
}

func decodeEvent(name string, body json.RawMessage) (Event, error) {
	switch name {
	case "stage_started":
		return decodeAs[StageStarted](body)
	case "stage_finished":
		return decodeAs[StageFinished](body)
	case "query_rewritten":
		return decodeAs[QueryRewritten](body)
	case "clarification_needed":
		return decodeAs[ClarificationNeeded](body)
	case "passages_retrieved":
		return decodeAs[PassagesRetrieved](body)
	case "prompt_built":
		return decodeAs[PromptBuilt](body)
	case "message_started":
		return decodeAs[MessageStarted](body)
	case "completion_started":
		return decodeAs[CompletionStarted](body)
	case "text_delta":
		return decodeAs[TextDelta](body)
	case "reasoning_delta":
		return decodeAs[ReasoningDelta](body)
	case "tool_called":
		return decodeAs[ToolCalled](body)
	case "tool_started":
		return decodeAs[ToolStarted](body)
	case "tool_returned":
		return decodeAs[ToolReturned](body)
	case "message_finished":
		return decodeAs[MessageFinished](body)
	case "follow_ups_suggested":
		return decodeAs[FollowUpsSuggested](body)
	case "turn_finished":
		return decodeAs[TurnFinished](body)
	}
	return nil, fmt.Errorf("decode event: unknown type %q", name)
}

func decodeAs[E Event](body json.RawMessage) (Event, error) {
	var e E
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, fmt.Errorf("decode event %T: %w", e, err)
	}
	return e, nil
}

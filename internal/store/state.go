package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/internal/access"
	"parley/internal/chat"
	"parley/internal/ledger"
	"parley/internal/llm"
	"parley/internal/turn"
)

// State keeps conversations, turns and the ledger. It implements turn.Store and
// ledger.Store.
type State struct {
	db *database
}

var (
	_ turn.Store   = (*State)(nil)
	_ ledger.Store = (*State)(nil)
)

// Conversation returns a conversation with the messages of its last completed turns.
func (s *State) Conversation(ctx context.Context, scope turn.Scope, id string, turns int) (
	c turn.Conversation, err error) {
	one, err := s.db.prepared(selectConversation)
	if err != nil {
		return c, s.db.fail("read conversation", err)
	}
	messages, err := s.db.prepared(selectHistory)
	if err != nil {
		return c, s.db.fail("read conversation", err)
	}
	err = s.db.view(ctx, "read conversation", func(tx *sql.Tx) error {
		c.ID = id
		var created, updated int64
		err := tx.StmtContext(ctx, one).QueryRowContext(ctx, id).
			Scan(&c.Scope.Namespace, &c.Scope.Owner, &c.Kind, &c.Completed, &created, &updated)
		if errors.Is(err, sql.ErrNoRows) {
			return turn.ErrNotFound
		}
		if err != nil {
			return err
		}
		if c.Scope != scope {
			return turn.ErrForeign
		}
		c.CreatedAt, c.UpdatedAt = fromMicros(created), fromMicros(updated)
		if turns > 0 {
			c.History, err = history(ctx, tx.StmtContext(ctx, messages), id, turns)
		}
		return err
	})
	if err != nil {
		return turn.Conversation{}, err
	}
	return c, nil
}

const (
	selectConversation = `SELECT namespace, owner, kind, completed, created_at, updated_at FROM conversations WHERE id = ?`
	selectHistory      = `SELECT ` + spokenColumns + ` FROM messages m
		JOIN (SELECT id AS turn_id, position AS turn_position FROM turns
			WHERE conversation_id = ? AND status = ? ORDER BY position DESC LIMIT ?) t
		ON t.turn_id = m.turn_id WHERE m.status = ? ORDER BY t.turn_position, m.position`
)

// history returns the completed messages of the last completed turns, oldest first.
func history(ctx context.Context, messages *sql.Stmt, conversation string, turns int) ([]chat.Message, error) {
	rows, err := messages.QueryContext(ctx, conversation, string(chat.StatusCompleted), turns, string(chat.StatusCompleted))
	return scanList(rows, err, func(r *sql.Rows, m *chat.Message) error { return scanSpoken(r, m) })
}

// Save commits a turn, its messages and everything else in its record.
func (s *State) Save(ctx context.Context, r turn.Record) error {
	into, err := s.saving(ctx)
	if err != nil {
		return s.db.fail("save turn", err)
	}
	origin, user := access.Origin(ctx), writerOf(ctx, r.Scope.Owner)
	s.db.grown.Add(weightOf(r) + leastRow)
	return s.db.commit(ctx, "save turn", func(ctx context.Context, tx *sql.Tx) error {
		if err := user.check(ctx, tx); err != nil {
			return err
		}
		position, err := s.goOn(ctx, tx, r, origin)
		if err != nil {
			return err
		}
		if err := insertTurn(ctx, tx.StmtContext(ctx, into.turns), r, position, origin); err != nil {
			return err
		}
		messages := tx.StmtContext(ctx, into.messages)
		for i, a := range messagesOf(r) {
			if err := insertMessage(ctx, messages, r.ID, i, a); err != nil {
				return err
			}
		}
		if err := keepSaid(ctx, tx.StmtContext(ctx, into.said), r); err != nil {
			return err
		}
		if err := insertAnswered(ctx, tx, r.Answered); err != nil {
			return err
		}
		return into.account(ctx, tx, r)
	})
}

// messagesOf returns the messages of a turn in order.
func messagesOf(r turn.Record) []turn.Answer {
	var all []turn.Answer
	if r.Question.Role != "" {
		all = append(all, turn.Answer{Message: r.Question, Status: chat.StatusCompleted})
	}
	for _, m := range r.Results {
		all = append(all, turn.Answer{Message: m, Status: chat.StatusCompleted})
	}
	return append(all, r.Answers...)
}

// saveStatements are the cached statements of Save.
type saveStatements struct {
	conversations, turns, messages, entries, accounts, said *sql.Stmt
	settled                                                 settleStatements
}

func (s *State) saving(ctx context.Context) (into saveStatements, err error) {
	for query, stmt := range map[string]**sql.Stmt{
		insertTurns: &into.turns, insertMessages: &into.messages, insertFree: &into.entries, addToAccount: &into.accounts,
		insertSaid: &into.said, goOnWith: &into.conversations,
	} {
		if *stmt, err = s.db.preparedWrite(ctx, query); err != nil {
			return into, err
		}
	}
	into.settled, err = s.settling(ctx)
	return into, err
}

// account settles the turn's calls in the ledger, enters the free ones, and adds the turn to its
// account.
func (into saveStatements) account(ctx context.Context, tx *sql.Tx, r turn.Record) error {
	var sum ledger.Totals
	if r.Status == chat.StatusCompleted {
		sum.Turns = 1
	}
	for _, e := range r.Ended {
		if err := into.settled.write(ctx, tx, e, false); err != nil {
			return err
		}
	}
	for _, e := range r.Free {
		if err := insertEntry(ctx, tx.StmtContext(ctx, into.entries), e); err != nil {
			return err
		}
		sum.Add(e, 1)
	}
	return addTotals(ctx, tx.StmtContext(ctx, into.accounts), r.AccountKey(), sum)
}

const goOnWith = `UPDATE conversations SET turns = turns + 1, completed = completed + ?, updated_at = ?, bytes = bytes + ? WHERE id = ?
	RETURNING namespace, owner, kind, turns, completed`

// goOn increments the turn count of the record's conversation and returns the turn's position in
// it. It creates a missing conversation, with the given origin.
func (s *State) goOn(ctx context.Context, tx *sql.Tx, r turn.Record, origin string) (position int64, err error) {
	if r.ConversationID == "" {
		return 0, nil
	}
	at := micros(r.FinishedAt)
	home := turn.Scope{Namespace: cmp.Or(r.Home, r.Scope.Namespace), Owner: r.Scope.Owner}
	if r.Kind == "" {
		_, err = tx.ExecContext(ctx, `INSERT INTO conversations
			(id, namespace, owner, turns, completed, created_at, updated_at, origin)
			VALUES (?, ?, ?, 0, 0, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			r.ConversationID, home.Namespace, home.Owner, micros(r.StartedAt), at, origin)
		if err != nil {
			return 0, err
		}
	}
	goOn, err := s.db.preparedWrite(ctx, goOnWith) // already compiled by Save, so it does not wait
	if err != nil {
		return 0, err
	}
	var scope turn.Scope
	var kind string
	var completed int64
	err = tx.StmtContext(ctx, goOn).QueryRowContext(ctx, flag(r.Status == chat.StatusCompleted), at, weightOf(r), r.ConversationID).
		Scan(&scope.Namespace, &scope.Owner, &kind, &position, &completed)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, turn.ErrNotFound
	}
	if err != nil {
		return 0, err
	}
	if scope != home || kind != r.Kind {
		return 0, turn.ErrForeign
	}
	if r.Status == chat.StatusCompleted && completed != r.Seen+1 {
		return 0, turn.ErrConflict
	}
	return position, nil
}

const insertTurns = `INSERT INTO turns (id, namespace, owner, conversation_id, position,
	status, error_kind, query, requested_model, model, input_tokens, output_tokens, cached_tokens,
	reasoning_tokens, estimated, stages, first_token, started_at, finished_at, bytes, origin)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// storedStage is the stored form of chat.StageFinished.
type storedStage struct {
	Stage    chat.Stage    `json:"stage"`
	Agent    string        `json:"agent,omitempty"`
	Duration time.Duration `json:"duration"` // nanoseconds
	Model    string        `json:"model,omitempty"`
	Usage    llm.Usage     `json:"usage,omitzero"`
	Note     string        `json:"note,omitempty"`
}

func insertTurn(ctx context.Context, into *sql.Stmt, r turn.Record, position int64, origin string) error {
	stored := make([]storedStage, len(r.Stages))
	for i, s := range r.Stages {
		stored[i] = storedStage(s)
	}
	stages, err := json.Marshal(stored)
	if err != nil {
		return fmt.Errorf("encode stages: %w", err)
	}
	conversation := sql.NullString{String: r.ConversationID, Valid: r.ConversationID != ""}
	_, err = into.ExecContext(ctx, r.ID, r.Scope.Namespace, r.Scope.Owner, conversation, position, string(r.Status),
		int(r.ErrorKind), r.Query, r.Requested, r.Model, r.Usage.Input, r.Usage.Output, r.Usage.Cached,
		r.Usage.Reasoning, flag(r.Usage.Estimated), string(stages), r.FirstToken.Microseconds(),
		micros(r.StartedAt), micros(r.FinishedAt), weightOf(r), origin)
	if isUnique(err) {
		return fmt.Errorf("turn %s exists already: %w", r.ID, err)
	}
	return err
}

// messagePart is the stored form of llm.Part.
type messagePart struct {
	Text  string `json:"text,omitempty"`
	Image string `json:"image,omitempty"`
}

// toolCall is the stored form of llm.ToolCall.
type toolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Signature string `json:"signature,omitempty"`
}

// storedCall is a call that a message asks the client to run, or, with only its name, a tool that
// the server ran for the message.
type storedCall struct {
	toolCall
	Ran bool `json:"ran,omitempty"`
}

const insertMessages = `INSERT INTO messages (turn_id, position, id, role, agent, status, parts,
	citations, finish_reason, model, tokens, input_tokens, output_tokens, cached_tokens,
	reasoning_tokens, estimated, created_at, doubts, tool_calls, tool_call_id)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

func insertMessage(ctx context.Context, into *sql.Stmt, turnID string, position int, a turn.Answer) error {
	stored := make([]messagePart, len(a.Parts))
	for i, p := range a.Parts {
		stored[i] = messagePart(p)
	}
	parts, err := json.Marshal(stored)
	if err != nil {
		return fmt.Errorf("encode parts: %w", err)
	}
	citations, err := json.Marshal(a.Citations)
	if err != nil {
		return fmt.Errorf("encode citations: %w", err)
	}
	doubts, err := list(a.Doubts)
	if err != nil {
		return fmt.Errorf("encode doubts: %w", err)
	}
	var called []storedCall
	for _, c := range a.ToolCalls {
		called = append(called, storedCall{toolCall: toolCall(c)})
	}
	for _, name := range a.ToolsUsed {
		called = append(called, storedCall{toolCall: toolCall{Name: name}, Ran: true})
	}
	calls, err := list(called)
	if err != nil {
		return fmt.Errorf("encode calls of tools: %w", err)
	}
	_, err = into.ExecContext(ctx, turnID, position, a.ID, string(a.Role), a.Agent, string(a.Status), string(parts), string(citations),
		a.FinishReason, a.Model, a.Tokens, a.Usage.Input, a.Usage.Output, a.Usage.Cached,
		a.Usage.Reasoning, flag(a.Usage.Estimated), micros(a.CreatedAt), doubts, calls, a.ToolCallID)
	return err
}

// list encodes a list that is empty for most messages.
func list[E any](elements []E) (string, error) {
	if len(elements) == 0 {
		return "", nil
	}
	b, err := json.Marshal(elements)
	return string(b), err
}

// unlist decodes what list encoded.
func unlist[E any](raw []byte) (elements []E, err error) {
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &elements)
	}
	return elements, err
}

// Columns of the content of a message, and of how it was produced.
const (
	spokenColumns  = `m.id, m.role, m.agent, m.parts, m.citations, m.tokens, m.created_at, m.tool_calls, m.tool_call_id`
	messageColumns = spokenColumns + `, m.status, m.finish_reason, m.model, m.input_tokens, m.output_tokens,
	m.cached_tokens, m.reasoning_tokens, m.estimated, m.doubts`
)

func scanMessage(r row) (a turn.Answer, err error) {
	var doubts sql.RawBytes
	err = scanSpoken(r, &a.Message, &a.Status, &a.FinishReason, &a.Model, &a.Usage.Input, &a.Usage.Output,
		&a.Usage.Cached, &a.Usage.Reasoning, &a.Usage.Estimated, &doubts)
	if err != nil {
		return a, err
	}
	if a.Doubts, err = unlist[chat.Doubt](doubts); err != nil {
		return a, fmt.Errorf("decode doubts: %w", err)
	}
	return a, nil
}

// scanSpoken reads spokenColumns into m, and the columns after them into more.
func scanSpoken(r row, m *chat.Message, more ...any) error {
	var parts, citations, calls sql.RawBytes
	var created int64
	to := []any{&m.ID, &m.Role, &m.Agent, &parts, &citations, &m.Tokens, &created, &calls, &m.ToolCallID}
	if err := r.Scan(append(to, more...)...); err != nil {
		return err
	}
	m.CreatedAt = fromMicros(created)
	var stored []messagePart
	if err := json.Unmarshal(parts, &stored); err != nil {
		return fmt.Errorf("decode parts: %w", err)
	}
	for _, p := range stored {
		m.Parts = append(m.Parts, llm.Part(p))
	}
	if string(citations) != "null" {
		if err := json.Unmarshal(citations, &m.Citations); err != nil {
			return fmt.Errorf("decode citations: %w", err)
		}
	}
	called, err := unlist[storedCall](calls)
	if err != nil {
		return fmt.Errorf("decode calls of tools: %w", err)
	}
	for _, c := range called {
		if c.Ran {
			m.ToolsUsed = append(m.ToolsUsed, c.Name)
		} else {
			m.ToolCalls = append(m.ToolCalls, llm.ToolCall(c.toolCall))
		}
	}
	return nil
}

// Turn returns a turn of the scope, or turn.ErrNotFound.
func (s *State) Turn(ctx context.Context, scope turn.Scope, id string) (turn.Record, error) {
	r := turn.Record{ID: id, Scope: scope}
	err := s.db.view(ctx, "read turn", func(tx *sql.Tx) error {
		r.Answers, r.Results = nil, nil
		if err := scanTurn(tx.QueryRowContext(ctx, `SELECT conversation_id, status, error_kind, query,
			requested_model, model, input_tokens, output_tokens, cached_tokens, reasoning_tokens, estimated,
			stages, first_token, started_at, finished_at
			FROM turns WHERE id = ? AND namespace = ? AND owner = ?`, id, scope.Namespace, scope.Owner), &r); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, "SELECT "+messageColumns+
			" FROM messages m WHERE m.turn_id = ? ORDER BY m.position", id)
		return scanAll(rows, err, func(rows *sql.Rows) error {
			a, err := scanMessage(rows)
			switch a.Role {
			case llm.User:
				r.Question = a.Message
			case llm.ToolRole:
				r.Results = append(r.Results, a.Message)
			default:
				r.Answers = append(r.Answers, a)
			}
			return err
		})
	})
	if err != nil {
		return turn.Record{}, err
	}
	return r, nil
}

func scanTurn(row row, r *turn.Record) error {
	var conversation sql.NullString
	var stages []byte
	var firstToken, started, finished int64
	err := row.Scan(&conversation, &r.Status, &r.ErrorKind, &r.Query, &r.Requested, &r.Model,
		&r.Usage.Input, &r.Usage.Output, &r.Usage.Cached, &r.Usage.Reasoning, &r.Usage.Estimated,
		&stages, &firstToken, &started, &finished)
	if errors.Is(err, sql.ErrNoRows) {
		return turn.ErrNotFound
	}
	if err != nil {
		return err
	}
	r.ConversationID = conversation.String
	r.FirstToken = time.Duration(firstToken) * time.Microsecond
	r.StartedAt, r.FinishedAt = fromMicros(started), fromMicros(finished)
	var stored []storedStage
	if err := json.Unmarshal(stages, &stored); err != nil {
		return fmt.Errorf("decode stages: %w", err)
	}
	for _, s := range stored {
		r.Stages = append(r.Stages, chat.StageFinished(s))
	}
	return nil
}

// purgeTurns deletes the oldest turns without a conversation; their messages are deleted with them.
const purgeTurns = `DELETE FROM turns WHERE id IN (SELECT id FROM turns
	WHERE conversation_id IS NULL AND finished_at < ? ORDER BY finished_at LIMIT ?)`

// Purge deletes up to limit turns without a conversation that finished before a time.
func (s *State) Purge(ctx context.Context, before time.Time, limit int) (int, error) {
	var n int64
	err := s.db.update(ctx, "purge turns", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, purgeTurns, micros(before), limit)
		if err != nil {
			return err
		}
		n, err = result.RowsAffected()
		return err
	})
	return int(n), err
}

// Package turn runs turns: it takes them from the engine, saves them, and gives each a tab in the
// ledger. The engine (package chat) neither saves nor bills.
//
//	runner := turn.NewRunner(engine, db.State(), turn.Options{Log: log})
//	for event, err := range runner.Run(ctx, req) { … }
//
// # What is saved
//
// Every turn whose stream began is saved once, with the question, the answers as far as they
// came, their citations, the usage, the models, the stages and the durations:
//
//   - completed: the engine finished it. It is committed before TurnFinished is passed on, so
//     a client that has seen the end of a turn will find it after a crash. When it cannot be
//     committed, the stream ends with an error instead.
//   - failed: the engine ended it with an error. It is committed before the error is passed on.
//   - cancelled: the consumer stopped ranging, or panicked, or its context was cancelled. Saving
//     uses its own context with a time limit, because the turn's has ended.
//
// An error before the first event is a rejection, whether the runner or the engine raised it: it
// is the first item of the stream, as the contract of package chat has it, and is not saved.
//
// # Conversations
//
// A turn with a ConversationID goes on with the conversation of that id in the request's namespace
// and of its principal; an id that nobody has begins a conversation when the turn is saved, and
// somebody else's is not found. The engine gets the stored messages before those of the request,
// of which the last user message is the question and is all that is stored. Turns of one
// conversation run one after the other. Across processes the store guards them: a turn that
// completes after another process has added one that it did not see is saved as failed, with
// chat.Conflict.
//
// Every turn of a conversation is stored, but only completed ones are history for later turns,
// each as one user and one assistant message; so the history alternates strictly. A turn without
// a ConversationID is stateless: it is stored as well, and Purge deletes it after the retention.
//
// A conversation has a kind. Those of the kind "" are begun by their first turn; those of any other
// must exist (Store.Begin), and who deletes or resets one while a turn of it runs makes that turn
// end with an error. A conversation has a home, the namespace that it belongs to, which need not
// be the one that its turns search.
//
// # Keys
//
// Keys make requests that carry the same Idempotency-Key one turn: what it said is committed with it,
// and said again to whoever asks again.
//
// # Steering and policy
//
// Steering says how a turn is run, beside what is asked: the request's key, and what becomes of the
// turn when its client leaves. A turn usually runs in the goroutine that ranges over it and is
// cancelled when that goroutine stops ranging, so that nothing more is paid for an answer that nobody
// can come back for. With Options.Keep, turns of conversations, and those that ask for it, run in
// goroutines of the Runner and go on; the caller then follows the turn's log.
//
// # Logs
//
// Every turn has a log (Log) while it runs, which any number of others follow from any position,
// and through which it can be stopped. What clients may see of it is saved with the turn (Said) and
// forgotten after a day.
package turn

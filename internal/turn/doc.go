// Package turn runs turns on the engine, saves them, and bills their model calls to the ledger. The engine
// (package chat) neither saves nor bills.
//
//	runner := turn.NewRunner(engine, db.State(), turn.Options{Log: log})
//	for event, err := range runner.Run(ctx, req) { … }
//
// # What is saved
//
// Every turn whose stream began is saved once, with the question, the answers as far as they arrived,
// their citations, the usage, the models, the stages and the durations:
//
//   - completed: the engine finished it. It is committed before TurnFinished is passed on, so
//     a client that has seen the end of a turn will find it after a crash. If it cannot be
//     committed, the stream ends with an error instead.
//   - failed: the engine ended it with an error. It is committed before the error is passed on.
//   - cancelled: the consumer stopped ranging, or panicked, or its context was cancelled. Saving
//     uses its own context with a time limit, because the turn's has ended.
//
// An error before the first event is a rejection, whether it comes from the runner or the engine: it is the
// first item of the stream (see the contract in package chat) and is not saved.
//
// # Conversations
//
// A turn with a ConversationID continues the conversation of that id in the request's namespace, if it
// belongs to the principal. An unknown id begins a conversation when the turn is saved; an id of another
// owner is an error (chat.NotFound). The engine gets the stored messages before those of the request. Of the request, only the
// question, its last user message, is stored. Turns of one conversation run one after the other. Across
// processes the store guards them: a turn that completes after another process has added one is saved as
// failed, with chat.Conflict.
//
// Every turn of a conversation is stored, but only completed turns are history for later ones, each as one
// user message and one assistant message, so the history alternates strictly. A turn without
// a ConversationID is stateless: it is stored as well, and Purge deletes it after the retention.
//
// A conversation has a kind. A conversation of kind "" begins with its first turn. One of any other kind must
// exist (see Begin of store.State), and a running turn ends with an error if its conversation is deleted or reset. A
// conversation also has a home: the namespace that it belongs to, which may differ from the one that its
// turns search.
//
// # Keys
//
// Keys runs requests with the same Idempotency-Key as one turn. The events of the turn are committed
// with it, and a repeated request gets the same events.
//
// # Steering and policy
//
// Steering says how a turn is run: with which key, and what happens when the client leaves. A turn
// usually runs in the goroutine that ranges over it and is cancelled when that goroutine stops, so that
// no money is spent on an answer that cannot be fetched. With Options.Keep, turns whose Policy is Finish, which
// is the default in conversations, run in goroutines of the Runner and continue; the caller follows the turn's log.
//
// # Logs
//
// Every turn has one log (Log). Any number of readers may follow it from any position, and Log.Stop stops
// the turn. The part that clients may see is saved with the turn (Said) and deleted after a day.
// Protocols derive views of a turn, such as processing steps, from its log.
package turn

package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"parley/internal/lazyregexp"
	"parley/internal/llm"
	"parley/internal/retrieval"
)

// Options configures a Registry. Zero fields mean the default.
type Options struct {
	Timeout  time.Duration // limit of a call; default 20 s
	MaxBytes int           // maximum bytes of a result's text; default 16 KiB
	MaxArgs  int           // maximum bytes of a call's arguments; default 16 KiB
	// Namespaces lists the tools allowed in a namespace. A missing key allows all.
	Namespaces map[string][]string
	// Later are prefixes of the names of tools that a later registry may have. Namespaces may name such tools, too.
	Later  []string
	Logger *slog.Logger // nil discards
}

// Registry decides which tools a turn may use, and runs them. It is safe for concurrent use.
type Registry struct {
	opts    Options
	tools   []Tool                          // by name, ascending
	schemas map[string]*jsonschema.Resolved // by name, of the tools whose schema can be checked
}

// ErrUnknown means that a turn may not call a tool, either because it does not exist or because the
// namespace's list excludes it. The error does not reveal which.
var ErrUnknown = errors.New("no such tool")

var validName = lazyregexp.New(`^[a-zA-Z0-9_-]{1,64}$`)

// NewRegistry returns a registry of the tools. It returns an error if two tools share a name, if
// providers would reject a name, or if a list names a tool that does not exist.
func NewRegistry(tools []Tool, opts Options) (*Registry, error) {
	opts.Timeout = cmp.Or(opts.Timeout, 20*time.Second)
	opts.MaxBytes = cmp.Or(opts.MaxBytes, 16<<10)
	opts.MaxArgs = cmp.Or(opts.MaxArgs, 16<<10)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Registry{opts: opts, tools: slices.SortedFunc(slices.Values(tools), func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })}
	for i, t := range r.tools {
		if !validName.MatchString(t.Name) {
			return nil, fmt.Errorf("%q is not a valid tool name: use 1 to 64 letters, digits, dashes and underscores", t.Name)
		}
		if i > 0 && r.tools[i-1].Name == t.Name {
			return nil, fmt.Errorf("two tools have the name %s", t.Name)
		}
	}
	r.schemas = r.resolveSchemas()
	for key, names := range opts.Namespaces {
		for _, name := range names {
			if _, ok := r.find(name); !ok && !r.later(name) {
				return nil, fmt.Errorf("the list of %q names the tool %q, which does not exist; the tools are %s",
					key, name, strings.Join(r.Names(), ", "))
			}
		}
	}
	return r, nil
}

func (r *Registry) later(name string) bool {
	return slices.ContainsFunc(r.opts.Later, func(beginning string) bool { return strings.HasPrefix(name, beginning) })
}

// Names returns the names of all tools, sorted.
func (r *Registry) Names() []string {
	names := make([]string, len(r.tools))
	for i, t := range r.tools {
		names[i] = t.Name
	}
	return names
}

// Offer returns the tools that a model may call in a namespace, sorted by name.
func (r *Registry) Offer(namespace string) []llm.Tool {
	var out []llm.Tool
	for _, t := range r.tools {
		if r.allows(namespace, t.Name) {
			out = append(out, t.Tool)
		}
	}
	return out
}

func (r *Registry) allows(namespace, name string) bool {
	list, ok := r.opts.Namespaces[namespace]
	return !ok || slices.Contains(list, name)
}

func (r *Registry) find(name string) (Tool, bool) {
	i, ok := slices.BinarySearchFunc(r.tools, name, func(t Tool, name string) int { return cmp.Compare(t.Name, name) })
	if !ok {
		return Tool{}, false
	}
	return r.tools[i], true
}

// Writes reports whether a tool changes something outside the turn.
func (r *Registry) Writes(name string) bool {
	t, ok := r.find(name)
	return ok && t.Writes
}

// Call runs a tool for a model, in the namespace of filter. The result can always be shown to the
// model: a failure's text is a sentence without internal detail. err reports the failure to the caller.
func (r *Registry) Call(ctx context.Context, filter retrieval.Filter, call llm.ToolCall) (res Result, err error) {
	t, ok := r.find(call.Name)
	if !ok || !r.allows(filter.Namespace, call.Name) {
		return Result{Text: "There is no tool of this name."}, ErrUnknown
	}
	if len(call.Arguments) > r.opts.MaxArgs {
		return Result{Text: fmt.Sprintf("The arguments are longer than %d bytes.", r.opts.MaxArgs)}, errors.New("arguments too long")
	}
	if wrong := r.check(t, call.Arguments); wrong != nil {
		return Result{Text: clip(wrong.Msg, r.opts.MaxBytes)}, wrong
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(t.Timeout, r.opts.Timeout))
	defer cancel()
	res, err = run(ctx, t, Call{Filter: filter, Arguments: json.RawMessage(call.Arguments)})
	if err != nil {
		res = Result{Text: r.explain(ctx, t, err)}
	}
	res.Text = clip(res.Text, r.opts.MaxBytes)
	return res, err
}

// run turns a panic of a tool into an error.
func run(ctx context.Context, t Tool, call Call) (res Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return t.Run(ctx, call)
}

func (r *Registry) explain(ctx context.Context, t Tool, err error) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("The tool did not answer within %s.", cmp.Or(t.Timeout, r.opts.Timeout))
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Msg
	}
	r.opts.Logger.WarnContext(ctx, "tool failed", "tool", t.Name, "error", err)
	return "The tool failed."
}

const clipped = "\n[cut off here]"

// clip cuts a text to limit bytes, marks the cut, and replaces invalid UTF-8.
func clip(s string, limit int) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:max(limit-len(clipped), 0)], "") + clipped
}

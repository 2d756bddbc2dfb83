package responses

import (
	"encoding/json"
	"slices"

	"parley/internal/llm"
	"parley/internal/wire"
	"parley/internal/wire/filesapi"
	"parley/internal/wire/openai"
)

// The server's own tools. The server searches for every answer anyway; with one of these tools, a client
// asks to see the search.
const (
	fileSearch = "file_search"
	ownSearch  = "parley:search" // OpenAI's clients do not know the type of its item

	fileSearchItem = "file_search_call" // item type for fileSearch; for ownSearch it is ownSearch itself
)

// maxTools is the maximum number of tools in a request, as in OpenAI's API.
const maxTools = 128

// choice says which of the client's tools the model may or must call.
type choice struct {
	word    string   // for llm.Request.ToolChoice; "" leaves the choice to the model
	allowed []string // names of tools, if limited
	limited bool     // only allowed tools may be called
}

// readTools reads the client's functions and the options of the server's search.
func (x *exchange) readTools(v wire.Value) error {
	elements, ok := v.Elements()
	if !ok {
		return openai.Refusef("tools", openai.Invalid, `"tools" must be a list of tools.`)
	}
	for v := range elements {
		at := wire.At("tools", len(x.res.Tools))
		if at.Index == maxTools {
			return openai.Refusef("tools", openai.Invalid, `"tools" may have at most %d tools.`, maxTools)
		}
		if err := x.readTool(v, at); err != nil {
			return err
		}
	}
	return nil
}

func (x *exchange) readTool(v wire.Value, at wire.Element) error {
	tool, ok := v.Object()
	if !ok {
		return openai.Refusef(at.String(), openai.Invalid, `"%v" must be an object.`, at)
	}
	kind, _ := tool.Get("type")
	switch name, _ := kind.Text(); name {
	case "function":
		f, err := functionOf(tool, at)
		if err != nil {
			return err
		}
		x.req.Options.Tools = append(x.req.Options.Tools, f.tool)
		x.res.Tools = append(x.res.Tools, f.shown())
		return nil
	case fileSearch, ownSearch:
		x.res.Tools = append(x.res.Tools, v.Compact())
		return x.readSearch(tool, name, at)
	}
	return openai.Refusef(at.String()+".type", openai.UnsupportedValue, `"%v.type" must be "function", "file_search" or "parley:search".`, at)
}

// readSearch reads a search tool and its options.
func (x *exchange) readSearch(tool wire.Object, name string, at wire.Element) error {
	x.search = fileSearchItem
	if name == ownSearch {
		x.search, x.results = ownSearch, true
	}
	for key, v := range tool.Members() {
		if v.IsNull() {
			continue
		}
		switch key {
		case "max_num_results":
			if want := wire.Top.Set(&x.req.Options, v); want != "" {
				return openai.Refusef(at.String()+"."+key, openai.Invalid, `"%v.%s" must be %s.`, at, key, want)
			}
		case "vector_store_ids":
			if err := x.readStores(v, at.String()+"."+key); err != nil {
				return err
			}
		case "filters":
			var err error
			if x.filter, err = filesapi.FilterOf(v, at.String()+"."+key); err != nil {
				return err
			}
		case "ranking_options":
			least, err := filesapi.ThresholdOf(v, at.String()+"."+key)
			if err != nil {
				return err
			}
			x.req.Options.MinScore = max(least, x.req.Options.MinScore)
		}
	}
	return nil
}

// maxStores is the maximum number of vector stores that a turn searches.
const maxStores = 10

// readStores reads the vector stores or namespaces to search instead of the model's namespace.
func (x *exchange) readStores(v wire.Value, param string) error {
	elements, ok := v.Elements()
	if !ok {
		return openai.Refusef(param, openai.Invalid, "%q must be a list of strings.", param)
	}
	for v := range elements {
		id, ok := v.Text()
		if !ok || id == "" {
			return openai.Refusef(param, openai.Invalid, "%q must be a list of strings.", param)
		}
		if !slices.Contains(x.stores, id) {
			x.stores = append(x.stores, id)
		}
	}
	if len(x.stores) > maxStores {
		return openai.Refusef(param, openai.UnsupportedValue, "%q may name at most %d vector stores.", param, maxStores)
	}
	return nil
}

// function is a client's tool. strict has no effect, but the response repeats it.
type function struct {
	tool   llm.Tool
	strict *bool
}

func functionOf(object wire.Object, at wire.Element) (f function, err error) {
	for key, v := range object.Members() {
		ok := true
		switch {
		case v.IsNull():
		case key == "name":
			f.tool.Name, ok = v.Text()
		case key == "description":
			f.tool.Description, ok = v.Text()
		case key == "parameters":
			if _, ok = v.Object(); ok {
				f.tool.Parameters = v.Compact()
			}
		case key == "strict":
			var strict bool
			strict, ok = v.Bool()
			f.strict = &strict
		}
		if !ok {
			return f, openai.Refusef(at.String()+"."+key, openai.Invalid, `"%v.%s" has the wrong type.`, at, key)
		}
	}
	if f.tool.Name == "" {
		return f, openai.Refusef(at.String()+".name", openai.Missing, `"%v.name" must name the function.`, at)
	}
	return f, nil
}

// shown returns the tool in the form for a response, which has all members.
func (f function) shown() json.RawMessage {
	shown := struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description *string         `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	}{Type: "function", Name: f.tool.Name, Parameters: f.tool.Parameters, Strict: f.strict}
	if f.tool.Description != "" {
		shown.Description = &f.tool.Description
	}
	return mustJSON(shown)
}

// readToolChoice reads the tool choice: a word, or an object that names a tool or the allowed tools.
func (x *exchange) readToolChoice(v wire.Value) error {
	const param = "tool_choice"
	x.res.ToolChoice = v.Compact()
	if word, ok := v.Text(); ok {
		return x.choice.read(word, param)
	}
	object, ok := v.Object()
	kind, _ := object.Get("type")
	name, _ := kind.Text()
	switch {
	case ok && name == "function":
		v, _ := object.Get("name")
		if x.choice.word, ok = v.Text(); !ok || x.choice.word == "" {
			return openai.Refusef(param+".name", openai.Missing, `"tool_choice.name" must name a function.`)
		}
		return nil
	case ok && (name == fileSearch || name == ownSearch):
		return nil // the server always searches
	case ok && name == "allowed_tools":
		return x.choice.readAllowed(object)
	}
	return openai.Refusef(param, openai.UnsupportedValue,
		`"tool_choice" must be "none", "auto", "required", or an object with the type "function" (with the function's name), "allowed_tools" or "file_search".`)
}

func (c *choice) read(word, param string) error {
	switch word {
	case "auto":
		word = ""
	case llm.ToolsNone, llm.ToolsRequired:
	default:
		return openai.Refusef(param, openai.Invalid, `%q must be "none", "auto" or "required".`, param)
	}
	c.word = word
	return nil
}

func (c *choice) readAllowed(object wire.Object) error {
	if v, _ := object.Get("mode"); v.IsGiven() {
		word, _ := v.Text()
		if err := c.read(word, "tool_choice.mode"); err != nil {
			return err
		}
	}
	list, _ := object.Get("tools")
	elements, ok := list.Elements()
	if !ok {
		return openai.Refusef("tool_choice.tools", openai.Missing, `"tool_choice.tools" must be a list of tools.`)
	}
	c.limited = true
	for v := range elements {
		tool, ok := v.Object()
		name, _ := tool.Get("name")
		if !ok || len(c.allowed) == maxTools {
			return openai.Refusef("tool_choice.tools", openai.Invalid, `"tool_choice.tools" must be a list of at most %d tools.`, maxTools)
		}
		if text, ok := name.Text(); ok {
			c.allowed = append(c.allowed, text)
		}
	}
	return nil
}

// choose applies the tool choice. The search always happens, so a choice that requires a tool has no
// effect if the search is the only tool.
func (x *exchange) choose() error {
	o := &x.req.Options
	if x.choice.limited {
		o.Tools = slices.DeleteFunc(o.Tools, func(t llm.Tool) bool { return !slices.Contains(x.choice.allowed, t.Name) })
	}
	o.ToolChoice = x.choice.word
	if o.ToolChoice == llm.ToolsRequired && len(o.Tools) == 0 && x.search != "" {
		o.ToolChoice = ""
	}
	return nil
}

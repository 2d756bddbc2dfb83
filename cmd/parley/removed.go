package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// removed are the settings that were removed, with advice on a replacement. Setting one is an
// error, because the user relies on its effect.
var removed = map[string]string{
	"azure_openai.authority_host":      "azure_openai.endpoint decides the cloud",
	"azure_openai.identity_endpoint":   "Parley reads IDENTITY_ENDPOINT, which Azure sets",
	"azure_openai.identity_header":     "Parley reads IDENTITY_HEADER, which Azure sets",
	"azure_openai.reasoning":           "say which model a deployment is like in capabilities: {'azure-openai:NAME': {like: o3}}",
	"azure_openai.scope":               "azure_openai.endpoint decides the cloud",
	"azure_openai.token":               "write the token to a file that azure_openai.token_file names",
	"azurechat.history":                "front ends can always list past chats",
	"crawl.time":                       "the time for a web site follows from --max-pages and crawl.delay",
	"fallback_to_builtin":              "name builtin:extractive as the last model of fallback",
	"limits.address_chats_size":        "the size follows from limits.address_chats: 100 KiB for each chat",
	"limits.chats_size":                "the size follows from limits.chats: 100 KiB for each chat",
	"ollama.context":                   "set the context of a model in capabilities: {'ollama:NAME': {context: 8192}}",
	"ragchat.clarify":                  "requests ask for it with the parameter clarify",
	"ragchat.debug_log_keys":           "nothing is logged of what requests hold",
	"ragchat.debug_log_truncate_chars": "nothing is logged of what requests hold",
	"ragchat.debug_verbose":            "nothing is logged of what requests hold; GET /api/turns/{id} shows a turn to its owner",
	"ragchat.use_web_search":           "requests ask for it with use_web_search",
	"stages.synthesis":                 "the model that called the tools answers; requests can name another one",
	"tools.domains":                    "limit tools by namespace with tools.namespaces",
	"uploads.owner_quota":              "uploads.quota limits all uploads together",
	"web_search.url":                   "web_search.engine takes the address of a SearXNG server",
}

// checkRemoved returns an error if a flag or a variable sets a removed setting. The configuration
// file is checked while it is read.
func checkRemoved(args []string, lookupEnv func(string) (string, bool)) error {
	for _, key := range slices.Sorted(maps.Keys(removed)) {
		flag := "--" + strings.NewReplacer(".", "-", "_", "-").Replace(key)
		env := "PARLEY_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
		if value, _ := lookupEnv(env); value != "" {
			return usagef("%s: %s", env, wasRemoved(key))
		}
		if slices.ContainsFunc(args, func(arg string) bool { return arg == flag || strings.HasPrefix(arg, flag+"=") }) {
			return usagef("%s: %s", flag, wasRemoved(key))
		}
	}
	return nil
}

// removedBelow reports whether a section of the configuration file had a setting that was removed.
func removedBelow(section string) bool {
	for key := range removed {
		if strings.HasPrefix(key, section+".") {
			return true
		}
	}
	return false
}

// wasRemoved returns the advice for a removed setting, or "".
func wasRemoved(key string) string {
	instead, ok := removed[key]
	if !ok {
		return ""
	}
	return fmt.Sprintf("the setting %s was removed: %s", key, instead)
}

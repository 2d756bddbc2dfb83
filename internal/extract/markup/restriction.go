package markup

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"parley/internal/lazyregexp"
)

// restrictions match keys with which other programs say who may see a document, and misspelled keys of Parley. Keys are
// matched in lower case and with letters only.
var restrictions = lazyregexp.New(`^(everybody|namespace|` +
	`acls?|access(control|list|level|groups?|users?|roles?)?|permissions?|visibility|visible(to|for)|readable(by)?|readers?|viewers?|` +
	`allow(ed)?(users?|groups?|roles?|readers?|viewers?)?|(shared|restricted|limited)(to|with)|restrict(ed|ions?)?|` +
	`private|confidential|secret|public)$`)

// members match keys that a person may write instead of users and groups.
var members = lazyregexp.New(`^(users?|groups?)$`)

// teamKey is a key in the front matter of GitLab's documentation, where group is the team that maintains the document.
const teamKey = "stage"

// everyone lists values that make a document visible to everybody. For a key with the opposite meaning, such as private,
// this value is "false".
var everyone = []string{"", "null", "~", "*", "all", "any", "anyone", "anonymous", "everybody", "everyone", "open", "public", "world"}

// maxNameWords is the maximum number of words of a name. A longer text is a sentence for people, as in the front matter
// of GitHub's documentation.
const maxNameWords = 3

// unknownRestriction returns the first key of front matter that seems to restrict who may see the document, but is not
// one that parseMeta reads.
func unknownRestriction(matter string) string {
	var keys yaml.Node
	if yaml.Unmarshal([]byte(matter), &keys) != nil || len(keys.Content) == 0 || keys.Content[0].Kind != yaml.MappingNode {
		return ""
	}
	pairs := keys.Content[0].Content
	ofTeam := false
	for i := 0; i+1 < len(pairs); i += 2 {
		ofTeam = ofTeam || pairs[i].Value == teamKey
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		key := pairs[i].Value
		if slices.Contains([]string{"users", "groups", "everybody", "namespace"}, key) {
			continue
		}
		plain := notLetters.ReplaceAllString(strings.ToLower(key), "")
		named := members.MatchString(plain) && (!ofTeam || plain != "group")
		if (named || restrictions.MatchString(plain)) && restricts(plain, pairs[i+1]) {
			return key
		}
	}
	return ""
}

var notLetters = lazyregexp.New(`[^a-z]`)

func restricts(key string, value *yaml.Node) bool {
	if value.Kind != yaml.ScalarNode {
		return len(value.Content) > 0 || value.Kind == yaml.AliasNode
	}
	word := strings.ToLower(strings.TrimSpace(value.Value))
	switch word {
	case "true":
		return key != "public"
	case "false":
		return key == "public"
	}
	return !slices.Contains(everyone, word) && len(strings.Fields(word)) <= maxNameWords
}

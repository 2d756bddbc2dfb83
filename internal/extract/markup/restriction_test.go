package markup

import "testing"

func TestFrontMatter_NamesAKeyThatSeemsToRestrictWhoMaySeeADocument(t *testing.T) {
	for matter, want := range map[string]string{
		"access: [hr]":               "access",
		"title: Pay\nacl: hr":        "acl",
		"permissions: {read: [hr]}":  "permissions",
		"visibility: private":        "visibility",
		"allowed_groups: [hr]":       "allowed_groups",
		"allowedGroups: hr":          "allowedGroups",
		"Groups: [hr]":               "Groups",
		"USERS: ann":                 "USERS",
		"restricted-to: ann":         "restricted-to",
		"private: true":              "private",
		"public: false":              "public",
		"base: &b [hr]\nviewers: *b": "viewers",
		"confidential: yes":          "confidential",
		"access: ":                   "",
		"access: []":                 "",
		"visibility: Public":         "",
		"private: false":             "",
		"public: true":               "",
		"users: [ann]\ngroups: [hr]\nnamespace: team":     "",
		"title: Access\ntags: [acl, private]":             "",
		"group: hr":                                       "group",
		"user: [ann, bob]":                                "user",
		"stage: Manage\nuser: ann":                        "user",
		"group:":                                          "",
		"group: everyone":                                 "",
		"group: Authentication\nstage: Manage":            "", // GitLab's documentation
		"permissions: People with write access can do it": "", // GitHub's
		"accessibility: good\npublication: private":       "",
		"just a text":                                     "",
	} {
		if got := unknownRestriction(matter); got != want {
			t.Errorf("%q: %q, want %q", matter, got, want)
		}
	}
}

package access_test

import (
	"testing"

	"parley/internal/access"
)

func TestMembers_DecideInClosedNamespacesOnly(t *testing.T) {
	members := access.NewMembers([]string{"team", "empty"}, []access.Member{
		{Namespace: "team", Name: "rita", Role: access.Reader}, {Namespace: "team", Name: "ed", Role: access.Editor}, {Namespace: "team", Name: "olga", Role: access.Owner},
		{Namespace: "team", Group: true, Name: "staff", Role: access.Reader}, {Namespace: "team", Group: true, Name: "writers", Role: access.Editor},
		{Namespace: "open", Name: "eve", Role: access.Owner}, {Namespace: "team", Name: "bad", Role: "root"}, {Namespace: "team", Name: "adm", Role: access.Administrator},
	})
	who := func(subject string, role access.Role, groups ...string) access.Principal {
		return access.Principal{Subject: subject, Role: role, Groups: groups, Members: members}
	}
	type may struct{ use, edit, manage, own, others bool }
	for _, c := range []struct {
		who       access.Principal
		namespace string
		want      may
	}{
		{access.Principal{Members: members}, "team", may{}},
		{access.Principal{Members: members}, "open", may{use: true, edit: true, own: true}},
		{who("eve", access.Editor), "team", may{}},
		{who("eve", access.Editor), "open", may{use: true, edit: true, own: true}}, // a member of an open namespace is none
		{who("rita", access.Reader), "team", may{use: true}},
		{who("rita", access.Editor), "team", may{use: true}}, // an editor elsewhere
		{who("ed", access.Reader), "team", may{use: true, edit: true, own: true}},
		{who("ed", access.Reader), "open", may{use: true, own: true}}, // no editor elsewhere
		{who("olga", access.Reader), "team", may{true, true, true, true, true}},
		{who("olga", access.Reader), "open", may{use: true, own: true}},
		{who("olga", access.Reader), "empty", may{}},
		{who("new", access.Reader, "x", "staff"), "team", may{use: true}},
		{who("new", access.Reader, "staff", "writers"), "team", may{use: true, edit: true, own: true}}, // the strongest counts
		{who("new", access.Reader, "ed", "olga"), "team", may{}},                                       // a group called like a user
		{who("staff", access.Reader), "team", may{}},                                                   // and the reverse
		{who("bad", access.Reader), "team", may{}},
		{who("adm", access.Reader), "team", may{}},
		{who("admin", access.Administrator), "team", may{true, true, true, true, true}},
		{who("admin", access.Administrator), "empty", may{true, true, true, true, true}},
		{access.Principal{Subject: "key:1", Role: access.Administrator, Namespaces: []string{"open"}, Members: members}, "team", may{}},
		{access.Principal{Subject: "olga", Role: access.Reader, Namespaces: []string{"open"}, Members: members}, "team", may{}},
	} {
		if got, want := c.who.MayInstruct(c.namespace), c.want.manage || c.who.Subject == "" && c.want.edit; got != want {
			t.Errorf("%q in %s may instruct: %v", c.who.Subject, c.namespace, got)
		}
		got := may{c.who.MayUse(c.namespace), c.who.MayEdit(c.namespace), c.who.MayManage(c.namespace), c.who.MayChange(c.namespace, c.who.Subject),
			c.who.MayChange(c.namespace, "somebody else")}
		if got != c.want {
			t.Errorf("%q (%s, %v) in %s: %+v, want %+v", c.who.Subject, c.who.Role, c.who.Groups, c.namespace, got, c.want)
		}
	}
	if who("rita", access.Reader).EditsSome() || !who("ed", access.Reader).EditsSome() || who("ed", access.Reader).ManagesSome() || !who("olga", access.Reader).ManagesSome() {
		t.Error("a role in some namespace is not known")
	}
}

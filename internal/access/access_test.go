package access_test

import (
	"testing"

	"parley/internal/access"
)

func TestList_Allows(t *testing.T) {
	ann := access.Principal{Subject: "ann", Groups: []string{"staff", "board"}}
	tests := []struct {
		name       string
		list       access.List
		who        access.Principal
		restricted bool
		want       bool
	}{
		{"nobody is named: the anonymous", access.List{}, access.Anonymous, false, true},
		{"nobody is named: a user", access.List{}, ann, false, true},
		{"empty lists name nobody", access.List{Users: []string{}, Groups: []string{}}, access.Anonymous, false, true},
		{"a user is named", access.List{Users: []string{"bob", "ann"}}, ann, true, true},
		{"another user is named", access.List{Users: []string{"bob"}}, ann, true, false},
		{"a user is named: the anonymous", access.List{Users: []string{"ann"}}, access.Anonymous, true, false},
		{"a group is named", access.List{Groups: []string{"board"}}, ann, true, true},
		{"another group is named", access.List{Groups: []string{"sales"}}, ann, true, false},
		{"either is enough: user", access.List{Users: []string{"ann"}, Groups: []string{"sales"}}, ann, true, true},
		{"either is enough: group", access.List{Users: []string{"bob"}, Groups: []string{"staff"}}, ann, true, true},
		{"a group is no user", access.List{Users: []string{"staff"}}, ann, true, false},
		{"a user is no group", access.List{Groups: []string{"ann"}}, ann, true, false},
		{"case counts", access.List{Users: []string{"Ann"}, Groups: []string{"Staff"}}, ann, true, false},
		{"part of a name is not the name", access.List{Users: []string{"an", "anna"}}, ann, true, false},
		{"the empty user is not the anonymous", access.List{Users: []string{""}}, access.Anonymous, true, false},
		{"roles let nobody in", access.List{Users: []string{"administrator"}}, access.Principal{Role: access.Administrator}, true, false},
		{"groups without a subject", access.List{Groups: []string{"staff"}}, access.Principal{Groups: []string{"staff"}}, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.list.Restricted(); got != tt.restricted {
				t.Errorf("Restricted() = %v, want %v", got, tt.restricted)
			}
			if got := tt.list.Allows(tt.who); got != tt.want {
				t.Errorf("Allows(%+v) = %v, want %v", tt.who, got, tt.want)
			}
		})
	}
}

func TestPrincipal_MayChangeWhatIsTheirsOrNobodys(t *testing.T) {
	for _, c := range []struct {
		who   access.Principal
		owner string
		want  bool
	}{
		{access.Anonymous, "", true},
		{access.Anonymous, "ann", false},
		{access.Principal{Subject: "ann", Role: access.Reader}, "ann", true},
		{access.Principal{Subject: "ann", Role: access.Reader}, "", false},
		{access.Principal{Subject: "ann", Role: access.Editor}, "", true},
		{access.Principal{Subject: "ann", Role: access.Editor}, "bob", false},
		{access.Principal{Subject: "ann", Role: access.Administrator}, "bob", true},
	} {
		if got := c.who.MayChange("ns", c.owner); got != c.want {
			t.Errorf("%+v may change what is of %q: %v", c.who, c.owner, got)
		}
	}
}

func TestPrincipal_RolesAndNamespacesBoundWhatACallerMayDo(t *testing.T) {
	for have, want := range map[access.Role][]bool{
		"": {false, false, false}, "root": {false, false, false}, access.Reader: {true, false, false},
		access.Editor: {true, true, false}, access.Administrator: {true, true, true},
	} {
		for i, need := range access.Roles {
			if got := have.Includes(need); got != want[i] {
				t.Errorf("%q includes %q: %v", have, need, got)
			}
		}
	}
	everywhere := access.Principal{Role: access.Administrator}
	one := access.Principal{Role: access.Administrator, Namespaces: []string{"a"}}
	none := access.Principal{Role: access.Administrator, Namespaces: []string{}}
	if !everywhere.MayUse("b") || !everywhere.Administers() || !one.MayUse("a") || one.MayUse("b") || one.MayUse("") ||
		one.Administers() || none.MayUse("a") || none.Administers() {
		t.Error("namespaces are not kept apart")
	}
}

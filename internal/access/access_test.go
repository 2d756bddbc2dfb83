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
		{"scopes let nobody in", access.List{Users: []string{"admin"}}, access.Principal{Scopes: []string{"admin"}}, true, false},
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

package source

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/emersion/go-imap/v2"
	"github.com/google/go-cmp/cmp"

	"parley/internal/access"
)

// shown writes rights as "anna bob @staff", "signed in", "public", "nobody", with a "?" if they are not known.
func shown(r *Rights) string {
	if r == nil {
		return "none told"
	}
	var all []string
	switch l := r.Access; {
	case !l.Restricted():
		all = append(all, "public")
	case slices.Equal(l.Users, access.Nobody().Users):
		all = append(all, "nobody")
	default:
		all = append(all, l.Users...)
		for _, g := range l.Groups {
			all = append(all, "@"+g)
		}
		if l.SignedIn {
			all = append(all, "signed in")
		}
	}
	if r.Fault != "" {
		all = append(all, "?")
	}
	return strings.Join(all, " ")
}

// rulesOf reads what shown writes; a "-" denies.
func rulesOf(text string) (rules []rule) {
	for word := range strings.FieldsSeq(text) {
		word, deny := strings.CutPrefix(word, "-")
		group, isGroup := strings.CutPrefix(word, "@")
		r := reader{aUser, word}
		switch {
		case isGroup:
			r = reader{aGroup, group}
		case word == "signed":
			r = reader{kind: signedIn}
		case word == "public":
			r = reader{kind: everybody}
		case word == "unknown":
			r = reader{}
		}
		rules = append(rules, rule{r, deny})
	}
	return rules
}

func TestReaders_ADenialTakesAwayWhatItMightConcern(t *testing.T) {
	for text, want := range map[string]string{
		"anna @staff signed":         "anna @staff signed in",
		"anna public":                "public",
		"":                           "nobody",
		"-anna anna bob @staff":      "bob",                   // anna may be one of the staff
		"-anna public":               "nobody",                // a list cannot say "all but anna"
		"anna @staff -bob @sales":    "anna @staff",           // what comes before a denial stands
		"-@interns anna @staff":      "nobody",                // anna may be an intern
		"anna -@interns bob @staff":  "anna",                  //
		"-unknown anna":              "nobody",                // it may be anna
		"unknown anna":               "anna",                  //
		"-signed anna":               "nobody",                //
		"anna anna @a @a @b":         "anna @a @b",            //
		"@staff -anna anna -bob bob": "@staff",                //
		"key:x nobody: @signed":      "key:x nobody: @signed", // a source may name only those who see its own documents
	} {
		if got := shown(firstMatch(rulesOf(text)).rights()); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestReaders_BothKeepsThoseWhoAreSurelyAmongBoth(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"anna @staff", "anna @board", "anna"},
		{"anna @staff", "signed", "anna @staff"},
		{"anna signed", "public", "anna signed in"},
		{"public", "public", "public"},
		{"signed", "signed", "signed in"},
		{"anna", "@staff", "nobody"}, // whether anna is one of them is not known
		{"unknown", "unknown", "nobody"},
		{"", "public", "nobody"},
	} {
		for _, pair := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			if got := shown(both(firstMatch(rulesOf(pair[0])), firstMatch(rulesOf(pair[1]))).rights()); got != c.want {
				t.Errorf("%q and %q: %s, want %s", pair[0], pair[1], got, c.want)
			}
		}
	}
}

func TestReaders_LeaveOutWhatIsNoNameAndTooMany(t *testing.T) {
	all := readers{}
	for _, bad := range []string{"", " anna", "an\x00na", "an\nna", "\xff", strings.Repeat("x", maxReader+1)} {
		all[reader{aUser, bad}], all[reader{aGroup, bad}] = true, true
	}
	if got := shown(all.rights()); got != "nobody" {
		t.Errorf("names that nobody has: %s", got)
	}
	for i := range maxReaders + 1 {
		all[reader{aUser, fmt.Sprint(i)}] = true
	}
	if got := shown(all.rights()); got != "nobody ?" {
		t.Errorf("more than a list holds: %s", got)
	}
	if access.Nobody().Allows(access.Principal{Subject: "anna", Groups: []string{"staff", ""}}) || access.Nobody().Allows(access.Anonymous) {
		t.Error("nobody is somebody")
	}
}

// The lists are those of "Access control lists in Azure Data Lake Storage", section "How permissions are evaluated".
func TestPOSIX_TheNearestEntryDecides(t *testing.T) {
	for text, want := range map[string]string{
		"user::rw-,group::r--,other::---":                                        "owner @group",
		"user::rw-,group::r--,other::r--":                                        "owner @group signed in",
		"user::---,group::r--,other::r--":                                        "nobody", // the owner may be one of the group
		"user::rw-,group::---,other::r--":                                        "owner",
		"user::rw-,user:bob:r-x,group::---,group:staff:r--,mask::r-x,other::---": "bob owner @staff", // in both groups, one is enough
		"user::rw-,user:bob:---,group::r--,mask::rwx,other::---":                 "owner",
		"user::rw-,user:bob:rwx,group::rwx,mask::--x,other::---":                 "owner",
		"user::rw-,user:owner:---,group::---,other::---":                         "owner", // the first entry is the owner's
		"user::rw-,group::r--,other::r--,mask::---":                              "owner",
		"user::rw-,group::---,other::---,default:user::rwx,default:other::rwx":   "owner",
		"user::rw-,group::r--":                                                   "unreadable",
		"user::rw-,group::r--,other::r":                                          "unreadable",
		"":                                                                       "unreadable",
		"user::rw-,group::r--,other::---,evil":                                   "unreadable",
		"user::rw-,group::r--,other::---," + strings.Repeat("user:x:r--,", 1000) + "user:y:r--": "owner x y @group",
	} {
		got := "unreadable"
		if p, ok := parsePOSIX("owner", "group", text); ok {
			got = shown(p.readersFor("r").rights())
		}
		if got != want {
			t.Errorf("%.100s: %s, want %s", text, got, want)
		}
	}
	for mode, want := range map[uint32]string{0o640: "owner @group", 0o604: "owner", 0o644: "owner @group signed in", 0o400: "owner", 0o2170: "nobody"} {
		if got := shown(posixOf("owner", "group", mode).readersFor("r").rights()); got != want {
			t.Errorf("%o: %s, want %s", mode, got, want)
		}
	}
}

// The answers are such as Cyrus, Dovecot and Courier give. RFC 4314 does not say how the rights of a user and those of the user's
// groups combine.
func TestIMAP_ReadsIdentifiersOfSeveralServers(t *testing.T) {
	for text, want := range map[string]string{
		"anna=lrswipkxtecda":                        "anna",
		"anna=lrs bob=lp":                           "anna",
		"anyone=lrs":                                "signed in",
		"anyone=p anna=lr":                          "anna", // a mailbox to which anybody may post
		"authenticated=lr anonymous=lr":             "signed in",
		"anna=lr -anonymous=r":                      "anna",
		"anna=lr -anna=r anyone=lr":                 "nobody",
		"anna=lr bob=lr -bob=r":                     "anna",
		"anna=lr -bob=w anyone=lr":                  "anna signed in", // to write
		"group:staff=lrs anna=lrs":                  "anna @staff",
		"group:staff=lrs anna=lrs -group:interns=r": "nobody", // Cyrus: also to anna, if she is one of them
		"$staff=lrs anna=lrs -$interns=r":           "anna",   // Dovecot: not if anna is named
		"group=staff=lrs user=anna=lrs":             "anna @staff",
		"$staff=lrs $interns=l anna=lr":             "anna",
		"!$locked=l anna=lr":                        "nobody", // Dovecot: it outweighs users
		"#anyone=l anna=lr":                         "nobody",
		"#$staff=lr anna=lr":                        "anna @staff",
		"owner=lr $staff=lr":                        "olga @staff",
		"-anyone=r anna=lr":                         "nobody",
		"":                                          "nobody",
	} {
		acl := map[imap.RightsIdentifier]imap.RightSet{}
		for entry := range strings.FieldsSeq(text) {
			at := strings.LastIndexByte(entry, '=')
			acl[imap.RightsIdentifier(entry[:at])] = imap.RightSet(entry[at+1:])
		}
		if got := shown(mailRights(acl, "olga")); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := shown(mailRights(map[imap.RightsIdentifier]imap.RightSet{"owner": imap.RightSet("lr")}, "")); got != "nobody" {
		t.Errorf("an unknown owner: %s", got)
	}
}

// The first list is that of RFC 3744, section 5.5.5.
func TestWebDAV_ReadsAccessControlLists(t *testing.T) {
	const grant, deny, read = "<D:grant><D:privilege>%s</D:privilege></D:grant>", "<D:deny><D:privilege>%s</D:privilege></D:deny>", "<D:read/>"
	ace := func(who, what, privilege string) string {
		if !strings.HasPrefix(who, "<") {
			who = "<D:href>http://www.example.com/principals/" + who + "</D:href>"
		}
		return "<D:ace><D:principal>" + who + "</D:principal>" + fmt.Sprintf(what, privilege) + "</D:ace>"
	}
	invert := strings.NewReplacer("<D:principal>", "<D:invert><D:principal>", "</D:principal>", "</D:principal></D:invert>")
	owner := "<D:property><D:owner/></D:property>"
	for text, want := range map[string]string{
		ace("groups/maintainers", grant, "<D:write/>") + ace("<D:all/>", grant, read):                          "signed in",
		ace("groups/maintainers/", grant, "<D:all/>") + ace("<D:authenticated/>", grant, "<D:write/>"):         "@maintainers",
		ace("<D:authenticated/>", grant, read) + ace(owner, grant, "<D:all/>"):                                 "gstein signed in",
		ace("users/anna%20b", grant, read) + ace("user/bob", grant, read):                                      "anna b bob",
		ace("users/anna", deny, read) + ace("groups/staff", grant, read) + ace("users/bob", grant, read):       "bob",
		ace("users/bob", grant, read) + ace("groups/interns", deny, "<D:all/>") + ace("<D:all/>", grant, read): "bob",
		ace("users/bob", deny, "<D:write/>") + ace("<D:all/>", grant, read):                                    "signed in",
		ace("__uids__/0815", grant, read) + ace("users/anna", grant, read):                                     "anna",
		ace("__uids__/0815", deny, read) + ace("users/anna", grant, read):                                      "nobody",
		invert.Replace(ace("users/anna", grant, read)):                                                         "nobody",
		invert.Replace(ace("users/anna", deny, read)) + ace("<D:all/>", grant, read):                           "nobody",
		ace("users/bob", deny, "<X:download xmlns:X='urn:x'/>") + ace("<D:all/>", grant, read):                 "nobody", // it may contain that to read
		ace("users/bob", deny, "<D:read-acl/>") + ace("<D:all/>", grant, read):                                 "signed in",
		ace("users/bob", grant, "<X:read xmlns:X='urn:x'/>"):                                                   "nobody",
		ace("<D:self/>", grant, read) + ace("<D:unauthenticated/>", grant, read):                               "nobody",
		"": "nobody",
	} {
		var p davRights
		answer := `<D:prop xmlns:D="DAV:"><D:owner><D:href>http://www.example.com/principals/users/gstein</D:href></D:owner><D:acl>` + text + `</D:acl></D:prop>`
		if err := xml.Unmarshal([]byte(answer), &p); err != nil {
			t.Fatal(err)
		}
		if got := shown(p.listed()); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		`<D:inherited-acl-set><D:href>http://www.example.com/top</D:href></D:inherited-acl-set><D:acl>` + ace("<D:all/>", grant, read) + `</D:acl>`: "anna ?",
		``: "anna ?",
	} {
		var p davRights
		if err := xml.Unmarshal([]byte(`<D:prop xmlns:D="DAV:"><D:owner><D:href>/principals/users/anna</D:href></D:owner>`+text+`</D:prop>`), &p); err != nil {
			t.Fatal(err)
		}
		if got := shown(p.listed()); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// listRights returns the rights of the objects of a source, as shown, by path.
func listRights(t *testing.T, s Source) (map[string]string, error) {
	t.Helper()
	all := map[string]string{}
	for o, err := range s.Objects(t.Context()) {
		if err != nil {
			return all, err
		}
		if !o.Link {
			all[o.Path] = shown(o.Rights)
		}
	}
	return all, nil
}

func wantRights(t *testing.T, s Source, want map[string]string) {
	t.Helper()
	got, err := listRights(t, s)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// failsWithReason checks that a source whose rights cannot be known fails as a whole, with advice.
func failsWithReason(t *testing.T, s Source, reason string) {
	t.Helper()
	if got, err := listRights(t, s); err == nil || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), "instead of source_rights") {
		t.Errorf("%v, %v", slices.Sorted(maps.Keys(got)), err)
	}
}

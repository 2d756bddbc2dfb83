package source

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/emersion/go-imap/v2"
)

var errNoIMAPRights = errors.New("the server does not say who may read its mailboxes: it has no access control lists (RFC 4314). Name users and groups in the entry instead of source_rights")

// rightsOf returns who may read a mailbox.
func (m *mailAccount) rightsOf(ctx context.Context, box Object) (r *Rights, err error) {
	none := false
	s, err := m.use(ctx, func(s *mailSession) error {
		if none = !s.client.Caps().Has(imap.CapACL); none {
			return nil
		}
		asked := s.begin(ctx, callTime, maxHello)
		mine, err := m.owns(s, box.key)
		if err != nil {
			return asked.end(err)
		}
		data, err := s.client.GetACL(box.key).Wait()
		if err = asked.end(err); err != nil {
			return err
		}
		inbox := strings.EqualFold(box.key, "INBOX") && strings.EqualFold(data.Mailbox, "INBOX")
		if data.Mailbox != box.key && !inbox {
			r = unknownRights("", "the server answers for another mailbox")
			return nil
		}
		owner := ""
		if mine {
			owner = m.user
		}
		r = mailRights(data.Rights, owner)
		return nil
	})
	switch {
	case err != nil && isIMAPAnswer(err):
		return unknownRights("", "the server does not show its access control list; the account must administer the mailbox"), nil
	case err != nil:
		return nil, err
	}
	if m.put(s); none {
		return nil, errNoIMAPRights
	}
	return r, nil
}

// owns reports whether a mailbox is the account's own, and not one that others share.
func (m *mailAccount) owns(s *mailSession, box string) (bool, error) {
	if strings.EqualFold(box, "INBOX") {
		return true, nil
	}
	if !s.client.Caps().Has(imap.CapNamespace) {
		return false, nil
	}
	spaces, err := s.client.Namespace().Wait()
	if err != nil {
		return false, err
	}
	under := func(d imap.NamespaceDescriptor) bool { return strings.HasPrefix(box, d.Prefix) }
	return slices.ContainsFunc(spaces.Personal, under) && !slices.ContainsFunc(slices.Concat(spaces.Other, spaces.Shared), under), nil
}

// groupMarks are the beginnings of identifiers that name groups: of Cyrus, Dovecot and Courier.
var groupMarks = []string{"group:", "group=", "$"}

// The ranks of rules, the strongest first. RFC 4314, section 2, lets a server choose: the rights of all identifiers of a person add
// up, or the nearest one decides. Here a right counts only if it counts both ways.
const (
	rankFirst  = iota // denials of users, and those of groups or everybody that also bind people who are named (Cyrus; Dovecot's # and !)
	rankUser          // users who are named
	rankDenied        // groups listed without the right: in Dovecot, a member who is named keeps it
	rankGroup
	rankAll
	ranks
)

// mailRights returns who may read a mailbox with an access control list. owner is its owner, "" if unknown.
func mailRights(acl map[imap.RightsIdentifier]imap.RightSet, owner string) *Rights {
	var byRank [ranks][]rule
	for id, rights := range acl {
		if r, rank, ok := mailRule(string(id), strings.ContainsRune(rights.String(), rune(imap.RightRead)), owner); ok {
			byRank[rank] = append(byRank[rank], r)
		}
	}
	return firstMatch(slices.Concat(byRank[:]...)).rights()
}

// mailRule returns what an identifier says about reading; ok is false if it says nothing.
func mailRule(id string, reads bool, owner string) (r rule, rank int, ok bool) {
	id, negative := strings.CutPrefix(id, "-")
	if negative && !reads {
		return r, 0, false
	}
	r.deny = negative || !reads
	id, global := strings.CutPrefix(id, "#") // in Dovecot, it outweighs all others
	id, override := strings.CutPrefix(id, "!")
	mark := slices.IndexFunc(groupMarks, func(m string) bool { return strings.HasPrefix(id, m) })
	switch {
	case id == "anonymous", (id == "anyone" || id == "authenticated") && !reads && !global:
		return r, 0, false // it says nothing about reading by people who sign in
	case id == "anyone" || id == "authenticated":
		// In RFC 4314 "anyone" includes the anonymous user, but mail servers have none.
		r.reader, rank = reader{kind: signedIn}, rankAll
	case mark >= 0:
		if r.reader, rank = (reader{aGroup, strings.TrimPrefix(id, groupMarks[mark])}), rankGroup; r.deny {
			rank = rankDenied
		}
	case id == "owner":
		r.reader, rank = reader{aUser, owner}, rankUser
	default:
		r.reader, rank = reader{aUser, strings.TrimPrefix(id, "user=")}, rankUser
	}
	strong := global || override || r.kind == aUser || negative && !strings.HasPrefix(id, "$")
	if r.deny && strong {
		rank = rankFirst
	}
	return r, rank, true
}

package text_test

import (
	"slices"
	"testing"

	"parley/internal/text"
)

func TestSpellings_AreThoseOfTheOtherSideOfTheAtlantic(t *testing.T) {
	for british, american := range map[string]string{
		"colour": "color", "favourites": "favorites", "behavioural": "behavioral", "organisation": "organization", "summarised": "summarized",
		"analyse": "analyze", "licence": "license", "defence": "defense", "offences": "offenses", "practised": "practiced", "centre": "center",
		"kilometres": "kilometers", "litre": "liter", "catalogue": "catalog", "cancelled": "canceled", "travelling": "traveling", "modelling": "modeling",
		"counsellors": "counselors", "enrolment": "enrollment", "fulfil": "fulfill", "instalments": "installments", "paediatric": "pediatric",
		"anaesthetic": "anesthetic", "haemoglobin": "hemoglobin", "anaemia": "anemia", "gynaecologist": "gynecologist", "orthopaedic": "orthopedic",
		"archaeology": "archeology", "oestrogen": "estrogen", "foetus": "fetus", "grey": "gray", "programmes": "programs", "tyres": "tires",
	} {
		if got := text.Spellings(british); !slices.Contains(got, american) {
			t.Errorf("%s: got %v, want %s", british, got, american)
		}
		if got := text.Spellings(american); !slices.Contains(got, british) {
			t.Errorf("%s: got %v, want %s", american, got, british)
		}
	}
	for _, word := range []string{"filling", "filing", "tour", "four", "hour", "later", "meter", "check", "billed", "", "house", "water"} {
		if got := text.Spellings(word); len(got) > 0 {
			t.Errorf("%s: got %v", word, got)
		}
	}
}

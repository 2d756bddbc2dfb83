package pdf

import (
	"testing"

	"parley/internal/extract/extracttest"
)

func TestPDF_SetsRaisedAndLoweredCharactersApart(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"an exponent of a unit":               {"/R 10 Tf 72 700 Td (A hall of 40 m) Tj /R 6 Tf 4 Ts (2) Tj /R 10 Tf 0 Ts ( for rent.) Tj", "A hall of 40 m² for rent."},
		"an index":                            {"/R 10 Tf 72 700 Td (Water is H) Tj /R 6 Tf -2 Ts (2) Tj /R 10 Tf 0 Ts (O and wet.) Tj", "Water is H₂O and wet."},
		"indexes that PDFium takes for lines": {"/R 10 Tf 72 700 Td (The mean x) Tj /R 8 Tf -3 Ts (1) Tj /R 10 Tf 0 Ts (, x) Tj /R 8 Tf -3 Ts (12) Tj /R 10 Tf 0 Ts ( and V) Tj /R 8 Tf -3 Ts (max) Tj /R 10 Tf 0 Ts ( of SO) Tj /R 6 Tf -3 Ts (4) Tj 4 Ts (2) Tj /R 10 Tf 0 Ts ( today.) Tj", "The mean x₁, x₁₂ and Vmax of SO₄² today."},
		"smaller text behind larger":          {"/R 16 Tf 72 700 Td (Form A) Tj /R 8 Tf (4 of 1999) Tj", "Form A4 of 1999"},
		"a footnote mark":                     {"/R 10 Tf 72 700 Td (The fee rose) Tj /R 6 Tf 4 Ts (12) Tj /R 10 Tf 0 Ts ( last year.) Tj", "The fee rose¹² last year."},
		"a footnote":                          {"/R 6 Tf 72 704 Td (11) Tj /R 9 Tf 0 -3 Td 6.7 0 Td (La longitud de la pista.) Tj", "11 La longitud de la pista."},
		"a footnote mark that is a letter":    {"/R 10 Tf 72 700 Td (Our revenue) Tj /R 6 Tf 4 Ts (a) Tj /R 10 Tf 0 Ts ( and 5,000) Tj /R 6 Tf 4 Ts (b) Tj /R 10 Tf 0 Ts ( others.) Tj", "Our revenue^a and 5,000^b others."},
		"letters of a word":                   {"/R 10 Tf 72 700 Td (Le 20) Tj /R 6 Tf 4 Ts (e) Tj /R 10 Tf 0 Ts ( de M) Tj /R 6 Tf 4 Ts (me) Tj /R 10 Tf 0 Ts ( X.) Tj", "Le 20e de Mme X."},
		"a footnote behind a gap":             {"/R 6 Tf 72 704 Td (2) Tj /R 9 Tf 0 -3 Td 8 0 Td (Includes the cost of) Tj 0 -10 Td (moving.) Tj", "2 Includes the cost of moving."},
		"a letter torn off its word":          {"/R 10 Tf 72 700 Td [(The balance) -300 (shee) -250 (t) -300 (of plan) -300 (b) -300 (here.)] TJ", "The balance sheet of plan b here."},
		"an ordinal number":                   {"/R 10 Tf 72 700 Td (On the 1) Tj /R 6 Tf 4 Ts (st) Tj /R 10 Tf 0 Ts ( of May.) Tj", "On the 1st of May."},
		"an isotope":                          {"/R 10 Tf 72 700 Td (Dated with ) Tj /R 6 Tf 4 Ts (14) Tj /R 10 Tf 0 Ts (C at most.) Tj", "Dated with 14C at most."},
		"accents before their letters":        {"/R 10 Tf 72 700 Td [(Un caf) -0 (\\264) 444 (e, ) (\\250) 528 (Uber) ( gar) (\\270) 400 (con)] TJ", "Un café, Über garçon"},
		"accents behind their letters":        {"/R 10 Tf 72 700 Td [(Un cafe) 450 (\\264) -100 ( noir)] TJ", "Un café noir"},
		"accents that stand alone":            {"/R 10 Tf 72 700 Td (The acute \\264 accent and `quotes' stay.) Tj", "The acute ´ accent and `quotes' stay."},
	} {
		t.Run(name, func(t *testing.T) {
			doc := extracttest.Read(t, "a.pdf", extracttest.MakePDF("BT "+c.content+" ET"))
			if got := extracttest.Outline(doc); got != "page 1\nP "+c.want+"\n" {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

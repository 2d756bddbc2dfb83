package builtin

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestWhichOf_IsTheThingThatTheQuestionWantsOneOf(t *testing.T) {
	for question, want := range map[string]string{
		"Which database is the default?":         "database",
		"which Python version is required?":      "version",
		"On which port does the server listen?":  "port",
		"What lamp is on the gate?":              "lamp",
		"Welche Datenbank ist voreingestellt?":   "datenbank",
		"Quelle base est utilisée par défaut ?":  "base",
		"¿Qué puerto usa el servidor?":           "puerto",
		"Quale porta è predefinita?":             "porta",
		"Qual banco de dados é usado?":           "banco",
		"What steps can be taken?":               "",
		"Welche Schritte sind nötig?":            "",
		"Quelles pièces sont demandées ?":        "",
		"What is the default port?":              "",
		"What does the server do?":               "",
		"How do I know which port is the right?": "",
	} {
		got := slices.Sorted(maps.Keys(whichOf(question)))
		want := slices.Sorted(maps.Keys(termSet(want)))
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", question, got, want)
		}
	}
}

func TestAnswer_SaysWhichOneIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		question, text string
		answers        bool
	}{
		{"Which database is the default?", "The backup holds each database as it was. It lists the settings that are not default.", false},
		{"Which database is the default?", "By default, vectors are searched by the database.", false},
		{"Which database is the default?", "The default database is SQLite, which needs no server.", true},
		{"Which database is the default?", "PostgreSQL serves as the default database of clusters.", true},
		{"Which port does the server use?", "Other programs use other ports of the server.", false},
		{"Which database does the server use?", "• Dump databases or stop the server.", false},
		{"Which port does the server use?", "docker build -f deploy/Dockerfile -t server .", false},
		{"Which port does the server use?", "The server will use port 8000 unless told otherwise.", true},
		{"Which database is the default?", "SQLite is the default database.", true},
		{"Which database is the default?", "Copies of it are in the database.", false},
		{"Welche Datenbank nutzt der Server?", "Der Server nutzt jede Datenbank, die ihm genannt wird.", false},
		{"Welche Datenbank nutzt der Server?", "Der Server nutzt als Datenbank PostgreSQL in Version 15.", true},
		{"Quel port utilise le serveur ?", "Le serveur utilise un port libre quand il démarre.", false},
		{"Quel port utilise le serveur ?", "Le serveur utilise le port 8000 quand il démarre.", true},
	} {
		n := needFor(about(c.question))
		u := unit{key: c.text, text: c.text}
		if got := n.identifies(&u, n.wanted.which); got != c.answers {
			t.Errorf("%s: %s: %v", c.question, c.text, got)
		}
	}
	got := quotesOf(t, about("Which database is the default?", passage("a.md", "The backup holds each database as it was at one moment. It lists the settings that are not the default.")))
	if !strings.HasPrefix(got, unknown) {
		t.Errorf("an answer that does not say which one: %s", got)
	}
}

// A row says which one only if it, or what stands above it, is about such things.
func TestAnswer_ARowOfOtherThingsDoesNotSayWhichOne(t *testing.T) {
	rows := passage("settings.md", "name: data; default: kestrel-data; meaning: Folder of all that Kestrel stores.\nname: addr; default: 127.0.0.1:8000; meaning: Address on which Kestrel listens.")
	if got := quotesOf(t, about("Which port does Kestrel use?", rows)); !strings.HasPrefix(got, unknown) {
		t.Errorf("a row of something else: %s", got)
	}
	rows.Text += "\nname: metrics; default: 9090; meaning: Port that Kestrel uses for metrics."
	if got := quotesOf(t, about("Which port does Kestrel use?", rows)); !strings.Contains(got, "9090") {
		t.Errorf("the row of the port is not quoted: %s", got)
	}
}

// What only mentions a thing does not say what it is.
func TestAnswer_AMentionIsNoDefinition(t *testing.T) {
	mention := passage("install.md", "Kestrel creates the database if its user may, which usually takes a superuser. Restart Kestrel at night.")
	for _, question := range []string{"What is Kestrel?", "What's Kestrel", "Was ist Kestrel?"} {
		if got := quotesOf(t, about(question, mention)); !isRefusal(got) {
			t.Errorf("%s is answered with a mention: %s", question, got)
		}
	}
	for text, headings := range map[string][]string{
		"Kestrel is a scheduler for small clinics.":                    nil,
		"It schedules the visits of small clinics and sends invoices.": {"Kestrel"},
		"## What is Kestrel?\n\nA scheduler for small clinics.":        nil,
	} {
		if got := quotesOf(t, about("What is Kestrel?", mention, passage("about.md", text, headings...))); !strings.Contains(got, "clinics") {
			t.Errorf("%q does not say what it is: %s", text, got)
		}
	}
}

func TestAnswer_OneLetterAsksNothing(t *testing.T) {
	p := passage("parts.md", "The letter x marks the spot of the treasure on each map.")
	for _, question := range []string{"x", "x?", " 7 ", "?", ""} {
		if got := quotesOf(t, about(question, p)); !isRefusal(got) {
			t.Errorf("%q is answered with %s", question, got)
		}
	}
}

func TestAnswer_HowLongSomethingIs(t *testing.T) {
	for text, want := range map[string]bool{
		"The update of testing runs twice a day.":             true, // a number and a unit: the scorer has to tell
		"Die Aktualisierung wird zweimal täglich gestartet.":  false,
		"Sid is never released, see 4.6.":                     false,
		"A package stays there for five to ten working days.": true,
		"Ein Paket bleibt dort mindestens zehn Tage.":         true,
		"Die Frist beträgt sechs Monate.":                     true,
		"Il reste jusqu'à la fin du projet.":                  true,
		"La durée est de 15 jours.":                           true,
		"El plazo es de tres meses.":                          true,
		"Il termine è di due settimane.":                      true,
		"O prazo é de um ano.":                                true,
		"试用期为三个月。":                                            true,
		"The line may have 72 characters.":                    true,
	} {
		if how := wantedBy("How long is it?"); how.given(text) > 0 != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
	for _, question := range []string{"How long may it stay?", "Wie lange bleibt es?", "试用期多久？"} {
		if wantedBy(question).quantity != duration {
			t.Errorf("%s wants no duration", question)
		}
	}
	if wantedBy("多久备份一次？").quantity == duration {
		t.Error("how often wants a duration")
	}
}

// \b stands beside ASCII letters only: words that begin or end with another letter need something else.
func TestWanted_WordsThatBeginOrEndWithOtherLetters(t *testing.T) {
	for question, w := range map[string]wanted{
		"Wie groß sollte die Partition sein?": {quantity: anyNumber},
		"Wie heiß wird der Ofen?":             {quantity: measure},
	} {
		if got := wantedBy(question); got.quantity != w.quantity {
			t.Errorf("%s wants something else", question)
		}
	}
	if !asksTime.MatchString("À quelle heure ouvre la mairie ?") || !aTime.MatchString("Siamo aperti ogni lunedì mattina") || aTime.MatchString("un'idea qualunque") {
		t.Error("times in French and Italian")
	}
	if !permits.MatchString("C'est autorisé ici.") || !askingHeading.MatchString("Où se garer") || !askingHeading.MatchString("Qué llevar") {
		t.Error("words with accents at their ends")
	}
}

func TestPieces_EntriesOfATableOfContentsAnswerNothing(t *testing.T) {
	text := "6 | Using the installer | 40\n6.1 | How the installer works | 40\n6.3.9.1 | Saving the installation logs | 60\n\nThe logs are saved in the folder installer."
	p := passage("a.pdf", text)
	for _, q := range pieces(&p) {
		quotable := q.kind == statement
		if want := strings.HasPrefix(text[q.Start:], "The logs"); quotable != want {
			t.Errorf("%q is quotable: %v", text[q.Start:q.End], quotable)
		}
	}
	p = passage("a.csv", "1.5 | Heron | 20\n2.5 | Gannet | 12")
	for _, q := range pieces(&p) {
		if q.kind != statement {
			t.Errorf("the row %q is no statement", p.Text[q.Start:q.End])
		}
	}
}

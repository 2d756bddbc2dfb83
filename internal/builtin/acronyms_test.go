package builtin

import (
	"strings"
	"testing"
)

func TestAcronyms_AreThoseThatASentenceSpellsOut(t *testing.T) {
	for in, want := range map[string]string{
		"The Key Performance Indicators (KPIs) are public.":              "KPIs",
		"KPI (Key Performance Indicator) is a number.":                   "KPI",
		"The Department of Defense (DOD) and the World Bank (bank).":     "DOD",
		"The Department of State (DS) was asked.":                        "DS",
		"An Out-of-Pocket Maximum (OPM) and \u201cHigh Risk\u201d (HR).": "OPM HR",
		"The HMO (see below) and the plan (PPO) differ.":                 "",
		"Eleven times (ET) is not said.":                                 "ET",
		"(KPI) begins the line, () is empty, (A) is short.":              "",
		"Words that do not fit (ABC).":                                   "",
		"Заработная плата (ЗП) выплачивается.":                           "ЗП",
	} {
		if got := strings.Join(acronyms(in), " "); got != want {
			t.Errorf("%s\n got %q\nwant %q", in, got, want)
		}
	}
}

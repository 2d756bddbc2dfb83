package text

import "testing"

func TestIsRefusal_LooksAtTheBeginningOfAnAnswer(t *testing.T) {
	for answer, want := range map[string]bool{
		"I don't know.": true, "I’m sorry, but I don’t know who owns the boat.": true, "**I do not know**; the sources are silent": true,
		"Sorry, I don't know.": true, "Ich weiß es nicht.": true, "我不知道。": true, "Не знаю.": true,
		"": false, "You don't know the code until it is sent. [a.md]": false, "I don't knowingly share it.": false,
		"The staff say: I don't know. [a.md]": false, "政府不知道这件事。": false, "Петров сказал: не знаю.": false,
	} {
		if got := IsRefusal(answer); got != want {
			t.Errorf("%q: %v, want %v", answer, got, want)
		}
	}
}

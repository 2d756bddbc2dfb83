package text

import "parley/internal/lazyregexp"

// IsRefusal reports whether an answer begins by saying that its writer does not know, in one of a few languages. Such an answer
// may then name what comes near.
func IsRefusal(answer string) bool { return refusals.MatchString(answer) }

var refusals = lazyregexp.New(`(?i)^[^\pL\pN]*(?:(?:i['’]m |i am )?sorry\W+(?:but )?)?(?:i (?:don['’]t|do not) know\b|das weiß ich nicht|ich weiß (?:es |das )?nicht|` +
	`je ne (?:le )?sais pas|no lo sé|non lo so|não sei|dat weet ik niet|ik weet (?:het|dat) niet|nie wiem|(?:я (?:этого )?)?не знаю|` +
	`我?不知道|わかりません|分かりません|모르겠습니다)`)

package upload

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"parley/internal/lazyregexp"
	"parley/internal/text"
)

// maxName is the maximum length of a file name in bytes, which leaves room for the suffix of its
// sidecar.
const maxName = 255 - len(aboutSuffix)

// NameError says why a file cannot have the name that a client gave.
type NameError struct {
	Name string // the part that can be shown
	Why  string
}

func (e *NameError) Error() string { return fmt.Sprintf("the file name %q %s", e.Name, e.Why) }

// Clean makes a file name of the name that a client sent. It removes folders. Characters that would end
// a citation, have a meaning in a URL or path, or are invisible become "_", so that the file can be
// cited by this name. The name is in Unicode's form NFC. The error is a *NameError.
func Clean(name string) (string, error) {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = norm.NFC.String(strings.ToValidUTF8(name, "_"))
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`[]#?%<>"|:*`, r) || unicode.IsControl(r) || text.IsUnseen(r) || r == unicode.ReplacementChar {
			return '_'
		}
		return r
	}, name)
	name = strings.TrimRightFunc(strings.TrimSpace(name), func(r rune) bool { return r == '.' || unicode.IsSpace(r) })
	if err := check(name); err != nil {
		return "", err
	}
	return name, nil
}

// check reports why a name cannot be a result of Clean.
func check(name string) error {
	var why string
	lower := strings.ToLower(name)
	switch {
	case name == "":
		why = "is empty"
	case len(name) > maxName:
		why = fmt.Sprintf("is longer than %d bytes", maxName)
	case strings.ContainsAny(name, "/\\\x00") || !utf8.ValidString(name):
		why = "is not the name of a file"
	case strings.HasPrefix(name, ".") || strings.HasPrefix(name, "~$"):
		why = "belongs to a hidden file, and hidden files are not indexed"
	case lower == "parley.yaml" || lower == "parley.yml" || strings.HasSuffix(lower, ".parley.yaml") || strings.HasSuffix(lower, ".parley.yml"):
		why = "belongs to a file that describes others, and those cannot be uploaded"
	case lower == "node_modules" || lower == "parley-data" || deviceName(lower):
		why = "is reserved"
	default:
		return nil
	}
	if len(name) > 60 {
		name = strings.ToValidUTF8(name[:60], "") + "…"
	}
	return &NameError{Name: name, Why: why}
}

func valid(name string) bool { return check(name) == nil }

// device matches names that Windows treats as devices, with any extension.
var device = lazyregexp.New(`^(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?$`)

func deviceName(name string) bool { return device.MatchString(name) }

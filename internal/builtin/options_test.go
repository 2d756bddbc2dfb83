package builtin

import (
	"strings"
	"testing"
)

// The descriptions of options share most of their words; the option itself tells them apart.
func TestAnswer_IsAboutTheOptionThatIsAskedFor(t *testing.T) {
	const manual = "Call it as packer [ -cfs ] or as unpack [ -s ] with the names of files.\n\n-c --stdout:\n\nCompress or decompress to standard output.\n\n-f --force:\n\nForce overwrite of output files. Normally the packer will not overwrite existing files, an option that scripts need.\n\n" +
		"-s --small:\n\nReduce memory usage, for compression, decompression and testing. Files are decompressed at half the speed.\n\n" +
		"--dry-run:\n\nSay what would be done, and change nothing."
	for question, want := range map[string]string{
		"What does the -s option of the packer do?":   "Reduce memory usage",
		"What does -f do with files?":                 "Force overwrite",
		"What does \"--dry-run\" do with files?":      "Say what would be done",
		"What does the packer not do with my files?":  "will not overwrite",
		"What does the -x option do to output files?": "overwrite",
	} {
		if got := quotesOf(t, about(question, passage("manual.html", manual, "Options"))); !strings.Contains(got, want) {
			t.Errorf("%s: %s", question, got)
		}
	}
}

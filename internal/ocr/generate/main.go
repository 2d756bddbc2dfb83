// Command generate makes the files that package ocr carries from a package of npm and one of Debian:
//
//	npm pack tesseract.js-core@7.0.0 && tar xf tesseract.js-core-7.0.0.tgz
//	apt-get download tesseract-ocr-eng=1:4.1.0-2 && dpkg -x tesseract-ocr-eng_*.deb unpacked
//	go run ./internal/ocr/generate package unpacked internal/ocr/data
//
// It refuses files with another checksum than those below.
package main

import (
	"crypto/sha256"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// source is a file of a package.
type source struct {
	folder int // index of the argument
	path   string
	sha256 string
	out    string
}

// Both packages are under the Apache License, Version 2.0; see NOTICE.
var sources = []source{
	{1, "tesseract-core-simd-lstm.wasm", "34e8d50cac216427d86bf397d610fdd9f49492539bbcdfbfccc4eda20c810bea", "tesseract.wasm.zst"},
	{2, "usr/share/tesseract-ocr/5/tessdata/eng.traineddata", "7d4322bd2a7749724879683fc3912cb542f19906c83bcc1a52132556427170b2", "eng.traineddata.zst"},
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: generate FOLDER-OF-TESSERACT.JS-CORE FOLDER-OF-TESSERACT-OCR-ENG FOLDER-OF-DATA")
	}
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range sources {
		data, err := os.ReadFile(filepath.Join(os.Args[s.folder], s.path))
		if err != nil {
			log.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(data)); sum != s.sha256 {
			log.Fatalf("%s has the checksum %s, not %s", s.path, sum, s.sha256)
		}
		if err := os.WriteFile(filepath.Join(os.Args[3], s.out), packer.EncodeAll(data, nil), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

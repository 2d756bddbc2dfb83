package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"strings"
)

func makeText(passages []string) ([]byte, error) {
	return []byte(strings.Join(passages, "\n\n") + "\n"), nil
}

func makeSVG(passages []string) ([]byte, error) {
	return []byte(`<svg xmlns="http://www.w3.org/2000/svg"><text>` + strings.Join(passages, "</text><text>") + "</text></svg>"), nil
}

func makeHTML(passages []string) ([]byte, error) {
	return []byte("<!DOCTYPE html><html><head><title>Report</title></head><body><main><p>" +
		strings.Join(passages, "</p>\n<p>") + "</p></main></body></html>"), nil
}

func makeCSV(passages []string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("number,text\n")
	for i, p := range passages {
		fmt.Fprintf(&b, "%d,\"%s\"\n", i, p)
	}
	return b.Bytes(), nil
}

// numbered is a passage as a record.
type numbered struct {
	Number int    `json:"number"`
	Text   string `json:"text"`
}

func makeJSON(passages []string) ([]byte, error) {
	rows := make([]numbered, len(passages))
	for i, p := range passages {
		rows[i] = numbered{i, p}
	}
	return json.Marshal(rows)
}

func makeRTF(passages []string) ([]byte, error) {
	return []byte(`{\rtf1\ansi\deff0 {\fonttbl {\f0 Times;}}` + "\n" + strings.Join(passages, "\\par\n") + "}"), nil
}

func makeEML(passages []string) ([]byte, error) {
	return []byte("From: ann@example.com\r\nTo: bob@example.com\r\nSubject: Report\r\nMIME-Version: 1.0\r\n" +
		"Content-Type: text/plain; charset=utf-8\r\n\r\n" + strings.Join(passages, "\r\n\r\n") + "\r\n"), nil
}

func makeTSV(passages []string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("number\ttext\n")
	for i, p := range passages {
		fmt.Fprintf(&b, "%d\t%s\n", i, p)
	}
	return b.Bytes(), nil
}

func makeJSONL(passages []string) ([]byte, error) {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	for i, p := range passages {
		if err := lines.Encode(numbered{i, p}); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func makeXML(passages []string) ([]byte, error) {
	var b strings.Builder
	for i, p := range passages {
		fmt.Fprintf(&b, "<item id=\"%d\"><text>%s</text></item>\n", i, html.EscapeString(p))
	}
	return []byte(xmlHead + "<report>" + b.String() + "</report>"), nil
}

// makeWiki makes an article with an infobox, sections and links.
func makeWiki(passages []string) ([]byte, error) {
	var b strings.Builder
	b.WriteString("{{Infobox report\n| name = Report\n| pages = 20\n}}\n")
	for i, p := range passages {
		if i%perPage == 0 {
			fmt.Fprintf(&b, "\n== Part %d ==\n", i/perPage+1)
		}
		fmt.Fprintf(&b, "\n%s See the [[Report|''whole'' report]].<ref>Page %d</ref>\n", p, i)
	}
	return []byte(b.String()), nil
}

func makeWikiDump(passages []string) ([]byte, error) {
	var b strings.Builder
	for i, part := range shares(passages) {
		article, err := makeWiki(part)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "<page><title>Article %d</title><ns>0</ns><revision><text>%s</text></revision></page>\n", i, html.EscapeString(string(article)))
	}
	return []byte(`<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">` + b.String() + "</mediawiki>"), nil
}

func makeMailbox(passages []string) ([]byte, error) {
	var b bytes.Buffer
	for _, part := range shares(passages) {
		mail, err := makeEML(part)
		if err != nil {
			return nil, err
		}
		b.WriteString("From ann@example.com Thu Jan  1 00:00:00 2026\r\n")
		b.Write(mail)
		b.WriteString("\r\n")
	}
	return b.Bytes(), nil
}

// containerParts is the number of documents in a container file.
const containerParts = 6

// shares divides passages among the documents of a container.
func shares(passages []string) (parts [][]string) {
	for i := range containerParts {
		parts = append(parts, passages[i*len(passages)/containerParts:(i+1)*len(passages)/containerParts])
	}
	return parts
}

func makeNotebook(passages []string) ([]byte, error) {
	type cell struct {
		Type   string   `json:"cell_type"`
		Source []string `json:"source"`
	}
	cells := make([]cell, len(passages))
	for i, p := range passages {
		cells[i] = cell{"markdown", []string{p}}
	}
	return json.Marshal(map[string]any{"nbformat": 4, "cells": cells})
}

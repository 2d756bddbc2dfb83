// Package ragchat speaks the Chat-with-RAG API.
package ragchat

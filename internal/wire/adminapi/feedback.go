package adminapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"parley/internal/transcript"
	"parley/internal/wire"
)

// rating is somebody's feedback on an answer. It omits the question and the answer, which belong to that person.
type rating struct {
	At     string `json:"at"`
	User   string `json:"user"`
	Good   bool   `json:"good"`
	Reason string `json:"reason"`
	Model  string `json:"model"`
	// Title and Link are "" unless the caller may open the chat, because it is their own or its owner has shared it by link.
	Title string `json:"title"`
	Link  string `json:"link"` // relative to the web page
}

// The default and maximum number of ratings in a response.
const (
	usualRatings = 200
	mostRatings  = 1000
)

// longestReason is the length in bytes at which a reason is cut off, since clients may store texts of any length.
const longestReason = 2000

// feedback handles GET /api/feedback?rating=&limit=. Ratings of the chat that was changed last come first.
func (h *Handler) feedback(w http.ResponseWriter, r *wire.Request) error {
	values := r.URL.Query()
	only, limit := values.Get("rating"), usualRatings
	if only != "" && only != "good" && only != "bad" {
		return wire.Invalidf("rating must be good or bad")
	}
	if text := values.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostRatings {
			return wire.Invalidf("limit must be a number from 1 to %d", mostRatings)
		}
		limit = n
	}
	out := struct {
		Ratings []rating `json:"ratings"`
		More    bool     `json:"more"`
	}{Ratings: []rating{}}
	err := h.cfg.Rated(r.Context(), func(scope transcript.Scope, hit transcript.Hit) bool {
		one, ok := ratingOf(hit.Message)
		if !ok || only != "" && one.Good != (only == "good") {
			return true
		}
		if len(out.Ratings) == limit {
			out.More = true
			return false
		}
		one.User = scope.Owner
		if one.At == "" {
			one.At = hit.Chat.UpdatedAt.Format(time.RFC3339)
		}
		if one.Link = linkOf(scope, hit.Chat, r.Who.Subject); one.Link != "" {
			one.Title = hit.Chat.Title
		}
		out.Ratings = append(out.Ratings, one)
		return true
	})
	if err != nil {
		return err
	}
	return wire.Reply(w, http.StatusOK, out)
}

// linkOf returns the link with which a caller can read a chat on the web page, or "" if they may not.
func linkOf(scope transcript.Scope, c transcript.Chat, subject string) string {
	switch {
	case scope.Kind == transcript.ChatUI && scope.Owner == subject:
		return "#/chat/" + url.PathEscape(c.ID)
	case c.Link.ID != "":
		return "#/shared/" + url.PathEscape(c.Link.ID)
	}
	return ""
}

// ratedMessage has the members of a stored message that a rating is read from: Feedback is from "On Your Data" clients, and
// Parley.Feedback from the web page.
type ratedMessage struct {
	CreatedAt string `json:"createdAt"`
	Feedback  string `json:"feedback"`
	Parley    struct {
		Model    string `json:"model"`
		Feedback *struct {
			Good   bool   `json:"good"`
			Reason string `json:"reason"`
		} `json:"feedback"`
	} `json:"parley"`
}

// ratingOf returns the rating in a message, or false if it has none. Clients write messages, so a member of the wrong type counts
// as missing.
func ratingOf(m transcript.Message) (rating, bool) {
	var stored ratedMessage
	if err := json.Unmarshal(m.Body, &stored); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
		return rating{}, false
	}
	out := rating{Model: short(stored.Parley.Model)}
	if at, err := time.Parse(time.RFC3339, stored.CreatedAt); err == nil {
		out.At = at.UTC().Format(time.RFC3339)
	}
	said := strings.ToLower(strings.TrimSpace(stored.Feedback))
	switch given := stored.Parley.Feedback; {
	case given != nil:
		out.Good, out.Reason = given.Good, short(given.Reason)
	case said == "" || said == "neutral":
		return rating{}, false
	case said == "positive":
		out.Good = true
	case said != "negative":
		out.Reason = short(stored.Feedback)
	}
	return out, true
}

func short(text string) string {
	if len(text) <= longestReason {
		return text
	}
	return strings.ToValidUTF8(text[:longestReason], "") + "…"
}

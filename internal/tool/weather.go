package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"parley/internal/llm"
)

// WeatherOptions configures the weather service. Zero fields mean Open-Meteo, which needs no key
// for non-commercial use (https://open-meteo.com/en/docs).
type WeatherOptions struct {
	GeocodingURL string // https://geocoding-api.open-meteo.com/v1/search
	ForecastURL  string // https://api.open-meteo.com/v1/forecast
}

// Weather returns a tool that returns the current weather of a place and the forecast.
func Weather(opts WeatherOptions) Tool {
	w := weather{newService(), WeatherOptions{
		GeocodingURL: cmp.Or(opts.GeocodingURL, "https://geocoding-api.open-meteo.com/v1/search"),
		ForecastURL:  cmp.Or(opts.ForecastURL, "https://api.open-meteo.com/v1/forecast"),
	}}
	return Tool{
		Tool: llm.Tool{
			Name:        "get_weather",
			Description: "Returns the current weather of a place and the forecast for today and the next two days.",
			Parameters:  json.RawMessage(`{"type":"object","properties":{"location":{"type":"string","description":"a city, with its country where the name is not unique, such as Paris, France"}},"required":["location"],"additionalProperties":false}`),
		},
		Run: w.run,
	}
}

type weather struct {
	*service
	opts WeatherOptions
}

type place struct {
	Name      string  `json:"name"`
	Admin     string  `json:"admin1"`
	Country   string  `json:"country"`
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// forecast is the part of the reply that Parley uses (API "forecast", in its default units).
type forecast struct {
	Timezone string `json:"timezone"`
	Current  struct {
		Time        string  `json:"time"`
		Temperature float64 `json:"temperature_2m"`
		Apparent    float64 `json:"apparent_temperature"`
		Humidity    float64 `json:"relative_humidity_2m"`
		Rain        float64 `json:"precipitation"`
		Wind        float64 `json:"wind_speed_10m"`
		Code        int     `json:"weather_code"`
	} `json:"current"`
	Daily struct {
		Time []string  `json:"time"`
		Code []int     `json:"weather_code"`
		Max  []float64 `json:"temperature_2m_max"`
		Min  []float64 `json:"temperature_2m_min"`
		Rain []float64 `json:"precipitation_sum"`
	} `json:"daily"`
}

func (w weather) run(ctx context.Context, call Call) (Result, error) {
	args, err := arguments[struct {
		Location string `json:"location"`
	}](call)
	if err != nil {
		return Result{}, err
	}
	location := strings.TrimSpace(args.Location)
	if location == "" || len(location) > 200 {
		return Result{}, failf("The location is empty or too long.")
	}
	p, err := w.find(ctx, location)
	if err != nil {
		return Result{}, err
	}
	f, err := w.forecast(ctx, p)
	if err != nil {
		return Result{}, err
	}
	return Result{Text: f.describe(p)}, nil
}

// find looks up a place by its name. For "Paris, France" it looks up Paris and takes the first
// result in a country or region of that name.
func (w weather) find(ctx context.Context, location string) (place, error) {
	name, region, _ := strings.Cut(location, ",")
	region = strings.TrimSpace(region)
	var reply struct {
		Results []place `json:"results"`
	}
	q := url.Values{"name": {strings.TrimSpace(name)}, "count": {"10"}, "language": {"en"}, "format": {"json"}}
	if err := w.get(ctx, w.opts.GeocodingURL, q, &reply); err != nil {
		return place{}, err
	}
	for _, p := range reply.Results {
		if region == "" || strings.EqualFold(p.Country, region) || strings.EqualFold(p.Admin, region) {
			return p, nil
		}
	}
	if len(reply.Results) == 0 {
		return place{}, failf("There is no place with this name.")
	}
	return reply.Results[0], nil
}

func (w weather) forecast(ctx context.Context, p place) (forecast, error) {
	var f forecast
	err := w.get(ctx, w.opts.ForecastURL, url.Values{
		"latitude": {coordinate(p.Latitude)}, "longitude": {coordinate(p.Longitude)}, "timezone": {"auto"}, "forecast_days": {"3"},
		"current": {"temperature_2m,apparent_temperature,relative_humidity_2m,precipitation,wind_speed_10m,weather_code"},
		"daily":   {"weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum"},
	}, &f)
	return f, err
}

func coordinate(x float64) string { return strconv.FormatFloat(x, 'f', 4, 64) }

func (w weather) get(ctx context.Context, base string, q url.Values, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"?"+q.Encode(), nil)
	if err != nil {
		return fmt.Errorf("address the weather service: %w", err)
	}
	return w.call(req, out)
}

func (f forecast) describe(p place) string {
	var b strings.Builder
	c := f.Current
	fmt.Fprintf(&b, "%s at %s (%s): %s, %.1f °C, feels like %.1f °C, humidity %.0f %%, precipitation %.1f mm, wind %.0f km/h.",
		join(p.Name, p.Admin, p.Country), c.Time, f.Timezone, weatherCode(c.Code), c.Temperature, c.Apparent, c.Humidity, c.Rain, c.Wind)
	d := f.Daily
	for i := range min(len(d.Time), len(d.Code), len(d.Max), len(d.Min), len(d.Rain)) {
		fmt.Fprintf(&b, "\n%s: %s, %.0f to %.0f °C, precipitation %.1f mm.", d.Time[i], weatherCode(d.Code[i]), d.Min[i], d.Max[i], math.Abs(d.Rain[i]))
	}
	return b.String()
}

// join joins the names that are neither empty nor repeated.
func join(names ...string) string {
	var out []string
	for _, n := range names {
		if n != "" && (len(out) == 0 || out[len(out)-1] != n) {
			out = append(out, n)
		}
	}
	return strings.Join(out, ", ")
}

// weatherCode describes a code of WMO table 4677 as Open-Meteo uses it.
func weatherCode(code int) string {
	switch {
	case code == 0:
		return "clear sky"
	case code == 1:
		return "mainly clear"
	case code == 2:
		return "partly cloudy"
	case code == 3:
		return "overcast"
	case code == 45 || code == 48:
		return "fog"
	case code >= 51 && code <= 57:
		return "drizzle"
	case code >= 61 && code <= 67:
		return "rain"
	case code >= 71 && code <= 77:
		return "snow"
	case code >= 80 && code <= 82:
		return "rain showers"
	case code == 85 || code == 86:
		return "snow showers"
	case code >= 95 && code <= 99:
		return "thunderstorm"
	}
	return "unknown weather"
}

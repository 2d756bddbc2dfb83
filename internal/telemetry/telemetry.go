// Package telemetry sends traces and metrics to an OpenTelemetry collector.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"parley/internal/ident"
	"parley/internal/trace"
)

// Options configure the export.
type Options struct {
	Endpoint string              // base URL of a collector that speaks OTLP over HTTP; traces go to its /v1/traces, metrics to its /v1/metrics
	Content  bool                // spans of model calls hold the messages
	Version  string              // of the program
	Metrics  prometheus.Gatherer // the metrics to send once a minute; nil for none
	Log      *slog.Logger        // for failures of the export
}

// Validate reports why a text cannot be an endpoint.
func Validate(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return fmt.Errorf("%q is not the URL of a collector, such as http://localhost:4318", endpoint)
	}
	return nil
}

// Start begins to trace, for the whole process. The returned function sends what is left, within the time of
// its context, and ends the tracing. Sampling, headers and resource attributes are those of OpenTelemetry's
// own environment variables (OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS, OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME).
//
// An unreachable collector never delays a turn: spans wait in a bounded queue and are dropped when it is full.
func Start(ctx context.Context, o Options) (stop func(context.Context) error, err error) {
	base, err := url.Parse(o.Endpoint)
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(&complaints{log: o.Log})
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "parley"), attribute.String("service.version", o.Version), attribute.String("service.instance.id", ident.New())),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	spans, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(base.JoinPath("v1/traces").String()))
	if err != nil {
		return nil, err
	}
	traces := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(newTogether(sdktrace.NewBatchSpanProcessor(spans))), sdktrace.WithResource(about))
	ends := []func(context.Context) error{traces.Shutdown}
	if o.Metrics != nil {
		numbers, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(base.JoinPath("v1/metrics").String()))
		if err != nil {
			return nil, errors.Join(err, traces.Shutdown(ctx))
		}
		reader := metric.NewPeriodicReader(numbers, metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(o.Metrics))))
		ends = append(ends, metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(about)).Shutdown)
	}
	trace.Enable(traces.Tracer("parley"), o.Content)
	return func(ctx context.Context) error {
		trace.Enable(nil, false)
		var errs []error
		for _, end := range ends {
			errs = append(errs, end(ctx))
		}
		return errors.Join(errs...)
	}, nil
}

// complaints logs failures of the export, at most one a minute.
type complaints struct {
	log  *slog.Logger
	last atomicTime
}

// Handle implements otel.ErrorHandler.
func (c *complaints) Handle(err error) {
	if c.last.passed(time.Minute) {
		c.log.Warn("traces or metrics could not be sent to the collector", "error", err)
	}
}

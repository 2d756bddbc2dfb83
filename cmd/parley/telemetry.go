package main

import (
	"context"
	"time"

	"parley/internal/server"
	"parley/internal/telemetry"
)

// trace begins to send traces and metrics to the configured collector, if any. The returned function sends
// what is left.
func (p *program) trace(ctx context.Context, metrics *server.Metrics) (func(), error) {
	if p.config.Telemetry == "" {
		return func() {}, nil
	}
	stop, err := telemetry.Start(ctx, telemetry.Options{
		Endpoint: p.config.Telemetry, Content: p.config.Traced, Version: release, Metrics: metrics.Gatherer(), Log: p.log,
	})
	if err != nil {
		return nil, usagef("telemetry.endpoint: %w", err)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := stop(ctx); err != nil {
			p.log.Warn("the last traces and metrics could not be sent", "error", err)
		}
	}, nil
}

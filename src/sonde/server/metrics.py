"""Prometheus metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sonde.storage import StudySummary
from sonde.trials import State


class Metrics:
    """What the service counts while it runs; the studies are counted when somebody looks."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "sonde_requests", "Requests by route and status.", ["method", "route", "status"], registry=self._registry
        )
        self.seconds = Histogram(
            "sonde_request_seconds", "Seconds of a request, waiting included.", ["route"], registry=self._registry
        )
        self.suggestion = Histogram(
            "sonde_suggestion_seconds", "Seconds of a batch of suggestions.", ["study"], registry=self._registry,
            buckets=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, float("inf")),
        )  # fmt: skip

    def text(self, studies: Sequence[StudySummary], waiting: Callable[[str], int]) -> bytes:
        """Return all metrics as text; ``waiting`` returns how many asks of a study wait."""
        there = CollectorRegistry()
        there.register(_Studies(studies, waiting))
        return generate_latest(self._registry) + generate_latest(there)


class _Studies(Collector):
    """Gauges of what the database has now."""

    def __init__(self, studies: Sequence[StudySummary], waiting: Callable[[str], int]) -> None:
        self._studies, self._waiting = studies, waiting

    def collect(self) -> Iterable[Metric]:
        """Return the gauges."""
        trials = GaugeMetricFamily("sonde_trials", "Trials by study and state.", labels=["study", "state"])
        queue = GaugeMetricFamily("sonde_queue_length", "Trials that wait to be asked for.", labels=["study"])
        asks = GaugeMetricFamily("sonde_waiting_asks", "Asks that wait for a trial.", labels=["study"])
        for summary in self._studies:
            name = summary.header.name
            for state in State:
                trials.add_metric([name, state.value], summary.counts.get(state, 0))
            queue.add_metric([name], summary.counts.get(State.WAITING, 0))
            asks.add_metric([name], self._waiting(name))
        return [trials, queue, asks]

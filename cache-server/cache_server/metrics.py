"""The metrics of the server, in Prometheus' format."""

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from cache_server.buckets import Buckets
from cache_server.index import Row, Usage

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_METHODS = frozenset({"GET", "HEAD", "PUT"})


class Metrics:
    """The metrics of one server. Labels have values of a known set alone."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = self._counter("requests", "Requests", "method", "bucket", "code")
        self._seconds = Histogram(
            "cache_request_seconds",
            "Time until the answer to a request begins; of a PUT that is all of it",
            ("method",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.received = self._counter("received_bytes", "Bytes of objects kept", "bucket")
        self.sent = self._counter("sent_bytes", "Bytes of objects sent to the end", "bucket")
        self.hits = self._counter("hits", "GETs of an object that is there", "bucket")
        self.misses = self._counter("misses", "GETs of an object that is not", "bucket")
        self._evicted = self._counter("evicted_objects", "Objects evicted", "bucket")
        self._evicted_bytes = self._counter("evicted_bytes", "Space evicted", "bucket")
        self._used = self._gauge("used_bytes", "Space that a bucket takes", "bucket")
        self._quota = self._gauge("quota_bytes", "Space that a bucket may take", "bucket")
        self._objects = self._gauge("objects", "Objects of a bucket", "bucket")
        self.capacity = self._gauge("capacity_bytes", "Space that all buckets may take")
        self.reserved = self._gauge("reserved_bytes", "Space that uploads hold")
        self.lost = self._counter("lost_objects", "Objects whose file was not as it must be")
        self.orphans = self._counter("orphans_removed", "What a crash left behind", "kind")
        self.reviews = self._counter("token_reviews", "Tokens that were reviewed", "result")
        self.review_hits = self._counter("token_cache_hits", "Tokens whose review was known")
        self.reviews_spared = self._counter(
            "token_reviews_spared", "Tokens refused for what they say, without a review"
        )
        self.refused_connections = self._counter(
            "refused_connections", "Connections beyond the most that there may be"
        )
        self.reloads = self._counter("config_reloads", "Changes of the configuration", "result")
        self.config_good = self._gauge(
            "config_last_reload_successful", "1 where the server goes by the file as it is"
        )
        for result in ("accepted", "refused", "error"):
            self.reviews.labels(result)
        for result in ("good", "bad"):
            self.reloads.labels(result)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        """Something that is counted; Prometheus sees it as ``cache_<name>_total``."""
        return Counter(f"cache_{name}", text, labels, registry=self._registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        """Something that is so now; Prometheus sees it as ``cache_<name>``."""
        return Gauge(f"cache_{name}", text, labels, registry=self._registry)

    def count_request(self, method: str, bucket: str, code: int, seconds: float) -> None:
        """A request is answered; ``bucket`` is empty where there is no such bucket."""
        method = method if method in _METHODS else "other"
        self._requests.labels(method, bucket, str(code)).inc()
        self._seconds.labels(method).observe(seconds)

    def count_evicted(self, rows: Iterable[Row]) -> None:
        """Objects are evicted."""
        for row in rows:
            self._evicted.labels(row.bucket).inc()
            self._evicted_bytes.labels(row.bucket).inc(row.space)

    def show_buckets(self, buckets: Buckets, usage: Mapping[str, Usage]) -> None:
        """Set what there is of each bucket now; those that are gone are told no more."""
        for gauge in (self._used, self._quota, self._objects):
            gauge.clear()
        empty = Usage(0, 0)
        for name in {*buckets, *usage}:
            taken = usage.get(name, empty)
            self._used.labels(name).set(taken.space)
            self._objects.labels(name).set(taken.objects)
            self._quota.labels(name).set(buckets[name].quota if name in buckets else 0)

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)

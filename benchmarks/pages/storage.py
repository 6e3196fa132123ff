"""Tables of storage, processes and workers (``measurements.md``, ``cluster.md``)."""

from benchmarks.pages.rows import Row
from benchmarks.pages.tables import flat, number, pivot, table

WAYS = {
    "driver": "`optimize`, an executor in this process",
    "service": "the service",
    "dask": "Dask, two processes",
    "ray": "Ray, a process for each slot",
}


@table("foundation")
def foundation(rows: list[Row]) -> str:
    columns = {"what": "{what}", "Sonde": "{Sonde:3n}", "Optuna": "{Optuna:3n}", "": "{note}", "target": "{target}"}
    return flat(rows, columns | {"reached": "{reached}"})


@table("fairness")
def fairness(rows: list[Row]) -> str:
    return flat(
        rows,
        {
            "storage": "{storage}",
            "processes": "{processes}",
            "trials": "{trials}",
            "trials of a process": "{fewest} to {most}",
            "longest ask": "{longest ask (s):2n} s",
            "allowed": "{allowed (s):2n} s",
        },
    )


@table("cluster_processes")
def processes(rows: list[Row]) -> str:
    return flat(
        rows,
        {
            "one study in PostgreSQL": "{what}, {strategy}",
            "trials per second": "{trials per second:3n}",
            "trials of a process": "{fewest} to {most}",
            "share of time waiting": "{waiting:.0%}",
            "longest ask": "{longest ask s:2n} s",
        },
    )


@table("cluster_in_flight_100", "cluster_in_flight_ray", "cluster_in_flight_400")
def in_flight(hundred: list[Row], ray: list[Row], more: list[Row]) -> str:
    return flat(
        [*hundred, *ray, *more],
        {
            "way": "{way}",
            "slots": "{slots}",
            "mean job": "{mean s} s",
            "busy": "{busy:.1%}",
            "results per second": "{jobs per second:2n}",
        },
        names=WAYS,
    )


@table("cluster_http")
def http(rows: list[Row]) -> str:
    return flat(
        rows,
        {
            "clients": "{clients}",
            "round trips (ask + tell) per second": "{round trips/s:3n}",
            "ask, median and 99%": "{ask p50 ms:3n} and {ask p99 ms:3n} ms",
            "tell, median and 99%": "{tell p50 ms:3n} and {tell p99 ms:3n} ms",
            "server's processor, a round trip": "{server CPU ms per trip:2n} ms",
        },
    )


@table("soak")
def soak(rows: list[Row]) -> str:
    return flat(
        rows,
        {
            "what": "{what}",
            "how much": "{count}",
            "seconds": "{seconds:.0f}",
            "memory (MB)": "{memory (MB):.0f}",
            "handles": "{handles}",
            "told results": "{note}",
        },
    )


@table("cluster_sizes")
def sizes(rows: list[Row]) -> str:
    return pivot(
        rows, "{workers:,.0f}", "T = {job (s)} s", "{driver, model:.1%}, {driver, simulated:.1%}", corner="workers"
    )


@number("cluster_sizes")
def model_error(rows: list[Row]) -> str:
    largest = max(float(row["largest difference"]) for row in rows)
    return f"{100 * largest:.1f}"

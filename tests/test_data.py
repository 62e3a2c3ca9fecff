"""The published runs that come with the package: that none was lost or changed."""

import csv
from collections import Counter
from decimal import Decimal

import pytest
from checkout import ROOT


def read(name):
    with (ROOT / "d2lhybrid" / "data" / f"published_{name}.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


RUNS = read("runs")

# Framework and edition -> runs, those in which the compiled network was slower, the first and the
# last date, the sums of all seconds without compiling and with it: counted in the books' histories.
COUNTED = """
MXNet en 71 3 2020-01-06 2023-08-18 59.9758 25.6409
MXNet zh 19 0 2021-05-08 2023-08-18 18.0430 7.2096
PaddlePaddle zh 3 3 2023-02-09 2023-08-18 1.1387 1.6015
PyTorch en 31 12 2021-01-06 2023-08-18 91.2118 86.1771
PyTorch zh 19 6 2021-05-08 2023-08-18 25.1677 26.2389
TensorFlow en 29 0 2021-03-20 2023-08-18 30.9603 11.6289
TensorFlow zh 19 0 2021-05-08 2023-08-18 15.8135 6.4789
"""


def counted(framework, edition):
    """The same of the package's copy, as a line."""
    own = [run for run in RUNS if (run["framework"], run["edition"]) == (framework, edition)]
    slower = sum(Decimal(run["with"]) > Decimal(run["without"]) for run in own)
    dates = sorted(run["date"] for run in own)
    sums = [sum(Decimal(run[column]) for run in own) for column in ("without", "with")]
    return " ".join(map(str, (framework, edition, len(own), slower, dates[0], dates[-1], *sums)))


# File and edition -> runs, the first and the last date, the sums of all columns of seconds.
ON_GPUS = """
asynchrony en 31 2021-01-06 2023-08-18 34.3970 0.0432 0.0904
asynchrony zh 19 2021-05-08 2023-08-18 20.7008 0.0244 0.0591
parallelism en 31 2021-01-06 2023-08-18 15.2671 15.4020 15.2515 15.3114 73.8014 55.7633
parallelism zh 19 2021-05-08 2023-08-18 9.3074 9.3241 9.2969 9.3207 45.6737 36.8509
"""


def counted_on_gpus(runs, *names):
    """Of the runs whose first columns are these names: how many, the dates, and the sums."""
    own = [tuple(run.values()) for run in runs]
    own = [row[len(names) :] for row in own if row[: len(names)] == names]
    dates, *columns = zip(*own, strict=True)
    sums = [sum(map(Decimal, column)) for column in columns]
    return " ".join(map(str, (len(own), min(dates), max(dates), *sums)))


@pytest.mark.parametrize("line", COUNTED.strip().splitlines())
def test_the_published_runs_are_those_of_the_book(line):
    assert counted(*line.split()[:2]) == line


def test_there_is_no_other_run_and_none_comes_twice():
    assert len(RUNS) == sum(int(line.split()[2]) for line in COUNTED.strip().splitlines()) == 191
    assert max(Counter(tuple(run.values()) for run in RUNS).values()) == 1


@pytest.mark.parametrize("line", ON_GPUS.strip().splitlines())
def test_the_published_runs_on_gpus_are_those_of_the_book(line):
    name, edition, counts = line.split(maxsplit=2)
    assert counted_on_gpus(read(name), edition) == counts


@pytest.mark.parametrize("name", ["asynchrony", "parallelism"])
def test_no_run_on_gpus_is_there_that_was_not_counted(name):
    runs = read(name)
    assert len(runs) == len({tuple(run.values()) for run in runs}) == 31 + 19


DEVICES = read("devices")

# Network and edition -> pairs of runs, the first and the last date, the sums of the seconds on one
# and on two GPUs, and of the accuracies.
ON_ONE_AND_TWO = """
LeNet en 31 2021-01-06 2023-08-18 82.7 84.1 25.32 25.40
LeNet zh 17 2021-05-08 2023-08-18 45.3 47.9 14.01 13.94
ResNet-18 en 30 2021-01-06 2023-08-18 415.3 264.7 27.21 23.71
ResNet-18 zh 18 2021-05-08 2023-08-18 247.6 159.6 16.39 14.45
"""


@pytest.mark.parametrize("line", ON_ONE_AND_TWO.strip().splitlines())
def test_the_published_runs_on_several_gpus_are_those_of_the_book(line):
    network, edition, counts = line.split(maxsplit=2)
    assert counted_on_gpus(DEVICES, network, edition) == counts


def test_no_run_on_several_gpus_is_there_that_was_not_counted():
    assert len(DEVICES) == len({tuple(run.values()) for run in DEVICES}) == 48 + 48


LATENCIES = read("latencies")

# Source -> figures, the sum of their nanoseconds, and of those that a laptop can measure.
IN_NANOSECONDS = """
table 1 30 168482899.0 33130.0
table 2 5 120230 0
picture 6 2869044 3000
"""


def counted_latencies(source):
    """The same of the package's copy, as a line."""
    own = [row for row in LATENCIES if row["source"] == source]
    sums = [
        sum(Decimal(row["ns"]) for row in rows)
        for rows in (own, [row for row in own if not row["needs"]])
    ]
    return " ".join(map(str, (source, len(own), *sums)))


@pytest.mark.parametrize("line", IN_NANOSECONDS.strip().splitlines())
def test_the_published_latencies_are_those_of_the_book(line):
    assert counted_latencies(line[:7]) == line


def test_each_latency_stands_once_in_its_table():
    assert len({(row["name"], row["source"]) for row in LATENCIES}) == len(LATENCIES) == 41
    needs = {row["name"]: row["needs"] for row in LATENCIES}
    assert all(needs[row["name"]] == row["needs"] for row in LATENCIES)

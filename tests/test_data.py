"""The published runs that come with the package: that none was lost or changed."""

import csv
from decimal import Decimal

import pytest
from notebook_rules import ROOT

# Counted in the books' histories, where they are not from a table of its text: a file, the columns
# of names and what stands in them -> how many rows, the first and the last date, and the sums of
# the columns of numbers: seconds, in `devices` also accuracies, in `latencies` nanoseconds.
COUNTED = """
runs framework,edition MXNet,en: 71 2020-01-06 2023-08-18 59.9758 25.6409
runs framework,edition MXNet,zh: 19 2021-05-08 2023-08-18 18.0430 7.2096
runs framework,edition PaddlePaddle,zh: 3 2023-02-09 2023-08-18 1.1387 1.6015
runs framework,edition PyTorch,en: 31 2021-01-06 2023-08-18 91.2118 86.1771
runs framework,edition PyTorch,zh: 19 2021-05-08 2023-08-18 25.1677 26.2389
runs framework,edition TensorFlow,en: 29 2021-03-20 2023-08-18 30.9603 11.6289
runs framework,edition TensorFlow,zh: 19 2021-05-08 2023-08-18 15.8135 6.4789
asynchrony edition en: 31 2021-01-06 2023-08-18 34.3970 0.0432 0.0904
asynchrony edition zh: 19 2021-05-08 2023-08-18 20.7008 0.0244 0.0591
parallelism edition en: 31 2021-01-06 2023-08-18 15.2671 15.4020 15.2515 15.3114 73.8014 55.7633
parallelism edition zh: 19 2021-05-08 2023-08-18 9.3074 9.3241 9.2969 9.3207 45.6737 36.8509
devices network,edition LeNet,en: 31 2021-01-06 2023-08-18 82.7 84.1 25.32 25.40
devices network,edition LeNet,zh: 17 2021-05-08 2023-08-18 45.3 47.9 14.01 13.94
devices network,edition ResNet-18,en: 30 2021-01-06 2023-08-18 415.3 264.7 27.21 23.71
devices network,edition ResNet-18,zh: 18 2021-05-08 2023-08-18 247.6 159.6 16.39 14.45
latencies source,needs table 1,: 10 33130.0
latencies source,needs table 2,: 0
latencies source,needs picture,: 1 3000
latencies source table 1: 30 168482899.0
latencies source table 2: 5 120230
latencies source picture: 6 2869044
"""
LINES = COUNTED.strip().splitlines()


def read(name):
    with (ROOT / "d2lhybrid" / "data" / f"published_{name}.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.parametrize("line", LINES)
def test_published_runs_are_those_of_the_book(line):
    where, _, counts = line.partition(": ")
    file, columns, names = where.split(maxsplit=2)
    columns, names = columns.split(","), names.split(",")
    rows = [row for row in read(file) if [row[column] for column in columns] == names]
    dates = sorted(row["date"] for row in rows if "date" in row)
    words = {*columns, "date", "name", "source", "needs"}
    numbers = [column for column in read(file)[0] if column not in words] if rows else []
    sums = [sum(Decimal(row[column]) for row in rows) for column in numbers]
    assert " ".join(map(str, (len(rows), *dates[:1], *dates[-1:], *sums))) == counts


@pytest.mark.parametrize(
    ("file", "size"),
    [("runs", 191), ("asynchrony", 50), ("parallelism", 50), ("devices", 96), ("latencies", 41)],
)
def test_no_row_comes_twice_and_none_is_not_counted(file, size):
    rows = [tuple(row.values()) for row in read(file)]
    assert len(rows) == len({*rows}) == size


def test_each_latency_stands_once_in_its_table_and_needs_the_same_everywhere():
    rows = read("latencies")
    assert len({(row["name"], row["source"]) for row in rows}) == len(rows)
    assert len({(row["name"], row["needs"]) for row in rows}) == len({row["name"] for row in rows})

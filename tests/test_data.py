"""The published runs that come with the package: that none was lost or changed."""

import csv
from decimal import Decimal

import pytest
from notebook_rules import ROOT

# Counted in the books' histories, where they are not from a table of its text: a file, the columns
# of names and what stands in them -> how many rows, the first and the last date, and the sums of
# the columns of numbers: seconds, in `devices` also accuracies, in `latencies` nanoseconds.
LINES = (ROOT / "tests" / "published_counts.txt").read_text("utf-8").splitlines()


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

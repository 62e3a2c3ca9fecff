"""Numbers and tables for the eye."""

from d2lhybrid.tables import Column, Table, seconds, text_table


def test_seconds():
    for time, text in [
        (0, "0.000 s"),
        (3.21e-5, "32.10 µs"),
        (0.0123456, "12.35 ms"),
        (1e-10, "0.1000 ns"),
        (17, "17.00 s"),
        (999.96e-6, "1.000 ms"),
    ]:
        assert seconds(time) == text
    assert seconds(99.96, digits=3) == "100 s"


def test_long_figure_does_not_change_the_layout():
    columns = [Column(""), Column("1234", 5)]
    short = text_table(columns, [["a", "1"]])
    assert text_table(columns, [["a", "1"], ["b", "1234567"]]).startswith(short)
    assert short == "    1234\na      1"


def test_column_is_as_wide_as_its_title_or_more():
    assert text_table([Column("", 3), Column("title", 2)], [["a", "1"]]) == "     title\na        1"


class Small(Table):
    def _columns(self):
        return [Column(""), Column("a & b", 9)]

    def _rows(self):
        return [["x|y", " 1"]]

    def _notes(self):
        return ["one", "two"]


def test_table_as_markdown_and_as_html():
    lines = ["|  | a & b |", "| --- | ---: |", "| x\\|y | 1 |", "", "one  ", "two"]
    assert Small().to_markdown().splitlines() == lines
    assert Small()._repr_html_().splitlines() == [
        "<table>",
        '<tr><th style="text-align:left"></th><th style="text-align:right">a &amp; b</th></tr>',
        '<tr><td style="text-align:left">x|y</td>'
        '<td class="measured" style="text-align:right">1</td></tr>',
        "</table>",
        '<div class="measured">one</div>',
        '<div class="measured">two</div>',
    ]

"""The words that course.py knows, and which function each of them calls."""

import argparse
import inspect

import grading

from . import authoring, book, checking, environment, handouts, reading, site, translate


def run_command(words, about):
    """Do what the words on the command line say. Returns an exit status, or None for success."""
    parser = argparse.ArgumentParser(prog="course.py", description=about)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name, function):
        about = inspect.getdoc(function)
        one = commands.add_parser(name, help=about.split("\n\n")[0], description=about)
        one.allow_abbrev = False  # what is not ours goes to pytest as it is
        one.set_defaults(function=function)
        return one.add_argument

    def in_languages(add):
        add("--language", choices=["en", *translate.languages()], default="en")

    in_languages(command("read", reading.read))
    command("predictions", reading.predictions)
    command("check", checking.check)
    command("frameworks", environment.frameworks)("names", nargs="*")
    add = command("slides", handouts.slides)
    add("notebooks", nargs="*")
    in_languages(add)
    add = command("handout", handouts.handout)
    in_languages(add)
    add("notebooks", nargs="*")
    add("--solutions", action="store_true", help="keep the solutions")
    add("--html", action="store_true", help="write web pages, with outputs")
    add = command("marks", grading.marks)
    add("folder", metavar="FOLDER", help="what the learning platform gave you: a folder or a zip")
    add("--to", metavar="FOLDER", help="where to write the table and the pages, instead of marks/")
    add("--feedback", action="store_true", help="also write a page for each student")
    add("--limit", type=float, default=20, help="seconds for an answer, without the course's cells")
    add("--memory", type=int, default=2048, help="MiB of memory for each process of an answer")
    add("--trust", action="store_true", help="run without a sandbox")
    add = command("translate", translate.translate)
    add("language", choices=translate.languages())
    add("names", nargs="*")
    add("--fill", action="store_true", help="print what is not yet translated, with its marks")
    add("--accept", nargs="+", metavar="ID", default=(), help="their translations still hold")
    add = command("site", site.site)
    add("--check", action="store_true", help="also test the pages, in Chromium if it is installed")
    command("book", book.book)("notebooks", nargs="*")
    add = command("refresh", authoring.refresh)
    add("notebooks", nargs="*")
    add("--busy", action="store_true", help="store the outputs even if the machine was busy")
    command("contents", authoring.contents)

    arguments, others = parser.parse_known_args(words or ["--help"])
    if arguments.function is checking.check:
        arguments.pytest = others
    elif others:
        parser.error(f"there is no {' '.join(others)} here")
    return arguments.function(**{k: v for k, v in vars(arguments).items() if k != "function"})

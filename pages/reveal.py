"""A Sphinx extension: results folded behind their questions, and the routes through the course.

tools/site_guesses.py and tools/site_routes.py say which; pages/static/reveal.js and routes.js
do in the browser what is left to do there.
"""

import functools
import json

from tools import site, site_guesses, site_routes


def mark(app, page, content):
    """Mark the questions and results of a notebook; the file to download stays as it is."""
    if page.startswith("notebooks/"):
        read = json.loads(content[0])
        content[0] = json.dumps({**read, "cells": site_guesses.marked(read["cells"])})


routes = functools.cache(lambda language: site_routes.routes(language, site.words()[language]))


def on_page(app, page, template, context, doctree):
    """What templates/reveal.html needs to know."""
    language = app.config.course_language
    said = site.words()[language]
    context["guess"] = page.startswith("notebooks/") and said["guess"]
    context["route"] = {"routes": routes(language), "words": said["route"]}


def setup(app):
    app.connect("source-read", mark, priority=400)  # while it is still the notebook
    app.connect("html-page-context", on_page)
    for name in ("reveal", "routes"):
        app.add_js_file(f"{name}.js")
    app.add_css_file("reveal.css")

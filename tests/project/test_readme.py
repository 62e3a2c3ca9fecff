"""What README and CONTRIBUTING say is so."""

import json
import re

from checkout import load_course
from notebook_rules import ADDRESS, NOTEBOOKS, ROOT

from tools import authoring, manifest
from tools.notebook import pictures as pictures_of

README = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh.md").read_text(encoding="utf-8")
INSTALL = (ROOT / "INSTALL.md").read_text(encoding="utf-8")
COMPARE = (ROOT / "COMPARE.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_table_of_notebooks_is_that_of_course_toml():
    assert authoring.with_contents(README) == README, "run `python3 course.py contents`"
    assert authoring.with_contents(CHINESE, "zh") == CHINESE, "run `python3 course.py contents`"
    for path in manifest.notebooks():
        assert f"](notebooks/{path.name})" in README
        assert f"](notebooks/{path.name})" in CHINESE


def test_contents_writes_the_table_of_notebooks(copy):
    data = (copy / "course.toml").read_text(encoding="utf-8")
    assert data.count('"Symbolic programs"') == 1
    (copy / "course.toml").write_text(
        data.replace("Symbolic programs", "Zeichen: für dich"), "utf-8"
    )
    load_course(copy).main("contents")
    changed = (copy / "README.md").read_text(encoding="utf-8")
    assert changed == README.replace("| [Symbolic programs]", "| [Zeichen: für dich]")
    assert (copy / "README.zh.md").read_text(encoding="utf-8") == CHINESE


def test_links_lead_somewhere():
    for path in ROOT.glob("*.md"):
        targets = re.findall(r"\]\(([^)\s#]+)[^)\s]*\)", path.read_text(encoding="utf-8"))
        for target in targets:
            assert target.startswith("https:") or (ROOT / target).exists(), f"{path}: {target}"


def test_addresses_on_github_are_the_projects_or_a_tools():
    known = {ADDRESS, "https://github.com/containers/bubblewrap"}
    for path in [*ROOT.glob("*.md"), *ROOT.glob("*.cff"), *NOTEBOOKS]:
        text = path.read_text(encoding="utf-8")
        found = re.findall(r"(?:github\.com|/github)/([\w.-]+/[\w.-]*\w)", text)
        assert {f"https://github.com/{one.removesuffix('.git')}" for one in found} <= known


def test_readme_gives_the_two_commands():
    for command in ("read", "check"):
        assert re.search(rf"^python3 course\.py {command}$", README, re.MULTILINE)
        assert re.search(rf"^py course\.py {command}$", INSTALL, re.MULTILINE)
    assert len(README.splitlines()) <= 120


def test_readme_picture_is_the_notebooks_own():
    pictures = {}
    for path in manifest.notebooks():
        pictures.update(pictures_of(json.loads(path.read_bytes())))
    files = {path.stem: path.read_bytes() for path in (ROOT / "img").glob("*.png")}
    assert files
    assert files == pictures
    for name in files:
        assert f"](img/{name}.png)" in README


def places_in_table(head):
    """What stands in backticks in the first column of a table of CONTRIBUTING."""
    table = CONTRIBUTING.partition(f"\n| {head} |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`.+?`) \|", table, re.MULTILINE)
    return re.findall(r"`([\w/.]+)`", " ".join(rows))


def test_contributing_says_where_each_module_is_explained():
    package, places = ROOT / "d2lhybrid", places_in_table("in `d2lhybrid/`")
    assert [place for place in places if not (package / place).exists()] == []
    modules = [path.relative_to(package).as_posix() for path in package.rglob("[!_]*.py")]
    assert [module for module in modules if not module.startswith(tuple(places))] == []


def test_contributing_explains_folders_beside_the_package():
    places = places_in_table("folder")
    assert places
    assert [place for place in places if not (ROOT / place).is_dir()] == []


def test_the_documentation_shows_commands_that_exist():
    source = (ROOT / "tools" / "commands.py").read_text("utf-8")
    commands = re.findall(r'command\("(\w+)"', source)
    for text in (README, INSTALL, COMPARE, CONTRIBUTING):
        assert set(re.findall(r"course\.py (\w+)", text)) <= set(commands)

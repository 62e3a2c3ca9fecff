"""A version is the same wherever it is written."""

import json
import re
import subprocess

import yaml
from notebook_rules import ADDRESS, PROJECT, ROOT

import course
import d2lhybrid
from tools import manifest

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
PINS = dict(
    re.findall(r"^([\w-]+)==([\d.]+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
)
CI = (ROOT / ".ci/run").read_text(encoding="utf-8")
PINS |= re.findall(r"(ziglang)==([\d.]+)", CI)  # readers have a compiler of their own


def test_the_pythons_are_the_same_everywhere():
    versions = [".".join(map(str, version)) for version in course.PYTHONS]
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"
    workflow = (ROOT / ".github/workflows/check.yml").read_text(encoding="utf-8")
    assert re.findall(r'"(3\.\d+)"', workflow) == versions
    span = f"{versions[0]} to {versions[-1]}"
    for text in (README, CONTRIBUTING):
        assert span in text


def test_pinned_versions_satisfy_the_packages_ranges():
    def numbers(version):
        return [int(part) for part in version.split(".")]

    extras = PROJECT["project"]["optional-dependencies"].values()
    for requirement in sum(extras, PROJECT["project"]["dependencies"]):
        name, least = requirement.partition(";")[0].split(">=")
        assert numbers(PINS[name]) >= numbers(least)
    colab = {"torch": "2.11.0", "matplotlib": "3.10.0", "numpy": "2.1.3"}
    colab |= {"cloudpickle": "3.1.2", "threadpoolctl": "3.6.0"}
    for requirement in PROJECT["project"]["dependencies"]:
        name, least = requirement.partition(";")[0].split(">=")
        assert numbers(colab.get(name, PINS[name])) >= numbers(least)


def test_pre_commit_uses_the_same_ruff():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"ruff==([\d.]+)", hooks)) == {PINS["ruff"]}


def test_the_citation_names_the_packages_version_and_address():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {d2lhybrid.__version__}\n" in citation
    assert f"\nrepository-code: {ADDRESS}\n" in citation
    assert f"\nlicense: {PROJECT['project']['license']}\n" in citation
    (date,) = re.findall(r"^date-released: (\d{4}-\d\d-\d\d)$", citation, re.MULTILINE)
    assert f"\n## [{d2lhybrid.__version__}] - {date}\n" in CHANGELOG


def test_the_changelog_has_an_entry_for_the_version():
    headings = re.findall(r"^## \[(.+?)\]", CHANGELOG, re.MULTILINE)
    assert headings[:2] == ["Unreleased", d2lhybrid.__version__]


def test_dev_container_is_made_from_the_dockerfile():
    file = (ROOT / "Dockerfile").read_text("utf-8")
    (tag,) = re.findall(r"^FROM python:(\d\.\d+)-", file, re.MULTILINE)
    assert tuple(map(int, tag.split("."))) in course.PYTHONS
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
    assert container["build"] == {"dockerfile": "../Dockerfile", "context": ".."}
    install = container["postCreateCommand"]
    assert f"RUN {install} \\\n" in file
    (notebook,) = re.findall(r"course\.py check --version (\S+)$", install)
    assert manifest.to_install(manifest.entries_in([notebook])) == []  # the image stays small


def test_a_container_gets_nothing_that_git_ignores():
    def names(file):
        lines = (ROOT / file).read_text().splitlines()
        return {line.removeprefix("**").removeprefix("/") for line in lines}

    assert names(".dockerignore") == names(".gitignore") | {".git/"}


def test_the_workflows_run_what_is_there():
    found = []
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values():
            runs = " ".join(step.get("run", "") for step in job["steps"])
            found += re.findall(r"[\w./]*(?:\.ci|notebooks)/[\w.]+|course\.py", runs)
    assert {".ci/run", ".ci/release"} < {*found}
    assert [name for name in found if not (ROOT / name).is_file()] == []


def test_a_release_reads_the_version_without_what_the_package_needs():
    for file in (".ci/release", ".github/workflows/release.yml"):
        command = re.search(r"\$\((.* d2lhybrid/__init__.py)\)", (ROOT / file).read_text())[1]
        said = subprocess.check_output(["bash", "-c", command], cwd=ROOT, text=True)
        assert said == f"{d2lhybrid.__version__}\n"


def test_each_package_that_a_notebook_needs_is_pinned_and_in_an_extra():
    packages = manifest.needed("packages")
    assert packages
    assert set(packages) <= set(PINS)
    extras = PROJECT["project"]["optional-dependencies"].values()
    assert {one.split(">=")[0] for extra in extras for one in extra} == {*packages, "ziglang"}

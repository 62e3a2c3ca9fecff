"""What compilers and libraries print about a program, as notes for below the table.

>>> notes_from("mine.py:3: UserWarning: slow\\n  f(x)\\n")
['UserWarning: slow']

If the environment variable TORCH_LOGS asks for it, `torch.compile` prints where a graph breaks, and
why it compiles again; JAX_LOG_COMPILES lets JAX print what it compiles. `processes.ProgramRunner`
asks for both.
"""

import re
from os.path import basename

# Environment variables, and all lines but those for which they ask.
LOGS = {"TORCH_LOGS": "graph_breaks,recompiles", "JAX_LOG_COMPILES": "1"}
NOT_LOGGED = re.compile(r"(?m)^(?!.*\] \[__|Finished .* sec$|Compiling .* with global shapes).*")
COMPILED_NOTHING = "torch.compile compiled no function that was called"
LONGEST = 200  # characters of a note
BREAK = re.compile(r"Graph break .*in user code at (.+)\nGraph Break Reason: (.*)\n+(.*)")
AGAIN = re.compile(r"Recompiling function .* in (.+)\n *triggered by .*\n *- (?:\d+/\d+: )?(.*)")
LIMIT = re.compile(r"hit config\.\w+_limit \((\d+)\)")
# As Python prints a warning, and as logging does.
WARNING = re.compile(r"(?m)^(?:\S.*:\d+: )?(\w*Warning: .+)|^WARNING:\w+:(.+)")


def notes_from(printed: str, warm: int = 0) -> list[str]:
    """Return what a program has printed about compiling, and its warnings, each once.

    The first `warm` characters were printed before it was timed.
    """
    notes = []
    for place, why, more in BREAK.findall(logged("graph_breaks", printed)):
        what = "torch.compile left this to Python" if "falling back" in why else "graph break"
        notes.append(f"{what} at {basename(place)}: {more if why.endswith(':') or more else why}")
    again = AGAIN.findall(logged("recompiles", printed))
    late = len(AGAIN.findall(logged("recompiles", printed[warm:])))
    if again:
        place, why = again[-1]
        when = f", {late} of them while it was timed" if late else ""
        count = "once" if len(again) == 1 else f"{len(again)} times"
        notes.append(f"compiled {count} more{when}: {why} ({basename(place)})")
    if jax := re.findall(r"Compiling (\S+) with global shapes", printed[warm:]):
        notes.append(f"JAX compiled {len(jax)} times while it was timed: {jax[-1]}")
    for limit in LIMIT.findall(printed):
        notes.append(f"torch.compile gave up at its limit of {limit}: other calls ran uncompiled")
    notes += [one or other for one, other in WARNING.findall(printed)]
    # TensorFlow counts, and names addresses: the same note with other numbers is said once.
    notes = [" ".join(note.split())[:LONGEST] for note in notes]
    alike = {re.sub(r"0x\w+|\d+", "", note): note for note in reversed(notes)}
    return [*alike.values()][::-1]


def logged(kind: str, printed: str) -> str:
    """Return the lines that torch has logged of a kind of TORCH_LOGS, without what is before."""
    return "\n".join(re.findall(rf"\[__{kind}\] ?(.*)", printed)) + "\n"

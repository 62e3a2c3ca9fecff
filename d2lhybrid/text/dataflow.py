"""Who feeds whom in a program: its data-flow graph.

    >>> flow = data_flow("e = 1 + 2; f = e * e; print(f)")
    >>> [flow.nodes[number]["label"] for number in flow]
    ['1', '2', '+', '*', 'print']
    >>> list(flow.edges)
    [(0, 2), (1, 2), (2, 3), (3, 4)]

Explained in notebook 01; compiler books call the arrows def-use chains.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable

import networkx

from .program import refuse, straight_line

SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
CAN_BE_FOLLOWED = (
    "only assignments to a name, `return`, calls with positional arguments, + - *, and names that "
    "have a value"
)


def data_flow(program: str | Callable) -> networkx.DiGraph:
    """Return who feeds whom in a program's text, in a function, or in what has a method `flow()`.

    From a text it reads the main part; its numbers are the inputs. From a function it reads the
    source; its parameters and numbers are the inputs. A call of another function is one operation.
    An object with `flow()` returns its own graph.

    The directed graph has an arrow from each value to what is computed from it. Its nodes are added
    in the order of computing. Each has a `label` (`a`, `1`, `+`, `add`), a `kind` (`input` or
    `operation`) and the last `name` that the program gives to its value, or ''.

    ValueError, with the line, for a statement or an expression that cannot be followed; TypeError
    for a lambda or a class, whose source is not that of one function.
    """
    if hasattr(program, "flow"):
        return program.flow()
    if isinstance(program, str):
        parameters = []
        statements = [s for s in straight_line(program) if not isinstance(s, ast.FunctionDef)]
    else:
        parameters, statements = read_function(program)
    walk = _Walk(parameters)
    for statement in statements:
        walk.follow(statement)
    return walk.flow


def read_function(function):
    """Return the names of a function's parameters, and the statements of its body.

    TypeError for what is no function defined by `def`.
    """
    if not inspect.isroutine(function) or function.__name__ == "<lambda>":
        raise TypeError(
            "data_flow needs a text, a function defined by `def`, or an object with a method "
            f"flow(), got {function!r}"
        )
    definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    has_docstring = ast.get_docstring(definition) is not None
    arguments = definition.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [parameter.arg for parameter in parameters], definition.body[has_docstring:]


class _Walk:
    """Follows statements in their order, and adds to `flow` what they compute."""

    def __init__(self, parameters):
        self.flow = networkx.DiGraph()
        self.node_of = {name: self.add_node(name, "input") for name in parameters}

    def add_node(self, label, kind, sources=()):
        """Add a node, with arrows from the nodes that it is computed from; returns its number."""
        node = len(self.flow)
        self.flow.add_node(node, label=label, kind=kind, name="")
        self.flow.add_edges_from((source, node) for source in sources)
        return node

    def follow(self, statement):
        """Add what a statement computes. ValueError if it cannot be followed."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.node_of[name] = self.node_for(value)
                self.flow.nodes[self.node_of[name]]["name"] = name
            case ast.Expr(value=ast.Call() as call):
                self.node_for(call)
            case ast.Return(value=ast.expr() as value):
                self.node_for(value)
            case ast.Delete():
                pass  # computes nothing
            case _:
                refuse(statement, CAN_BE_FOLLOWED, "follow")

    def node_for(self, expression):
        """Return the node of an expression's value, added after what it is computed from."""
        match expression:
            case ast.Name(id=name) if name in self.node_of:
                return self.node_of[name]
            case ast.Constant(value=value):
                return self.add_node(str(value), "input")
            case ast.BinOp(left, op, right) if type(op) in SIGNS:
                label, operands = SIGNS[type(op)], [left, right]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                label, operands = "-", [operand]
            case ast.Call(func=ast.Name(id=label), args=operands, keywords=[]):
                pass
            case _:
                refuse(expression, CAN_BE_FOLLOWED, "follow")
        return self.add_node(label, "operation", [self.node_for(operand) for operand in operands])

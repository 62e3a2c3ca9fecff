"""Programs held as text: the running example, its run, and the steps that rewrite it.

    >>> text = evoke_()
    >>> print(run_program(text), end="")
    10
    >>> print(drop_unused_text(fold_constants_text(inline(text))))
    print(10)

In notebook 02 the reader writes these steps. Each takes the text of a straight-line program, and
returns the text of a program that prints the same. A straight-line program has no `if` and no
loop, and gives each name its value once. It is made of

    def f(a, b): ...    assignments, with a `return` at the end
    e = ...             an expression: whole numbers, names, `+ - *`, and calls of functions
                        defined above
    del e, f
    print(...)          with expressions for arguments

In such a program an expression cannot fail and only computes its value, so it may be computed
earlier, later or not at all; and no code outside the program reads its names.
Every other program is refused: a compiler must never guess.
"""

import ast
import io
import operator
from contextlib import redirect_stdout
from copy import deepcopy
from itertools import pairwise

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


# The running example, with the names of the book: each returns the text of a program ---------


def add_() -> str:
    return """
def add(a, b):
    return a + b
"""


def fancy_func_() -> str:
    return """
def fancy_func(a, b, c, d):
    e = add(a, b)
    f = add(c, d)
    g = add(e, f)
    return g
"""


def evoke_() -> str:
    return add_() + fancy_func_() + "print(fancy_func(1, 2, 3, 4))"


def run_program(text: str) -> str:
    """Compile a program's source, run it in its own namespace, and return what it printed."""
    output = io.StringIO()
    with redirect_stdout(output):
        exec(compile(text, "", "exec"), {})
    return output.getvalue()


# From text to statements, and back ----------------------------------------------------------


def straight_line(text: str) -> list[ast.stmt]:
    """Return the statements of a straight-line program, as `ast` nodes.

    ValueError, with the line, for any other program; SyntaxError if it is not Python.
    """
    statements = ast.parse(text).body
    _check_statements(statements, {}, inside_function=False)
    return statements


def as_text(statements: list[ast.stmt]) -> str:
    """Return a program as text. ValueError if the statements are not a straight-line program."""
    text = ast.unparse(ast.Module(statements, type_ignores=[]))
    straight_line(text)
    return text


def names_in(statement: ast.stmt) -> list[str]:
    """Return the variables that a statement mentions, each once; none for a `def`."""
    if isinstance(statement, ast.FunctionDef):
        return []
    nodes = list(ast.walk(statement))
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    names = [node.id for node in nodes if isinstance(node, ast.Name) and node not in called]
    return list(dict.fromkeys(names))


def _check_statements(statements, meaning, inside_function):
    """ValueError unless the statements are those of a straight-line program."""
    # meaning: name -> "value", "deleted", or how many parameters a function has
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                _check_expressions([value], meaning)
                if name in meaning:  # not even after `del`
                    refuse(statement, f"{name!r} has a value already")
                meaning[name] = "value"
            case ast.FunctionDef(body=body) if behind := [
                after for before, after in pairwise(body) if isinstance(before, ast.Return)
            ]:
                refuse(behind[0], "it follows `return` and never runs")
            case ast.FunctionDef(name=name, body=[*body, ast.Return(value=ast.expr() as result)]):
                if inside_function or name in meaning:
                    refuse(statement, "a function is defined once, in the main program")
                parameters = [parameter.arg for parameter in statement.args.args]
                if ast.unparse(statement.args) != ", ".join(parameters) or statement.decorator_list:
                    refuse(statement, "only plain parameters can be inlined")
                functions = {one: of for one, of in meaning.items() if type(of) is int}
                local = functions | dict.fromkeys(parameters, "value")
                if len(local) < len(functions) + len(parameters):
                    refuse(statement, "each parameter needs a name that nothing else has")
                _check_statements(body, local, inside_function=True)
                _check_expressions([result], local)
                meaning[name] = len(parameters)
            case ast.Delete(targets=targets) if not inside_function:
                for target in targets:
                    _check_expressions([target], meaning)
                    meaning[target.id] = "deleted"
            case ast.Expr(
                value=ast.Call(func=ast.Name(id="print"), args=arguments, keywords=[])
            ) if not inside_function and "print" not in meaning:
                _check_expressions(arguments, meaning)
            case ast.Expr(value=ast.Call()):
                refuse(statement, "only print(...) is known to leave our names alone")
            case _:
                refuse(statement, "only definitions, assignments, `del` and print(...)")


def _check_expressions(expressions, meaning):
    """ValueError unless each expression only computes a value, from names that have one."""
    for expression in expressions:
        match expression:
            case ast.Constant(value=value) if type(value) is int:
                pass
            case ast.Name(id=name):
                if meaning.get(name) != "value":
                    refuse(expression, f"{name!r} has no value here")
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                _check_expressions([operand], meaning)
            case ast.BinOp(op=op, left=left, right=right) if type(op) in OPERATORS:
                _check_expressions([left, right], meaning)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if (
                type(meaning.get(name)) is int
            ):
                if len(arguments) != meaning[name]:
                    refuse(expression, f"{name!r} takes {meaning[name]} arguments")
                _check_expressions(arguments, meaning)
            case _:
                refuse(expression, "only integers, names, + - * and functions defined above")


def refuse(node, reason, verb="rewrite"):
    """Raise a ValueError that names the line, shows the code of the node, and says why."""
    first_line = ast.unparse(node).splitlines()[0]
    raise ValueError(f"line {node.lineno}: cannot {verb} `{first_line}`: {reason}")


# The steps ----------------------------------------------------------------------------------


class Substitute(ast.NodeTransformer):
    """Replace the names that are read in a tree of `ast`, but not within function definitions.

    `values` maps a name to the expression, a node of `ast`, a copy of which takes its place.
    """

    def __init__(self, values):
        self.values = values  # name -> expression

    def visit_Name(self, name):
        if isinstance(name.ctx, ast.Load) and name.id in self.values:
            return deepcopy(self.values[name.id])  # a shared node would change in both places
        return name

    def visit_FunctionDef(self, function):
        return function  # its `a` is not the main program's `a`


class Inliner(ast.NodeTransformer):
    """Put a function's body in the place of its call."""

    def __init__(self, functions):
        self.functions = functions  # name -> its definition
        self.lines = []  # the program that comes out

    def visit_Call(self, call):
        """Return the expression that replaces the call; the statements before it go to `lines`."""
        self.generic_visit(call)  # first the calls among the arguments
        if call.func.id not in self.functions:  # the called function's name
            return call  # print stays a call
        function = self.functions[call.func.id]
        parameters = [parameter.arg for parameter in function.args.args]
        # straight_line has counted the arguments
        values = dict(zip(parameters, call.args))  # noqa: B905
        insert = Substitute(values)
        for statement in deepcopy(function.body):
            statement = insert.visit(statement)  # arguments for parameters
            statement = self.visit(statement)  # then the calls inside
            if isinstance(statement, ast.Return):
                return statement.value  # stands where the call stood
            self.lines.append(statement)


def inline(text: str) -> str:
    """Put each function's body where the function is called, and drop the definitions.

    ValueError where a name would get two values, as by two calls of a function with variables.
    """
    statements = straight_line(text)
    definitions = [s for s in statements if isinstance(s, ast.FunctionDef)]
    inliner = Inliner({function.name: function for function in definitions})
    for statement in statements:
        if statement not in definitions:
            inliner.lines.append(inliner.visit(statement))
    return as_text(inliner.lines)


def free_after_last_use(text: str) -> str:
    """Delete each name after the last statement that mentions it."""
    statements = straight_line(text)
    program = []
    for i, statement in enumerate(statements):
        program.append(statement)
        later = [name for s in statements[i + 1 :] for name in names_in(s)]
        dead = [name for name in names_in(statement) if name not in later]
        # what a del has deleted needs no second one
        if dead and not isinstance(statement, ast.Delete):
            program += ast.parse("del " + ", ".join(dead)).body
    return as_text(program)


class Folder(ast.NodeTransformer):
    """Compute the operations whose operands are numbers."""

    def visit_BinOp(self, operation):
        self.generic_visit(operation)  # first the operations inside
        match operation:
            case ast.BinOp(ast.Constant(left), op, ast.Constant(right)):
                return ast.Constant(OPERATORS[type(op)](left, right))
        return operation

    def visit_UnaryOp(self, operation):
        self.generic_visit(operation)
        match operation:
            case ast.UnaryOp(ast.USub(), ast.Constant(operand)):
                return ast.Constant(-operand)
        return operation


def fold_constants_text(text: str) -> str:
    """Compute what is known before the program runs, and put it where its name is read."""
    known = {}  # name -> its number, as an expression
    program = []
    for statement in straight_line(text):
        statement = Substitute(known).visit(statement)
        statement = Folder().visit(statement)
        match statement:
            case ast.Assign([ast.Name(name)], ast.Constant() as number):
                known[name] = number
        program.append(statement)
    return as_text(program)


def drop_unused_text(text: str) -> str:
    """Remove each assignment whose name is never read, from the last to the first."""
    program, needed = [], set()
    for statement in reversed(straight_line(text)):
        match statement:
            case ast.Assign([ast.Name(name)]) if name not in needed:
                continue  # no later line reads it
            case ast.Delete():
                pass  # to delete a name is not to read it
            case _:
                needed.update(names_in(statement))
        program.insert(0, statement)
    for statement in list(program):  # a copy, because the program changes
        if isinstance(statement, ast.Delete):
            kept = [name for name in statement.targets if name.id in needed]
            statement.targets = kept
            if not kept:
                program.remove(statement)
    return as_text(program)


def substitute(text: str) -> str:
    """Put what a name stands for where it is read; assignments and each `del` are dropped."""
    values = {}  # name -> the expression that it stands for
    program = []
    for statement in straight_line(text):
        statement = Substitute(values).visit(statement)
        if isinstance(statement, ast.Assign):
            values[statement.targets[0].id] = statement.value
        elif not isinstance(statement, ast.Delete):
            program.append(statement)
    return as_text(program)

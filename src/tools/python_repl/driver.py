"""Runs pieces of code in one namespace. Orders and answers are lines of JSON on the descriptors it was started with;
the code itself gets an empty standard input, and everything it or its children print goes to one file."""

import ast
import io
import json
import linecache
import os
import signal
import sys
import tempfile
import traceback
import types


def open_streams():
    orders = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    record = tempfile.TemporaryFile()
    return orders, answers, record


def redirect(record):
    """Again before every piece, since code may close or replace what it likes."""
    os.dup2(record, 1)
    os.dup2(record, 2)
    os.ftruncate(record, 0)
    os.lseek(record, 0, os.SEEK_SET)
    # One stream for both, flushed at every line, so that the output keeps its order, also among child processes.
    stream = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = stream


def execute(code, name, namespace):
    tree = ast.parse(code, name)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    exec(compile(tree, name, "exec"), namespace)
    if last is not None:
        value = eval(compile(last, name, "eval"), namespace)
        if value is not None:
            namespace["_"] = value
            print(repr(value))


def users_part(error):
    """The traceback without the frames of this file, and without the parser's for code that is not Python."""
    trace = error.__traceback__
    while trace is not None and (trace.tb_frame.f_globals is globals() or trace.tb_frame.f_globals is vars(ast)):
        trace = trace.tb_next
    return trace


def run(order, namespace):
    """The error in one line, or None."""
    code, name = order["code"], "<call %d>" % order["id"]
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        execute(code, name, namespace)
        return None
    except SystemExit as error:
        print("[exit(%s): this Python goes on, its variables are kept]" % ("" if error.code is None else error.code))
        return None
    except BaseException as error:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        trace = users_part(error)
        traceback.print_exception(type(error), error, trace)
        return traceback.format_exception_only(type(error), error)[-1].strip()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders, answers, record = open_streams()
    main_module = types.ModuleType("__main__")
    sys.modules["__main__"] = main_module
    sys.argv = [""]
    sys.path.append(os.getcwd())
    for line in orders:
        order = json.loads(line)
        redirect(record.fileno())
        error = run(order, main_module.__dict__)
        try:
            sys.stdout.flush()
        except Exception:
            pass
        size, half = os.fstat(record.fileno()).st_size, order["keep"] // 2
        head = os.pread(record.fileno(), min(size, half), 0)
        tail = os.pread(record.fileno(), min(half, size - len(head)), max(len(head), size - half))
        answer = {"id": order["id"], "error": error, "head": head.hex(), "tail": tail.hex(), "bytes": size}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


main()

#!/usr/bin/python3
"""Ansible module: one verb of the on-board program, its JSON as the result. Layer: fleet.

WANT_JSON. Runs on the board, copied there by Ansible: the standard library of Python 3.6, nothing
of ours and nothing of Ansible's (whose own modules want a newer Python than L4T has). Arguments:

    call     base64 of {"argv": [...], "sudo": bool, "timeout_s": n, "changes": bool}
    payload  base64 of the program's standard input, '' for none
    program  base64 of a Python program to run in place of argv[0] (enrolment only), '' for none

The result has ``answer`` (what the program printed), ``status`` (its exit status) and, where the
program could not be run at all, ``failed`` with a ``reason``.
"""

import base64
import json
import os
import subprocess
import sys
import tempfile

NOT_EXECUTABLE = (126, 127)


def main():
    """Read the arguments, run the program, print one JSON object."""
    with open(sys.argv[1]) as source:
        arguments = json.load(source)
    call = json.loads(base64.b64decode(arguments["call"]).decode("utf-8"))
    if arguments.get("_ansible_check_mode") and call.get("changes"):
        print(json.dumps({"changed": False, "skipped": True, "status": 0, "answer": {}}))
        return
    payload = base64.b64decode(arguments.get("payload") or "")
    program = base64.b64decode(arguments.get("program") or "")
    print(json.dumps(run(call, payload, program)))


def run(call, payload, program):
    """Run argv with the payload on its standard input."""
    argv = list(call["argv"])
    sudo = ["sudo", "-n", "--"] if call.get("sudo") and os.geteuid() != 0 else []
    if not program:
        return finish(sudo + argv, payload, call)
    handle, path = tempfile.mkstemp(prefix="speccompose-")
    try:
        with os.fdopen(handle, "wb") as target:
            target.write(program)
        return finish(sudo + ["/usr/bin/python3", path] + argv[1:], payload, call)
    finally:
        os.unlink(path)


def finish(argv, payload, call):
    """Run it, bounded in time, and tell how it ended."""
    try:
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        return failure("not_enrolled", "%s cannot be run: %s" % (argv[-1], error))
    try:
        out, err = process.communicate(payload, timeout=call["timeout_s"])
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return failure("timeout", "no answer within %s s: %s" % (call["timeout_s"], argv[:3]))
    return told(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def told(status, out, err):
    """The program's JSON; without one, why not."""
    try:
        answer = json.loads(out)
    except ValueError:
        answer = None
    if isinstance(answer, dict):
        return {"changed": False, "status": status, "answer": answer}
    last = (err.strip().splitlines() or [""])[-1][:300]
    if last.startswith("sudo:"):
        missing = "command not found" in last
        return failure("not_enrolled" if missing else "sudo", last)
    if status in NOT_EXECUTABLE:
        return failure("not_enrolled", last or "the on-board program is not installed")
    return failure("no_answer", "status %d: %s" % (status, last))


def failure(reason, message):
    """A result that Ansible counts as failed."""
    return {"changed": False, "failed": True, "reason": reason, "msg": message}


if __name__ == "__main__":
    main()

"""Runs programs whose standard error is a terminal. Tests put this folder on sys.path."""
import fcntl
import os
import pty
import struct
import subprocess
import termios

COLUMNS = 60


def run_on_terminal(command, **environment):
    """Exit status, standard output, and what a terminal of COLUMNS got as standard error."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, **environment}) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:  # the program has ended
                break
            if not more:
                break
            seen += more
        output = process.stdout.read().decode()
    os.close(ours)
    return process.returncode, output, seen.decode()

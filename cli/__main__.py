"""The beginning of `fencepost`: signals are blocked from the first line on, until a process handles them."""

import signal

signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))

from fencepost.cli.process.supervisor import main

if __name__ == "__main__":
    main()

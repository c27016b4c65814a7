"""`python -m perdure` is the command `perdure`."""

from perdure.cli import main

raise SystemExit(main())

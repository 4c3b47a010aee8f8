"""`python -m nmtlab`, as torchrun needs it."""

from nmtlab.cli import main

main()

"""The promises of docs/reliability.md: each row checks one, and must notice planted faults.

make reliability              every row for some minutes; writes docs/reliability.json and .md
make reliability MINUTES=60   the same for longer; goes on where it stopped
make reliability SIZE=ci      every row at the size of CI; writes nothing
make reliability ROWS="power disk"    only rows with such a word in their names
"""

"""The promises of docs/reliability.md: each row checks one, and must notice planted faults.

make reliability             every row at the size of CI; writes docs/reliability.json and .md
make reliability FULL=1      at full size, which takes hours
make reliability ROWS="power disk"    only rows with such a word in their names
"""

"""What the commands of course.py do, with Python's standard library alone, unless it says so."""

"""Programs as text: rewriting them, and their data flow. See notebooks 02 and 04."""

"""What makes results/, what puts `compare` to the test, and the script for a GPU."""

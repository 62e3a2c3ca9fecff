"""What puts `compare` itself to the test: known truths, and simulated clocks."""

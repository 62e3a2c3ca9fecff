"""What `python -m d2lhybrid` does: `compare` asks about your model, `bench` about the course's."""

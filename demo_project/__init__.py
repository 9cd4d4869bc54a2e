"""A small site that shows the limiter at work; `python -m demo_project.tour` walks through it."""

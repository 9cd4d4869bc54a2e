"""What a release wrote is read by the next: no error, and nobody counted anew."""

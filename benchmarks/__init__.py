"""Measurements that anybody can run again; each writes what the docs show."""

"""What `make bench` runs: ratios taken in one run against something fixed. No test asserts a time."""

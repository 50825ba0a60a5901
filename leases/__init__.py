"""Who works on what, until when, and how it ended: leases, runs, attempts."""

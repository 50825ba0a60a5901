"""Guards taken out, for controls: a race test that passes without its guard proves nothing."""


def no_lanes() -> None:
    """Nothing is locked; readiness is counted from whatever each transaction happens to see."""
    from graph import clock, lanes

    lanes.hold_reach = lambda node_ids, *, below=False: clock.read_and_mark()
    lanes.hold_lane_of = lambda node_id: clock.read_and_mark()


def no_lane_lock_for_claims() -> None:
    """A claim neither locks its lane nor looks at open leases, and the schema's last guard is told to look away."""
    from graph import clock, lanes
    from leases import claim

    lanes.hold_lane_of = lambda node_id: clock.read_and_mark()
    claim._refuse_leased = lambda chain, leases, now: None


def no_lanes_for_imports() -> None:
    """An import locks neither its plan nor the plan's lanes."""
    from graph import clock, lanes

    lanes.hold_plan = lambda plan_id: clock.read_and_mark()

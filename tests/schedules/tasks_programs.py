"""The programs whose schedules are explored; tasks_world tells what stands in them."""

T = ("turn",)
R = ("read", "c")
W = ("write", "c")
RD = ("read", "d")
WD = ("write", "d")
R2 = ("select", R, RD)
W2 = ("select", W, WD)
BOTH = ("select", R, W)
H = ("hold", "c", T)
HD = ("hold", "d", T)
JR, TR = ("join", "c", "read"), ("retire", "c", "read")
JW, TW = ("join", "c", "write"), ("retire", "c", "write")
SYNC = ("sync", "b")
FALL, FLUSH = ("fall", "b"), ("flush", "b")
ENROL, RESIGN = ("enrol", "b"), ("resign", "b")
SA, SB, SX = ("sync", "a"), ("sync", "b"), ("sync", "x")
CALL, SERVE, ACCEPT = ("call", "k"), ("serve", "k"), ("accept", "k")
END, ENDED = ("closed", "c"), ("ended", "h")
PC = ("poison", "c", "channel")


def on(capacity, **processes):
    """Processes around one channel."""
    return {"channels": {"c": capacity}, "processes": processes}


def on_two(**processes):
    """Processes around two channels, c and d."""
    return {"channels": {"c": None, "d": None}, "processes": processes}


def at(parties, **processes):
    """Processes at a barrier, b, or at a bucket, if it has no parties; and a channel, c."""
    return dict(on(None, **processes), barriers={"b": parties})


def ends_of(**parties):
    """Barriers, and channels c and d; processes are added."""

    def at(**processes):
        return dict(on_two(**processes), barriers=parties)

    return at


def calling(**processes):
    """Processes around a call channel, k, and a channel, c."""
    return dict(on(None, **processes), calls="k")


def immune(**processes):
    """Processes around two channels, c of no immunity and d of 1."""
    return dict(on_two(**processes), immunity={"d": 1})


def farm(n, ordered, how):
    """A farm between who feeds it and who takes its results."""
    return on_two(
        A=(["c.write"], [("feed", 3)]),
        B=(["d.read"], [("drain",)]),
        F=(["c.read", "d.write"], [("farm", n, ordered, how)]),
    )


def twice(program):
    """With a second cancellation, of the same process or of another."""
    return dict(program, cancels=2)


def with_ends(program, **more):
    """The order in which ends of processes become known matters, too."""
    return dict(program, ends=True, **more)


def poisoned(c, how):
    """Writers, a reader and one who poisons."""
    return on(c, A=[W, W], B=[R], C=[R], D=[("poison", "c", how)])


PROGRAMS = {
    # Pairing and rendezvous; cancelled readers and writers, before and after they are paired.
    "pair": on(None, A=[W], B=[R]),
    "pair_twice": twice(on(None, A=[W, W], B=[R, R])),
    "two_writers": on(None, A=[W], B=[W], C=[R, R]),
    "two_writers_one_read": on(None, A=[W], B=[W], C=[R]),
    "two_readers": on(None, A=[W, W], B=[R], C=[R]),
    "two_readers_one_write": on(None, A=[W], B=[R], C=[R]),
    "two_each": on(None, A=[W], B=[R], C=[W], D=[R]),
    "two_each_two_cancelled": dict(twice(on(None, A=[W], B=[R], C=[W], D=[R])), cancel="BD"),
    # Values given back, several in a row; their readers are cancelled and read again.
    "given_back": dict(twice(on(None, A=[W, W], B=[R], C=[R], D=[R])), cancel="BC"),
    "given_back_both": dict(twice(on(None, A=[W, W], B=[R], C=[R])), cancel="BC"),
    "given_back_thrice": dict(on(None, A=[W, W, W], B=[R], C=[R], D=[R]), cancels=3, cancel="BCD"),
    "read_again": twice(on(None, A=[W, W], B=[("keep", R, R)], C=[R])),
    "written_again": twice(on(None, A=[("keep", W, W)], B=[R, R], C=[W])),
    "given_back_after_poison": on(None, A=[W], B=[R], C=[R], D=[("poison", "c", "write")]),
    "each": on(None, A=[W, W, ("close", "c")], B=[("each", "c")]),
    "each_of_two": on(None, A=[W, W, ("poison", "c", "write")], B=[("each", "c")], C=[R]),
    # Poison and close at any moment.
    "poisoned": poisoned(None, "channel"),
    "poisoned_by_reader": poisoned(None, "read"),
    "poisoned_by_writer": poisoned(None, "write"),
    "closed": on(None, A=[W], B=[W], C=[R, R], D=[("close", "c")]),
    "closed_and_poisoned": on(
        None, A=[W], B=[W, ("poison", "c", "write")], C=[R], D=[("close", "c")]
    ),
    # Buffered channels.
    "buffer_0": on(0, A=[W], B=[W], C=[R], D=[R]),
    "buffer_0_twice": twice(on(0, A=[("keep", W, W)], B=[R, R])),
    "buffer_1": on(1, A=[W, W], B=[W], C=[R, R]),
    "buffer_1_given_back": twice(on(1, A=[W, W, W], B=[("keep", R, R)], C=[R])),
    "buffer_2": on(2, A=[W, W, W], B=[R, R], C=[R]),
    "buffer_2_given_back": dict(twice(on(2, A=[W, W, W, W], B=[R], C=[R], D=[R])), cancel="BC"),
    "buffer_unlimited": on(-1, A=[W, W], B=[R], C=[R], D=[("poison", "c", "write")]),
    "buffer_poisoned": poisoned(1, "channel"),
    "buffer_poisoned_by_reader": poisoned(1, "read"),
    "buffer_poisoned_by_writer": poisoned(1, "write"),
    "buffer_closed": on(1, A=[W, W], B=[("each", "c")], C=[W], D=[("close", "c")]),
    "buffer_chosen": {
        "channels": {"c": 1, "d": 0},
        "processes": {"A": [("select", W, WD)], "B": [("select", RD, R)], "C": [W], "D": [R]},
    },
    # Counted ends.
    "writers_retire": on(None, A=[JW, W, TW], B=[JW, W, TW], C=[("each", "c")]),
    "readers_retire": on(None, A=[W, W], B=[JR, R, TR], C=[JR, R, TR], D=[W]),
    "both_retire": on(None, A=[JW, W, W, TW], B=[JR, R, TR], C=[R]),
    "writers_retire_behind_a_buffer": on(1, A=[JW, W, W, TW], B=[JW, TW], C=[R, R]),
    "readers_retire_before_a_buffer": on(1, A=[W, W], B=[JR, R, TR], C=[JR, TR], D=[W]),
    "one_retires_while_others_choose": on_two(
        A=[JW, ("select", W, WD), TW], B=[R2], C=[JR, ("select", RD, R), TR]
    ),
    "operations_of_counted_ends": on_two(A=[JW, ("operations", W, RD), TW], B=[R, WD], C=[R]),
    "one_retires_another": on(None, A=[JW, T, W], B=[("retire_of", "A", "c", "write")], C=[R, R]),
    "one_retires_another_reader": on(
        1, A=[JR, R, R], B=[W, ("retire_of", "A", "c", "read")], C=[W, W]
    ),
    # Barriers and buckets.
    "barrier": at(2, A=[SYNC, SYNC], B=[SYNC, SYNC]),
    "barrier_of_three": at(3, A=[SYNC], B=[SYNC], C=[SYNC]),
    "barrier_again": twice(at(2, A=[("keep", SYNC, SYNC)], B=[SYNC, SYNC], C=[SYNC])),
    "barrier_poisoned": at(2, A=[SYNC, SYNC], B=[SYNC], C=[("break", "b")]),
    "barrier_between_messages": at(2, A=[W, SYNC, W], B=[R, SYNC, R]),
    "bucket": at(0, A=[FALL], B=[FALL], C=[FLUSH, FLUSH]),
    "bucket_again": twice(at(0, A=[("keep", FALL, FALL)], B=[FALL], C=[FLUSH, FLUSH])),
    "barrier_resigned": at(2, A=[SYNC], B=[RESIGN, W], C=[ENROL, SYNC, R]),
    "barrier_enrolled": twice(at(1, A=[ENROL, SYNC], B=[("keep", SYNC, SYNC)])),
    "bucket_poisoned": at(0, A=[FALL], B=[FALL], C=[FLUSH, FLUSH], D=[("break", "b")]),
    # Alting barriers.
    "alting": ends_of(a="AB")(A=[("select", SA, R)], B=[("select", SA, RD)], C=[W]),
    "alting_again": twice(ends_of(a="AB")(A=[("keep", SA, SA)], B=[("select", R, SA), SA])),
    "alting_ring": ends_of(a="AB", b="BC", x="CA")(
        A=[("select", SX, SA)], B=[("select", SA, SB)], C=[("select", SB, SX)]
    ),
    "alting_all_or_pairs": ends_of(a="ABC", b="AB")(
        A=[("select", SA, SB)], B=[("select", SB, SA)], C=[SA]
    ),
    "alting_fairly": ends_of(a="AB", b="AB")(A=[("fair", SA, SB)] * 2, B=[("fair", SB, SA)] * 2),
    "alting_in_time": ends_of(a="AB")(
        A=[("select", SA, ("timer", 5))], B=[("select", SA, ("timer", 5))]
    ),
    "alting_together": ends_of(a="AB", b="AC")(
        A=[("guards", SA, SB)], B=[SA], C=[("select", SB, R)], D=[W]
    ),
    "alting_resigned": ends_of(b="ABC")(A=[SYNC], B=[("select", SYNC, R)], C=[RESIGN, W]),
    "alting_enrolled": ends_of(b="AB")(A=[SYNC], B=[("select", SYNC, R)], C=[ENROL, W, SYNC]),
    "alting_poisoned": ends_of(b="AB", x="BC")(
        A=[SYNC], B=[("select", SYNC, SX)], C=[SX], D=[("break", "b")]
    ),
    # Call channels.
    "called": calling(A=[CALL], B=[SERVE]),
    "called_by_two": calling(A=[CALL], B=[CALL], C=[SERVE, SERVE]),
    "called_of_two": calling(A=[CALL], B=[SERVE], C=[SERVE]),
    "called_again": twice(calling(A=[("keep", CALL, CALL)], B=[("keep", SERVE, SERVE)])),
    "called_slowly": calling(A=[CALL], B=[CALL], C=[SERVE + (R,)], D=[W]),
    "called_out_of_order": calling(A=[CALL], B=[CALL], C=[SERVE + (SERVE,)]),
    "called_in_vain": calling(A=[CALL], B=[SERVE + (("fail",),)], C=[CALL]),
    "called_and_chosen": calling(A=[CALL], B=[("select", R, ACCEPT)], C=[W], D=[SERVE]),
    "called_and_poisoned": calling(
        A=[CALL], B=[SERVE + (T,)], C=[CALL], D=[("poison", "k", "call")]
    ),
    "called_and_dying": with_ends(
        calling(A=[CALL], B=(["k.serve"], [SERVE + (R,)]), C=[W, ("poison", "c", "read")])
    ),
    # Choice.
    "chosen_input": on_two(A=[W], B=[WD], C=[R2]),
    "chosen_input_twice": on_two(A=[W], B=[WD], C=[R2, R2]),
    "chosen_output": on_two(A=[R], B=[RD], C=[W2]),
    "chosen_both_ways": on_two(A=[("select", R, WD)], B=[W], C=[RD]),
    "alternatives": on_two(A=[R2], B=[W2]),
    "alternatives_crossed": on_two(A=[("select", R, WD)], B=[("select", RD, W)]),
    "three_alternatives": on_two(A=[R2], B=[W2], C=[("select", RD, W)]),
    "self_choice": on(None, A=[BOTH], B=[BOTH]),
    "three_self_choices": on(None, A=[BOTH], B=[BOTH], C=[("select", W, R)]),
    "self_choice_and_others": on(None, A=[BOTH], B=[W], C=[R]),
    "chosen_again": twice(on_two(A=[W, W], B=[WD], C=[("keep", R2, R2)])),
    "chosen_fairly": on_two(A=[W], B=[W], C=[("fair", R, RD)] * 3, D=[WD]),
    "chosen_fairly_again": on_two(A=[W, W], B=[WD, WD], C=[("fair", R, RD)] * 4),
    "chosen_output_fairly": on_two(A=[R, R], B=[RD], C=[("fair", W, WD)] * 3),
    "chosen_while_poisoned": on_two(A=[R2], B=[W2], C=[("poison", "c", "channel")]),
    "chosen_while_closed": on_two(A=[BOTH], B=[W2], C=[("close", "c")], D=[RD]),
    "masked": on_two(A=[W], B=[WD], C=[("masked", "01", R, RD), ("masked", "10", R, RD)]),
    "masked_with_a_timer": twice(
        on(None, A=[("keep", ("masked", "110", ("timer", 5), R, ("skip",)), R)], B=[W], C=[W])
    ),
    "skipped": on_two(A=[("select", R, ("skip",)), R], B=[W]),
    # Timers.
    "timer": on(None, A=[("select", R, ("timer", 10))], B=[W]),
    "timers": on_two(A=[("select", R, ("timer", 10))], B=[("select", W, ("timer", 10))], C=[WD]),
    "timer_first": on(None, A=[("select", ("timer", 10), R, ("timer", 5))], B=[W], C=[W]),
    "timer_again": twice(on(None, A=[("keep", ("select", R, ("timer", 10)), R)], B=[W], C=[R])),
    "sleeper": on(None, A=[("sleep", 5), W], B=[("select", R, ("timer", 5))], C=[("sleep", 5), W]),
    # Time limits of operations.
    "within": on(None, A=[("within", 10, R), R], B=[("within", 10, W)], C=[W]),
    "within_twice": twice(on(None, A=[("keep", ("within", 10, R), R)], B=[("keep", W, W)])),
    "within_no_time": on(None, A=[("within", 0, R), R], B=[("within", 0, W), W]),
    "within_a_select": on_two(A=[("within", 5, W)], B=[R2], C=[WD]),
    "within_a_buffer": on(1, A=[("within", 5, W)] * 2, B=[("within", 5, R)], C=[W]),
    "within_and_held": on(None, A=[("within", 5, W)], B=[H], C=[R]),
    "within_and_poisoned": on(None, A=[("within", 5, R)], B=[("within", 5, W)], C=[PC]),
    # Buffers that overflow.
    "oldest_kept": on(("keep_oldest", 1), A=[W, W], B=[W], C=[R, R]),
    "newest_kept": on(("keep_newest", 1), A=[W, W], B=[W], C=[R, R]),
    "newest_kept_given_back": twice(
        on(("keep_newest", 1), A=[W, W, W], B=[("keep", R, R)], C=[R])
    ),
    "oldest_kept_chosen": {
        "channels": {"c": ("keep_oldest", 2), "d": None},
        "processes": {"A": [("select", WD, W)] * 3, "B": [R2], "C": [R2]},
    },
    "newest_kept_closed": on(
        ("keep_newest", 2), A=[W, W, W], B=[("each", "c")], C=[W], D=[("close", "c")]
    ),
    # Immunity and strength.
    "immune": immune(
        A=[W], B=[R], C=[WD], D=[RD], E=[("poison", "c", "read", 1), ("poison", "d", "write", 1)]
    ),
    "immune_chosen": immune(
        A=[R2], B=[WD], C=[("poison", "d", "channel", 1), T, ("poison", "d", "channel", 2)]
    ),
    "harder": immune(
        A=[R],
        B=[("guards", R, WD)],
        C=[("poison", "c", "channel", 1), ("poison", "d", "channel", 2)],
        D=[("poison", "c", "channel", 3)],
    ),
    "immune_chain": with_ends(
        immune(
            A=(["c.write"], [W, W]),
            B=(["c.read", "d.write"], [R, WD, R, WD]),
            C=[RD, RD],
            D=[("poison", "c", "channel", 1)],
        ),
        cancels=0,
    ),
    # Who waits for the end of a channel.
    "end_awaited": on_two(A=[("select", RD, END), WD], B=[W, ("close", "c")], C=[R, RD]),
    "end_awaited_twice": twice(on(None, A=[("keep", END, END)], B=[END], C=[PC])),
    "end_awaited_fairly": on_two(A=[("fair", END, RD)] * 3, B=[WD, WD], C=[PC]),
    "end_awaited_of_counted": on_two(
        A=[("select", END, RD)], B=[JW, W, TW], C=[JW, TW], D=[("each", "c")]
    ),
    "ends_awaited": on_two(A=[("guards", END, ("closed", "d"))], B=[PC], C=[("close", "d")]),
    "end_awaited_of_a_buffer": on(1, A=[W, ("close", "c")], B=[END, R], C=[("select", END, R)]),
    # Ends of processes as guards.
    "end_of_a_process": with_ends(on(None, A=[("start", "h", [R]), ("select", ENDED)], B=[W])),
    "end_of_a_process_or_a_message": on_two(
        A=[("start", "h", [R]), ("select", ENDED, RD)], B=[W], C=[WD]
    ),
    "end_of_a_process_again": twice(
        on(None, A=[("start", "h", [R]), ("keep", ("select", ENDED), ("select", ENDED))], B=[W])
    ),
    "end_of_a_process_that_fails": on(
        None, A=[("start", "h", [R, ("fail",)]), ("select", ("timer", 5), ENDED)], B=[W]
    ),
    "end_of_a_process_for_two": dict(
        on_two(A=[("start", "h", [R]), WD, ("select", ENDED)], B=[RD, ("select", ENDED)], C=[W]),
        cancel="BC",
    ),
    # Several at once.
    "guards": on_two(A=[("guards", R, WD)], B=[W], C=[RD]),
    "guards_written": on_two(A=[("guards", W, WD), W], B=[R], C=[RD]),
    "guards_of_one_channel": on(None, A=[("guards", W, W, R)], B=[R], C=[R]),
    "guards_given_back": twice(on_two(A=[("guards", R, R)], B=[W, W], C=[R], D=[R])),
    "guards_poisoned": on_two(A=[("guards", R, WD)], B=[W], C=[("poison", "d", "read")]),
    "operations": on_two(A=[("operations", R, WD)], B=[W], C=[RD]),
    "operations_written": on_two(A=[("operations", W, WD), WD], B=[R], C=[RD]),
    "operations_given_back": on_two(A=[("operations", R, RD, R)], B=[W, WD], C=[W], D=[R]),
    "operations_chosen": on_two(A=[("operations", R, WD)], B=[("select", W, RD)], C=[R2]),
    "operations_poisoned": on_two(A=[("operations", R, WD)], B=[W], C=[("poison", "d", "write")]),
    "operations_buffered": {
        "channels": {"c": 1, "d": 0},
        "processes": {"A": [("operations", W, W, RD)], "B": [R], "C": [WD], "D": [R]},
    },
    # Extended reads.
    "held": on(None, A=[W], B=[H]),
    "held_twice": twice(on(None, A=[W, W], B=[H], C=[R])),
    "held_two_writers": on(None, A=[W], B=[W], C=[H, R]),
    "held_two_readers": on(None, A=[W, W], B=[H], C=[H]),
    "held_again": twice(on(None, A=[("keep", W, W)], B=[H, R])),
    "held_reader_again": dict(twice(on(None, A=[W, W], B=[("keep", H, H)], C=[R])), cancel="B"),
    "held_chosen": on_two(A=[("select", W, RD)], B=[H], C=[WD]),
    "held_chosen_again": twice(on_two(A=[("keep", W2, W2)], B=[H], C=[RD])),
    "held_fairly": on_two(A=[("fair", W, WD)] * 2, B=[H], C=[HD]),
    "held_with_a_timer": on(None, A=[("select", W, ("timer", 10))], B=[H], C=[R]),
    "held_self_choice": on(None, A=[BOTH], B=[BOTH], C=[H]),
    "held_guards": on_two(A=[("guards", W, WD)], B=[H], C=[RD]),
    "held_guards_of_one_channel": on(None, A=[("guards", W, W)], B=[H], C=[H]),
    "held_guards_twice": dict(twice(on_two(A=[("guards", W, RD), W], B=[H], C=[WD])), cancel="A"),
    "held_operations": on_two(A=[("operations", W, RD)], B=[H], C=[WD]),
    "held_nested": dict(on_two(A=[W], B=[WD], C=[("hold", "c", HD)]), cancel="C"),
    "held_poisoned": on(None, A=[W], B=[W], C=[H], D=[("poison", "c", "channel")]),
    "held_closed": on(None, A=[W], B=[W], C=[H, H], D=[("close", "c")]),
    "held_failing": with_ends(on(None, A=[W, W], B=(["c.read"], [("hold", "c", ("fail",))]))),
    # Processes in processes.
    "parallel": on(None, A=[("parallel", [W], [R]), R], B=[W]),
    "parallel_twice": twice(on(None, A=[("keep", ("parallel", [W], [R]), R)], B=[W])),
    "parallel_of_readers": on(None, A=[("parallel", [R], [R])], B=[W, W], C=[R]),
    "parallel_of_writers": on(None, A=[("parallel", [W, W], [W])], B=[R, R]),
    "nest": on_two(A=[("parallel", [("parallel", [R], [WD])], [RD])], B=[W], C=[R]),
    "sequence": on(None, A=[("sequence", [W], [R])], B=[R, W]),
    "spawned": on(None, A=[("spawn", [R]), W], B=[W], C=[R]),
    "spawned_twice": twice(on(None, A=[("keep", ("spawn", [R]), W)], B=[W], C=[R])),
    "gathered": on(None, A=[("gather", [R], [R]), W], B=[W, W], C=[R]),
    "gathered_writes": on(None, A=[("gather", [W], [W]), R], B=[R, R], C=[W]),
    "gathered_twice": twice(on(None, A=[("keep", ("gather", [R], [W]), R)], B=[W], C=[R])),
    "limited_read": on(None, A=[("limit", 10, [R]), R], B=[W], C=[W]),
    "limited_write": on(None, A=[("limit", 10, [W]), W], B=[R], C=[R]),
    "limited_select": on_two(A=[("limit", 10, [R2]), W], B=[W], C=[WD]),
    "limited_twice": twice(on(None, A=[("keep", ("limit", 10, [R]), R)], B=[W], C=[R])),
    "limited_both": on(None, A=[("limit", 10, [R])], B=[("limit", 10, [W])], C=[R]),
    # Farms.
    "farm": farm(2, True, "well"),
    "farm_of_one": farm(1, True, "well"),
    "farm_unordered": farm(2, False, "well"),
    "farm_failing": farm(2, True, "fails"),
    "farm_reporting": farm(2, True, "reports"),
    "farm_retrying": farm(2, False, "retries"),
    "map": on(None, A=[("map", 2, 3)]),
    # Failure and propagation.
    "failing": with_ends(
        on(None, A=(["c.write"], [W, ("fail",)]), B=[R, R], C=[R]),
    ),
    "failing_between": with_ends(
        on_two(A=[W, W], B=(["c.read", "d.write"], [R, ("fail",)]), C=[RD]),
    ),
    "failing_child": with_ends(
        on(None, A=[("parallel", {"ends": ["c.write"], "do": [("fail",)]}, [R])], B=[R]),
    ),
    "cancelled_neighbour": with_ends(
        on_two(A=(["c.write"], [W, W]), B=(["c.read", "d.write"], [R, WD]), C=(["d.read"], [RD])),
    ),
    "chain": with_ends(
        on_two(A=(["c.write"], [W]), B=(["c.read", "d.write"], [R, WD, R, WD]), C=[RD, RD]),
    ),
}

# Those with more than some 1500 schedules: not all are run each time.
MANY = (
    "farm",
    "farm_of_one",
    "farm_unordered",
    "farm_failing",
    "farm_reporting",
    "farm_retrying",
    "map",
    "two_each_two_cancelled",
    "operations_given_back",
    "end_of_a_process_for_two",
    "given_back",
    "given_back_thrice",
    "buffer_2_given_back",
    "timer_again",
    "alting_together",
    "alting_poisoned",
    "bucket_poisoned",
    "called_slowly",
    "called_and_chosen",
    "called_and_poisoned",
    "called_and_dying",
    "masked_with_a_timer",
    "chosen_fairly",
    "within",
    "immune",
    "immune_chain",
    "end_awaited_of_counted",
    "held_twice",
    "held_chosen_again",
    "held_poisoned",
    "held_closed",
    "sleeper",
    "guards_given_back",
    "parallel_twice",
    "parallel_of_readers",
    "nest",
    "spawned_twice",
    "gathered",
    "gathered_writes",
    "gathered_twice",
    "limited_read",
    "limited_write",
    "limited_select",
    "limited_twice",
    "limited_both",
    "failing_child",
)

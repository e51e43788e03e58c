"""How the examples end: by poison, by an error in any process, by Ctrl-C; nothing is left behind.

Their simulated board has virtual time: see examples/sim.
"""

import gc
import os
import sys

ROOT = __file__.replace("\\", "/").rsplit("/tests/", 1)[0]
sys.path.insert(0, ROOT + "/examples")
sys.path.insert(0, ROOT + "/examples/sim")

import button_led  # noqa: E402
import motor_stop  # noqa: E402
import sensor_logger  # noqa: E402
import uart_gateway  # noqa: E402
import wifi_node  # noqa: E402
import clock  # noqa: E402
from pump import Pump  # noqa: E402
from world import world  # noqa: E402
import uthreading  # noqa: E402
from scenarios.wifi_node import Server  # noqa: E402
from ufuture.loop import engine  # noqa: E402

uapycsp_process = sys.modules["uapycsp.process"]
upycsp_process = sys.modules["upycsp.process"]


class Broken(Exception):
    pass


def _new_board():
    world.reset()
    world.loud = False
    clock.install()


def _ending(example, handlers=0):
    """What main() has raised, as its class; checks that no task, thread or timer is left.

    handlers: how many interrupt handlers may be, because a pin refused to let go of its.
    """
    ended_by = None
    try:
        example.main()
    except (Exception, KeyboardInterrupt) as error:
        ended_by = type(error)
    gc.collect()
    assert uapycsp_process.alive.is_empty()
    assert upycsp_process._alive.is_empty()
    assert uthreading.active_count() == 1
    assert not world.timers
    assert len([n for n in world.lines if world.lines[n].handler is not None]) <= handlers
    if hasattr(engine, "core"):
        assert not engine.core._io_queue.map
        assert engine.core._task_queue.peek() in (None, engine._driver)
    return ended_by


def _raiser(after, error):
    """A voltage that is there so many times, then raises."""
    left = [after]

    def volts():
        left[0] -= 1
        if left[0] < 0:
            raise error
        return 40000

    return volts


# The motor


def _motor(volts=lambda: 40000):
    _new_board()
    world.volts[motor_stop.KNOB] = volts
    world.line(motor_stop.STOP).level = 0
    return world.line(motor_stop.MOTOR)


def _was_on_and_is_off(motor):
    duties = [duty for ms, duty in motor.log]
    return duties[0] == duties[-1] == 0 and 40000 >> 6 in duties and motor.duty is None


def test_the_stop_button_ends_the_motor():
    motor = _motor()
    world.at(1025, world.line(motor_stop.STOP).set, 1)
    assert _ending(motor_stop) is None
    assert _was_on_and_is_off(motor)
    assert motor.log[-1] == (1025, 0)


def test_a_button_pressed_before_the_start_stops_the_motor():
    motor = _motor()
    world.line(motor_stop.STOP).level = 1
    assert _ending(motor_stop) is None
    assert motor.log[-1][1] == 0 and motor.duty is None


def test_a_broken_wire_of_the_button_stops_the_motor():
    motor = _motor()
    world.line(motor_stop.STOP).level = None  # the pull-up makes a 1 of it
    assert _ending(motor_stop) is None
    assert motor.log[-1][1] == 0 and motor.duty is None


def test_an_error_of_the_knob_stops_the_motor():
    motor = _motor(_raiser(5, Broken()))
    assert _ending(motor_stop) is Broken
    assert _was_on_and_is_off(motor)


def test_an_error_of_the_button_stops_the_motor():
    motor = _motor()
    # It is used no more until its interrupt is switched off.
    stop = world.line(motor_stop.STOP)
    world.at(1025, stop.faults.append, Broken())
    world.at(1030, stop.set, 1)
    assert _ending(motor_stop, handlers=1) is Broken
    assert _was_on_and_is_off(motor)


def test_a_button_that_cannot_be_read_never_lets_the_motor_run():
    for uses in (1, 2):
        motor = _motor()
        world.line(motor_stop.STOP).faults.extend([Broken()] * uses)
        assert _ending(motor_stop) is Broken
        assert motor.log[-1][1] == 0 and motor.duty is None


def test_an_error_of_the_motor_itself_stops_it():
    motor = _motor()
    world.at(1025, motor.faults.append, Broken())
    assert _ending(motor_stop) is Broken
    assert _was_on_and_is_off(motor)


def test_a_motor_that_cannot_be_set_to_0_is_released():
    motor = _motor()
    world.at(1025, motor.faults.extend, [Broken(), Broken()])
    assert _ending(motor_stop) is Broken
    assert motor.duty is None


def test_ctrl_c_stops_the_motor():
    motor = _motor()
    world.at(1025, world.interrupt)
    assert _ending(motor_stop) is KeyboardInterrupt
    assert _was_on_and_is_off(motor)


def test_ctrl_c_within_the_motors_process_stops_it():
    motor = _motor()
    world.at(1025, motor.faults.append, KeyboardInterrupt())
    assert _ending(motor_stop) is KeyboardInterrupt
    assert _was_on_and_is_off(motor)


def test_ctrl_c_within_another_process_stops_the_motor():
    motor = _motor(_raiser(5, KeyboardInterrupt()))
    assert _ending(motor_stop) is KeyboardInterrupt
    assert _was_on_and_is_off(motor)


def test_a_knob_that_says_nothing_stops_the_motor():
    motor = _motor()
    period, motor_stop.PERIOD_MS = motor_stop.PERIOD_MS, 10 * motor_stop.SILENT_MS
    try:
        assert _ending(motor_stop) is RuntimeError
    finally:
        motor_stop.PERIOD_MS = period
    assert _was_on_and_is_off(motor)
    assert motor_stop.SILENT_MS <= motor.log[-1][0] < motor_stop.SILENT_MS + 10


# The button


def test_an_error_of_the_led_ends_the_program_without_another_press():
    _new_board()
    led = world.line(button_led.LED)
    world.at(1000, led.faults.append, Broken())
    world.at(1001, world.line(button_led.BUTTON).set, 0)
    assert _ending(button_led) is Broken
    assert world.now < 1100 and led.level == 0


def test_an_error_of_the_button_switches_the_led_off():
    _new_board()
    button = world.line(button_led.BUTTON)
    world.at(1000, button.set, 0)
    world.at(2000, button.faults.append, Broken())
    world.at(2000, button.set, 1)
    assert _ending(button_led) is Broken
    assert [level for ms, level in world.line(button_led.LED).log] == [0, 1, 0]


def test_a_button_held_at_the_start_is_seen():
    _new_board()
    world.line(button_led.BUTTON).level = 0
    world.at(1000, world.interrupt)
    assert _ending(button_led) is KeyboardInterrupt
    assert [level for ms, level in world.line(button_led.LED).log] == [0, 1, 0]


# The gateway


def test_an_error_of_either_uart_ends_both_directions():
    for number in (1, 2):
        _new_board()
        world.at(100, world.wire(number).fail, Broken())
        assert _ending(uart_gateway) is Broken
        assert world.now < 1000


def test_an_error_while_sending_ends_both_directions():
    for number in (1, 2):
        _new_board()
        sender, receiver = world.wire(number), world.wire(3 - number)
        world.at(100, sender.feed, b"a line\n")
        receiver.unable = Broken()
        assert _ending(uart_gateway) is Broken
        assert world.now < 1000


def test_many_lines_pass_once_and_in_order_both_ways():
    _new_board()
    lines = [[], []]
    for n in range(200):
        for side in (0, 1):
            line = b"%d from %d\n" % (n, side)
            lines[side].append(line)
            world.at(n // 50, world.wire(side + 1).feed, line)
    world.at(1000, world.interrupt)
    assert _ending(uart_gateway) is KeyboardInterrupt
    assert world.wire(2).sent == b"".join(lines[0])
    assert world.wire(1).sent == b"".join(lines[1])


def test_a_line_of_the_longest_length_passes_and_a_longer_one_does_not():
    _new_board()
    longest = b"x" * uart_gateway.LONGEST
    world.at(100, world.wire(1).feed, longest + b"\n" + longest + b"y\nz\n")
    world.at(200, world.interrupt)
    assert _ending(uart_gateway) is KeyboardInterrupt
    assert world.wire(2).sent == longest + b"\nz\n"


# The WiFi node


def _node(behaviour, **constants):
    """Runs it; (what it ended by, the server's readings)."""
    _new_board()
    world.volts[wifi_node.SENSOR] = lambda: world.now // 1000
    server = Server(behaviour)
    world.servers.append(server)
    constants.update(HOST="127.0.0.1", PORT=server.port)
    before = {name: getattr(wifi_node, name) for name in constants}
    try:
        for name, value in constants.items():
            setattr(wifi_node, name, value)
        if behaviour != "well":
            world.at(100500, server.behave, "well")
        ended_by = _ending(wifi_node)
    finally:
        for name, value in before.items():
            setattr(wifi_node, name, value)
        server.close()
    return ended_by, [number for number, value in server.kept]


def test_each_reading_comes_once():
    assert _node("well", READINGS=100) == (None, list(range(100)))


def test_what_is_buffered_arrives_after_the_last_reading_was_taken():
    # The server comes at 100 s, long after them.
    for behaviour in ("away", "mute", "cut"):
        assert _node(behaviour, READINGS=20, KEPT=32) == (None, list(range(20)))
        assert world.now > 100000


def test_while_the_buffer_is_full_the_newest_are_dropped():
    # One is being sent, 8 are in the buffer.
    assert _node("away", READINGS=50, KEPT=8) == (None, list(range(9)))


def test_ctrl_c_ends_the_node_while_it_waits_for_an_answer():
    _new_board()
    server = Server("mute")
    world.servers.append(server)
    world.volts[wifi_node.SENSOR] = lambda: 1
    wifi_node.HOST, wifi_node.PORT = "127.0.0.1", server.port
    world.at(2500, world.interrupt)
    try:
        assert _ending(wifi_node) is KeyboardInterrupt
    finally:
        server.close()


def test_an_error_of_the_sensor_is_raised_after_what_was_read_has_arrived():
    _new_board()
    world.volts[wifi_node.SENSOR] = _raiser(5, Broken())
    server = Server("well")
    world.servers.append(server)
    wifi_node.HOST, wifi_node.PORT = "127.0.0.1", server.port
    try:
        assert _ending(wifi_node) is Broken
    finally:
        server.close()
    assert [number for number, value in server.kept] == list(range(5))


# The logger


def _logger(volts, log=None):
    """Runs it; what it ended by."""
    _new_board()
    folder = os.getenv("TMPDIR") or "/tmp"
    own = "{}/logger{}.csv".format(folder, int.from_bytes(os.urandom(6), "little"))
    log = log or own
    world.volts[sensor_logger.SENSOR] = volts
    sensor_logger.SAMPLES, sensor_logger.LOG = 5, log
    lcd = world.wire(2)
    pump = Pump(lambda: lcd.sent.count(b"\f") >= world.happened)
    try:
        return _ending(sensor_logger)
    finally:
        pump.stop()
        if log == own:
            os.remove(own)


def test_a_log_that_cannot_be_written_ends_the_logger_and_its_timer():
    assert issubclass(_logger(lambda: 1, "/no such folder/log.csv"), OSError)


def test_an_error_of_the_sensor_ends_the_logger_and_its_timer():
    assert _logger(_raiser(2, Broken())) is Broken


def test_an_error_of_the_display_ends_the_logger_and_its_timer():
    def volts():
        world.wire(2).fault = Broken()
        return 1

    assert _logger(volts) is Broken

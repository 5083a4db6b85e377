"""Writes save areas as a preempted queue leaves them, from ROCdbgapi's reading of them
(src/architecture.cpp and src/queue.cpp at 61dfa5620c98) and from the handlers that write the waves'
state (Linux 6.12, cwsr_trap_handler_gfx9.asm, _gfx10.asm, _gfx12.asm): python3
make_saved_waves.py FOLDER.

Two groups: one of two waves with LDS, one of one wave. saved_waves_test.cc knows the values. In
front of each area stands the byte by which the fuzzer knows its generation.
"""
import struct
import sys

STACK_BYTES = 0x1000  # of the control stack with the header: where the waves begin


def fill(count, first):
    return b''.join(struct.pack('<I', (first + i) & 0xffffffff) for i in range(count))


def hardware_registers(gfx, wave):
    words = [0] * 16
    words[0] = 0x1000 + wave['number']  # m0
    words[1], words[2] = wave['pc'] & 0xffffffff, wave['pc'] >> 32
    words[3], words[4] = wave['exec'] & 0xffffffff, wave['exec'] >> 32
    words[5], words[6] = wave['status'], wave['trapsts']
    if gfx == 9:
        words[9] = 0x2f0  # mode
    else:
        words[8] = 0x2f0
    return struct.pack('<16I', *words)


def trap_registers(gfx, wave):
    words = [0] * 16
    x, y, z = wave['group']
    if gfx == 12:
        words[9], words[7], words[8] = x, y | z << 16, wave['in_group'] << 25 | 1 << 30
    else:
        words[8], words[9], words[10], words[11] = x, y, z, wave['in_group']
    return struct.pack('<16I', *words)


def state_of(gfx, given, wave):
    lanes = given['lanes']
    data = fill(given['vgprs'] * lanes, wave['number'] << 24)
    data += fill(given.get('accs', 0) * lanes, wave['number'] << 24 | 0xa00000)
    data += fill(given['sgprs'], wave['number'] << 24 | 0x500000)
    data += hardware_registers(gfx, wave) + trap_registers(gfx, wave)
    if wave['first']:
        data += fill(given['lds'] // 4, 0x1d500000)
    return data + (bytes(64) if gfx == 9 else b'')


def given_words(gfx, given):
    lds = given['lds'] // 512
    if gfx == 9:
        total = given['vgprs'] + given['accs']
        return [1 << 31 | total // 8 - 1 | (given['sgprs'] // 16) << 6 | lds << 9
                | (given['vgprs'] // 4 - 1) << 24]
    unit = 8 if given['lanes'] == 32 else 4
    word = 1 << 31 | given['vgprs'] // unit - 1 | lds << 10 | (given['lanes'] == 32) << 24
    return [word, 0x0badf00d]  # the second is not looked at


def wave_word(gfx, wave):
    if gfx == 9:
        return wave['number'] | 1 << 15 | wave['last'] << 16 | wave['first'] << 17
    return wave['number'] | 1 << 11 | wave['first'] << 12 | wave['last'] << 29


def area(gfx, groups):
    """groups: [(given, waves)], in the order in which the stack is read: last saved first."""
    stack, states = [0xffff1000, 0xffff1000], []
    for given, waves in groups:
        stack += given_words(gfx, given)
        stack.append(1 << 30)  # an event
        for wave in waves:
            stack.append(wave_word(gfx, wave))
            states.append(state_of(gfx, given, wave))
    waves = b''.join(reversed(states))
    stack_bytes = struct.pack('<%dI' % len(stack), *stack)
    header = struct.pack('<4I2IQ2I', STACK_BYTES - len(stack_bytes), len(stack_bytes),
                         STACK_BYTES + len(waves), len(waves), 0, 0, 0, 0, 0)
    return header + bytes(STACK_BYTES - 40 - len(stack_bytes)) + stack_bytes + waves


def wave(number, pc, mask, group, in_group, first, last, status=0, trapsts=0):
    return {'number': number, 'pc': pc, 'exec': mask, 'group': group, 'in_group': in_group,
            'first': first, 'last': last, 'status': status, 'trapsts': trapsts}


def main(folder):
    barrier = 1 << 12
    for name, gfx, code, big, small in (
            ('gfx942', 9, 0,
             {'lanes': 64, 'vgprs': 16, 'accs': 16, 'sgprs': 96, 'lds': 1024},
             {'lanes': 64, 'vgprs': 8, 'accs': 0, 'sgprs': 32, 'lds': 0}),
            ('gfx1030', 10, 1, {'lanes': 32, 'vgprs': 16, 'sgprs': 128, 'lds': 512},
             {'lanes': 64, 'vgprs': 12, 'sgprs': 128, 'lds': 0}),
            ('gfx1100', 11, 2, {'lanes': 32, 'vgprs': 24, 'sgprs': 128, 'lds': 1536},
             {'lanes': 32, 'vgprs': 8, 'sgprs': 128, 'lds': 0}),
            ('gfx1201', 12, 3, {'lanes': 32, 'vgprs': 24, 'sgprs': 128, 'lds': 512},
             {'lanes': 32, 'vgprs': 8, 'sgprs': 128, 'lds': 0})):
        fault = 1 << 4 if gfx == 12 else 1 << 8
        at_barrier = barrier if gfx != 12 else 0
        halt = 1 << 14 if gfx == 12 else 1 << 13
        all_lanes = (1 << big['lanes']) - 1
        groups = [
            # Halted at 0x7f0000001234: the handler moves the PC back by 8 (L_NO_NEXT_TRAP).
            (small, [wave(7, 0x7f0000001234 - 8, 1, (9, 8, 7), 0, True, True, status=halt,
                          trapsts=fault)]),
            (big, [wave(1, 0x7f0000002000, all_lanes, (1, 2, 3), 0, True, False,
                        status=at_barrier),
                   wave(2, 0x7f0000002040, 0xf0, (1, 2, 3), 1, False, True)])]
        with open(f'{folder}/{name}', 'wb') as file:
            file.write(bytes([code]) + area(gfx, groups))


if __name__ == '__main__':
    main(sys.argv[1])

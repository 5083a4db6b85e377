#!/usr/bin/env python3
"""Turns the ```cpp blocks of a Markdown page into a GoogleTest file, one test per block.

    std::cout << EXPRESSION;  // TEXT     checks what is printed; further comment lines continue it
    STATEMENT;  // throws: MESSAGE        checks the error
Usage: extract_examples.py PAGE.md OUT.cc
"""
import os
import re
import sys

PRINT = re.compile(r'^\s*std::cout << (?P<what>.*?);\s*// (?P<text>.*)$')
THROWS = re.compile(r'^\s*(?P<what>.*?);\s*// throws: (?P<text>.*)$')
MORE = re.compile(r'^(?P<indent>\s*)// (?P<text>.*)$')


def quote(text):
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n') + '"'


def convert(lines):
    out, i = [], 0
    while i < len(lines):
        line, printed, throws = lines[i], PRINT.match(lines[i]), THROWS.match(lines[i])
        i += 1
        if printed:
            text, column = printed['text'], line.index('// ')
            while i < len(lines) and (more := MORE.match(lines[i])) and len(more['indent']) == column:
                text += '\n' + more['text']
                i += 1
            out.append(f'EXPECT_EQ(printed([&](std::ostream& out) {{ out << {printed["what"]}; }}), {quote(text)});')
        elif throws:
            out.append(f'EXPECT_EQ(thrown([&] {{ (void)({throws["what"]}); }}), {quote(throws["text"])});')
        else:
            out.append(line)
    return out


def main():
    page, target = sys.argv[1:]
    suite = os.path.basename(page).split('.')[0].capitalize() + 'Page'
    includes, tests, block, start = [], [], None, 0
    with open(page, encoding='utf-8') as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            if block is None and line == '```cpp':
                block, start = [], number
            elif block is not None and line == '```':
                body = [text for text in block if not text.startswith('#include')]
                includes += [text for text in block if text.startswith('#include')]
                if body:
                    tests.append((start, body))
                block = None
            elif block is not None:
                block.append(line)
    with open(target, 'w', encoding='utf-8') as out:
        out.write('// Made from the examples of a page by tests/tensor/extract_examples.py.\n')
        out.write('\n'.join(dict.fromkeys(includes)) + '\n#include "tests/tensor/examples.h"\n')
        out.write('using namespace doorbell;  // NOLINT\n')
        for start, body in tests:
            out.write(f'TEST({suite}, Line{start}) {{\n' + '\n'.join(convert(body)) + '\n}\n')


main()

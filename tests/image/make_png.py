#!/usr/bin/env python3
"""Writes the small PNG files of tests/image/png with zlib alone, so that they owe nothing to libpng."""
import os
import struct
import zlib

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "png")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write(name, width, height, bits, colour, rows, extra=b""):
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    data = b"".join(b"\0" + row for row in rows)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra
                   + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


palette = chunk(b"PLTE", bytes([0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0]))
write("grey1.png", 2, 2, 1, 0, [b"\x40", b"\x80"])
write("grey2.png", 4, 1, 2, 0, [b"\x1b"])
write("grey4.png", 4, 1, 4, 0, [b"\x01\x7f"])
write("grey8.png", 2, 2, 8, 0, [b"\0\x01", b"\x80\xff"])
write("grey16.png", 2, 2, 16, 0, [b"\0\0\0\x01", b"\x80\0\xff\xff"])
write("rgb8.png", 4, 1, 8, 2, [b"\xff\0\0" b"\0\xff\0" b"\0\0\xff" b"\xff\xff\xff"])
write("rgb16.png", 4, 1, 16, 2, [b"\xff\xff\0\0\0\0" b"\0\0\xff\xff\0\0" b"\0\0\0\0\xff\xff" + b"\xff" * 6])
write("palette2.png", 4, 1, 2, 3, [b"\x19"], palette)
write("palette_alpha.png", 4, 1, 2, 3, [b"\x1b"], palette + chunk(b"tRNS", bytes([255, 255, 255, 51])))
write("grey_alpha8.png", 2, 2, 8, 4, [b"\0\xff\xff\xff", b"\0\x80\0\0"])
write("rgba8.png", 2, 2, 8, 6, [b"\0\0\0\xff" b"\xff\xff\xff\xff", b"\xff\0\0\0" b"\0\0\xff\x33"])

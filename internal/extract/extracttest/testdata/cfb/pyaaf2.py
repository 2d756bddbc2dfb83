# Makes pyaaf2-streams.cfb of this folder, whose sectors have 4,096 bytes, with pyaaf2 1.7 of PyPI.
import sys

from aaf2.cfb import CompoundFileBinary


def data(size):
    return bytes((i * 7 + size) & 255 for i in range(size))


with open(sys.argv[1] + "/pyaaf2-streams.cfb", "wb+") as f:
    cfb = CompoundFileBinary(f, "wb+", sector_size=4096)
    for size in (0, 1, 63, 64, 65, 4095, 4096, 20000):
        stream = cfb.open(f"/s{size}", "w")
        stream.write(data(size))
        stream.close()
    cfb.makedir("/inner")
    stream = cfb.open("/inner/ä", "w")
    stream.write(b"x")
    stream.close()
    cfb.close()

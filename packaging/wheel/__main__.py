"""python -m mongod_dur OPTION...: mongod itself."""

import os
import sys

import mongod_dur


def main():
    os.execv(mongod_dur.PROGRAM, [mongod_dur.PROGRAM, *sys.argv[1:]])


if __name__ == '__main__':
    main()

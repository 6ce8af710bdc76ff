import sys

from . import serve

serve(sys.argv[1])
